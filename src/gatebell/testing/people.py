"""People, tokens, groups and logins in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.people.logins import listed_as
from gatebell.domain.people.principals import Person

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from gatebell.domain.audit.events import Event
    from gatebell.domain.people.logins import Login, Token
    from gatebell.testing.store import MemoryStore


class MemoryPeople:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._people: dict[str, datetime] = {}
        self._tokens: dict[str, Token] = {}
        self._groups: dict[str, tuple[str, ...]] = {}

    def add(self, name: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            if name in self._people:
                return False
            self._people[name] = self._store.now()
            self._store.record(events)
            return True

    def remove(self, name: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            if self._people.pop(name, None) is None:
                return False
            self._tokens = {key: one for key, one in self._tokens.items() if one.person != name}
            self._store.logins.end_where(lambda login: login.person == name and login.verified)
            left = {g: tuple(m for m in ms if m != name) for g, ms in self._groups.items()}
            self._groups = {group: members for group, members in left.items() if members}
            self._store.record(events)
            return True

    def all(self) -> list[Person]:
        tokens = [one.person for one in self._tokens.values()]
        return [Person(name, at, tokens.count(name)) for name, at in sorted(self._people.items())]

    def add_token(self, token: Token, token_digest: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            if token.person not in self._people:
                return False
            made = token._replace(id=listed_as(token_digest), made_at=self._store.now())
            self._tokens[token_digest] = made
            self._store.record(events)
            return True

    def by_token(self, token_digest: str) -> Token | None:
        return self._tokens.get(token_digest)

    def tokens(self) -> list[Token]:
        return sorted(self._tokens.values(), key=lambda one: (one.person, one.made_at, one.id))

    def remove_token(self, token_id: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            left = {key: one for key, one in self._tokens.items() if one.id != token_id}
            if len(left) == len(self._tokens):
                return False
            self._tokens = left
            self._store.logins.end_where(lambda login: login.token_id == token_id)
            self._store.record(events)
            return True

    def set_group(self, name: str, members: Sequence[str], events: Sequence[Event]) -> None:
        with self._store.lock:
            self._groups.pop(name, None)
            if members:
                self._groups[name] = tuple(sorted(set(members)))
            self._store.record(events)

    def groups(self) -> dict[str, tuple[str, ...]]:
        return dict(sorted(self._groups.items()))


class MemoryLogins:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._links: dict[str, Login] = {}
        self._logins: dict[str, Login] = {}

    def add_link(self, digest: str, login: Login, events: Sequence[Event]) -> bool:
        with self._store.lock:
            if self._orphan(login):
                return False
            self._links[digest] = login
            self._store.record(events)
            return True

    def link(self, digest: str) -> Login | None:
        return self._fresh(self._links.get(digest))

    def enter(self, digest: str, login: Login, link: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            if link and not self._fresh(self._links.pop(link, None)):
                return False
            if self._orphan(login):
                return False
            self._logins[digest] = login
            self._store.record(events)
            return True

    def get(self, digest: str) -> Login | None:
        return self._fresh(self._logins.get(digest))

    def end(self, digest: str, events: Sequence[Event]) -> None:
        with self._store.lock:
            if self._logins.pop(digest, None):
                self._store.record(events)

    def end_where(self, over: Callable[[Login], bool]) -> None:
        self._links = {key: one for key, one in self._links.items() if not over(one)}
        self._logins = {key: one for key, one in self._logins.items() if not over(one)}

    def _orphan(self, login: Login) -> bool:
        known = {token.id for token in self._store.people.tokens()}
        return bool(login.token_id) and login.token_id not in known

    def _fresh(self, login: Login | None) -> Login | None:
        return login if login and login.expires_at > self._store.now() else None
