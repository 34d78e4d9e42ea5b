"""Store links and logins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.values import names_unreadable, read_time
from gatebell.domain.people.logins import Login

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.tables.store import TableStore
    from gatebell.domain.audit.events import Event


class StoredLogins:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("logins")

    def add_link(self, digest: str, login: Login, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            self._store.locks.hold_login_maker(login.person, login.token_id)
            return self._insert(at, digest, "link", login, events)

    def link(self, digest: str) -> Login | None:
        return self._get(digest, "link")

    def enter(self, digest: str, login: Login, link: str, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            self._store.locks.hold_login_maker(login.person, login.token_id)
            if link and not (self.link(link) and self._db.write("end_login", {"digest": link})):
                return False
            return self._insert(at, digest, "login", login, events)

    def get(self, digest: str) -> Login | None:
        return self._get(digest, "login")

    def end(self, digest: str, events: Sequence[Event]) -> None:
        with self._store.transaction() as at:
            # Before the login: it names the browser.
            self._store.devices.remove_of_login(digest)
            if self._db.write("end_login", {"digest": digest}):
                self._store.record(at, events)

    def end_all(self, events: Sequence[Event]) -> int:
        with self._store.transaction() as at:
            ended = self._db.write("end_all_logins")
            if ended:
                self._store.record(at, events)
            return ended

    def end_of_token(self, token_id: str) -> None:
        """End its logins, in the transaction that removes the token."""
        self._db.write("end_logins_of_token", {"token_id": token_id})

    def end_of_person(self, name: str) -> None:
        """End their logins, in the transaction that removes the person."""
        self._db.write("end_logins_of_person", {"person": name})

    def _insert(
        self, at: str, digest: str, kind: str, login: Login, events: Sequence[Event]
    ) -> bool:
        row = {
            "digest": digest,
            "kind": kind,
            "person": login.person,
            "verified": login.verified,
            "scopes": " ".join(login.scopes),
            "token_id": login.token_id,
            "expires_at": login.expires_at.isoformat(timespec="microseconds"),
            "seal": login.seal,
        }
        if not self._db.write("add_login", row):
            return False
        # In a transaction with an event, which records that they are gone.
        self._db.write("drop_old_logins", {"now": at})
        if login.seal:
            self._store.devices.remove_of_others(login.seal, login.person)
        self._store.record(at, events)
        return True

    def _get(self, digest: str, kind: str) -> Login | None:
        now = self._store.now().isoformat(timespec="microseconds")
        rows = self._db.rows("get_login", (digest, kind, now))
        return _login(rows[0]) if rows else None


@names_unreadable("a login of")
def _login(row: Any) -> Login:
    person, verified, scopes, ends, token_id, seal = row
    return Login(person, bool(verified), tuple(scopes.split()), read_time(ends), token_id, seal)
