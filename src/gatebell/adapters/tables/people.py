"""Store people, tokens and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.values import names_unreadable, read_time
from gatebell.domain.people.logins import Token, make_token_id
from gatebell.domain.people.principals import Person

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.tables.store import TableStore
    from gatebell.domain.audit.events import Event


class StoredPeople:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("people")

    def add(self, name: str, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            return self._write_with_events(at, "add_person", {"name": name, "added_at": at}, events)

    def remove(self, name: str, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            # A removed person leaves all groups.
            self._store.locks.hold_groups()
            removed = self._write_with_events(at, "remove_person", {"name": name}, events)
            # Afterwards: a login that is being made keeps the person until it is there.
            self._store.logins.end_of_person(name)
            self._store.devices.remove_of_person(name)
            return removed

    def all(self) -> list[Person]:
        rows = self._db.rows("all_people")
        return [_person(row) for row in rows]

    def add_token(self, token: Token, token_digest: str, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            self._store.locks.hold_person(token.person)
            row = {
                "person": token.person,
                "digest": token_digest,
                "made_at": at,
                "label": token.label,
                "scopes": " ".join(token.scopes),
            }
            return self._write_with_events(at, "add_token", row, events)

    def by_token(self, token_digest: str) -> Token | None:
        rows = self._db.rows("token_of_digest", (token_digest,))
        return _token(rows[0]) if rows else None

    def tokens(self) -> list[Token]:
        return [_token(row) for row in self._db.rows("all_tokens")]

    def remove_token(self, token_id: str, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            removed = self._write_with_events(at, "remove_token", {"id": token_id}, events)
            self._store.logins.end_of_token(token_id)
            self._store.devices.remove_of_token(token_id)
            return removed

    def set_group(self, name: str, members: Sequence[str], events: Sequence[Event]) -> None:
        with self._store.transaction() as at:
            self._store.locks.hold_groups()
            self._db.write("empty_group", {"name": name})
            for member in members:
                self._db.write("add_member", {"name": name, "member": member})
            self._store.record(at, events)

    def groups(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for name, member in self._db.rows("all_members"):
            found[name] = (*found.get(name, ()), member)
        return found

    def _write_with_events(
        self, at: str, query: str, row: dict[str, str], events: Sequence[Event]
    ) -> bool:
        if not self._db.write(query, row):
            return False
        self._store.record(at, events)
        return True


@names_unreadable("the person")
def _person(row: Any) -> Person:
    name, at, tokens = row
    return Person(name, read_time(at), tokens)


@names_unreadable("a token of", 1)
def _token(row: Any) -> Token:
    digest, person, scopes, label, made_at = row
    return Token(make_token_id(digest), person, tuple(scopes.split()), label, read_time(made_at))
