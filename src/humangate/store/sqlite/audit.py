"""The audit chain in SQLite."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from humangate.domain.audit import Entry, Event, Head
from humangate.domain.digests import GENESIS, canonical, link, text_digest
from humangate.store.sqlite.queries import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from humangate.store.sqlite.connection import Connection

_SQL = load("audit")
_PAGE = 1_000


class SqliteAudit:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def append(self, at: str, events: Iterable[Event]) -> None:
        """Add events to the chain, inside the transaction that they tell of (law 9)."""
        seq, previous = self.head()
        for event in events:
            seq += 1
            content = canonical(event.content)
            content_digest = text_digest(content)
            previous = link(previous, seq, at, event, content_digest)
            row = (seq, at, *event[:3], content, content_digest, previous)
            self._db.write(_SQL["append_event"], row)

    def entries(self, after: int | None = None) -> Iterator[Entry]:
        # From the very beginning: a forged number below 1 must be met, too.
        after = -(2**63) if after is None else after
        while page := self._db.rows(_SQL["entries_after"], (after, _PAGE)):
            yield from map(_entry, page)
            after = page[-1][0]

    def of_subject(self, subject: str) -> list[Entry]:
        return [_entry(row) for row in self._db.rows(_SQL["entries_of_subject"], (subject,))]

    def newest(self, limit: int) -> list[Entry]:
        return [_entry(row) for row in self._db.rows(_SQL["newest_entries"], (limit,))]

    def head(self) -> Head:
        rows = self._db.rows(_SQL["head"])
        return Head(*rows[0]) if rows else Head(0, GENESIS)

    def changed_since(self, seq: int) -> tuple[int, frozenset[str]]:
        # The head first: an event that comes in between is reported twice, never missed.
        newest = self.head().seq
        rows = self._db.rows(_SQL["subjects_since"], (seq,))
        return newest, frozenset(subject for (subject,) in rows)


def _entry(row: Any) -> Entry:
    seq, at, kind, subject, actor, content, content_digest, link_hash = row
    try:
        found = json.loads(content) if content is not None else {}
    except ValueError:
        found = {"unreadable": content}
    event = Event(kind, subject, actor, found)
    return Entry(seq, at, event, content_digest, link_hash, content is None)
