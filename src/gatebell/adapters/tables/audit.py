"""Write and read the audit chain; each database gives the numbers in its own way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.statements import Statements
from gatebell.domain.audit.events import Entry, Event, Head
from gatebell.domain.digests import GENESIS, canonical, text_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gatebell.adapters.tables.databases import Connection, WriteTrail
    from gatebell.domain.audit.trails import Columns, Row

_PAGE = 1_000


Prepared = tuple[str, Event, str, str]
"""An event that is ready to be written: its time, the event, its content and their digest."""


class StoredAudit:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._db = Statements(connection, "audit")
        self._events: list[tuple[str, Event]] = []

    @property
    def _waiting(self) -> list[tuple[str, Event]]:
        """The events of the open transaction."""
        return self._events

    @property
    def _trail(self) -> WriteTrail:
        raise NotImplementedError

    def begin(self) -> None:
        """Forget the writes of the last transaction; called at the beginning of the next."""
        self._waiting.clear()
        self._trail.begin()

    def append(self, at: str, events: Iterable[Event]) -> None:
        """Add events to the chain, in the transaction of the change that they record (law 9)."""
        self._waiting.extend((at, event) for event in events)

    def finish(self, at: str) -> None:
        """Write the events at the end of a transaction; the last one seals every written row."""
        # Imported here: commands that only read write no events.
        from gatebell.adapters.tables.trail import seal_traits, seal_written

        rows = seal_written(self._connection, self._trail)
        if rows and not self._waiting and "traits" not in rows:
            table = next(iter(rows))
            self._waiting.append((at, Event(f"{table}.written", table, "gate", {})))
        if not self._waiting:
            return
        if self.needs_traits():
            # A store gets its traits before its first event, which seals them.
            rows |= seal_traits(self._connection)
        prepared = []
        for number, (then, event) in enumerate(self._waiting, 1):
            sealed = rows if number == len(self._waiting) else {}
            content = canonical({**event.content, "rows": sealed})
            prepared.append((then, event, content, text_digest(content)))
        self.write(prepared)

    def needs_traits(self) -> bool:
        """Tell whether the next event is the one that seals the traits of the store."""
        raise NotImplementedError

    def write(self, events: list[Prepared]) -> None:
        """Write the events, as part of a transaction."""
        raise NotImplementedError

    def list_compared_columns(self) -> dict[str, Columns]:
        from gatebell.adapters.tables.rows import list_compared_columns

        return list_compared_columns()

    def rows(self, table: str) -> Iterator[Row]:
        from gatebell.adapters.tables.rows import read_rows

        return read_rows(self._connection, table)

    def apart(self) -> dict[str, str]:
        from gatebell.adapters.tables.columns import list_apart

        return list_apart()

    def entries(self, after: int | None = None) -> Iterator[Entry]:
        # From the smallest number: a forged number below 1 must be found, too.
        after = -(2**63) if after is None else after
        while page := self._db.rows("entries_after", (after, _PAGE)):
            yield from map(read_entry, page)
            after = page[-1][0]

    def of_subject(self, subject: str) -> list[Entry]:
        return [read_entry(row) for row in self._db.rows("entries_of_subject", (subject,))]

    def newest(self, limit: int) -> list[Entry]:
        return [read_entry(row) for row in self._db.rows("newest_entries", (limit,))]

    def head(self) -> Head:
        rows = self._db.rows("head")
        return Head(*rows[0]) if rows else Head(0, GENESIS)

    def seal(self) -> int:
        """Give numbers to events that have none yet; return how many there were."""
        return 0

    def position(self) -> int:
        return self.head().seq

    def changed_since(self, position: int) -> tuple[int, frozenset[str]]:
        # Read the position first: an event in between is reported twice, never missed.
        newest = self.position()
        rows = self._db.rows("subjects_since", (position,))
        return newest, frozenset(subject for (subject,) in rows)


def read_entry(row: Any) -> Entry:
    seq, at, kind, subject, actor, content, content_digest, link_hash = row
    try:
        found = json.loads(content) if content is not None else {}
    except ValueError:
        found = {"unreadable": content}
    rows = found.pop("rows", None) if isinstance(found, dict) else None
    event = Event(kind, subject, actor, found)
    return Entry(seq, at, event, content_digest, link_hash, content is None, rows)
