"""Store the audit chain in SQLite."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gatebell.adapters.sqlite.connection import Snapshot
from gatebell.adapters.sqlite.queries import load
from gatebell.domain.audit.events import Entry, Event, Head
from gatebell.domain.digests import GENESIS, canonical, link, text_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gatebell.adapters.sqlite.connection import Connection
    from gatebell.adapters.sqlite.trail import Trail
    from gatebell.domain.audit.trails import Columns, Row

_SQL = load("audit")
_PAGE = 1_000


class SqliteAudit:
    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._waiting: list[tuple[str, Event]] = []

    @cached_property
    def _trail(self) -> Trail:
        # Imported here and below: commands that only read write no events.
        from gatebell.adapters.sqlite.trail import Trail

        return Trail(self._db)

    def begin(self) -> None:
        """Forget the writes of the last transaction; called at the beginning of the next."""
        self._waiting.clear()
        self._trail.begin()

    def append(self, at: str, events: Iterable[Event]) -> None:
        """Add events to the chain, in the transaction of the change that they record (law 9)."""
        self._waiting.extend((at, event) for event in events)

    def finish(self, at: str) -> None:
        """Write the events at the end of a transaction; the last one seals every written row."""
        rows = self._trail.list_sealed()
        if rows and not self._waiting and "traits" not in rows:
            table = next(iter(rows))
            self._waiting.append((at, Event(f"{table}.written", table, "gate", {})))
        if not self._waiting:
            return
        seq, previous = self.head()
        if seq == 0 or self._db.rows(_SQL["first_to_seal"], (seq,)):
            # A store gets its traits before its first event, which seals them. In a store of an
            # older version, the first event of this version does so.
            rows |= self._trail.seal_traits()
        for number, (then, event) in enumerate(self._waiting, 1):
            seq += 1
            sealed = rows if number == len(self._waiting) else {}
            content = canonical({**event.content, "rows": sealed})
            content_digest = text_digest(content)
            previous = link(previous, seq, then, event, content_digest)
            row = {"seq": seq, "at": then, "content_digest": content_digest, "hash": previous}
            self._db.write(_SQL["append_event"], event._asdict() | row | {"content": content})

    def snapshot(self) -> Snapshot:
        return Snapshot(self._db)

    def list_compared_columns(self) -> dict[str, Columns]:
        from gatebell.adapters.sqlite.rows import list_compared_columns

        return list_compared_columns()

    def rows(self, table: str) -> Iterator[Row]:
        from gatebell.adapters.sqlite.rows import read_rows

        return read_rows(self._db, table)

    def apart(self) -> dict[str, str]:
        from gatebell.adapters.sqlite.columns import list_apart

        return list_apart()

    def schema_faults(self) -> list[str]:
        from gatebell.adapters.sqlite.rows import find_schema_faults

        return find_schema_faults(self._db)

    def entries(self, after: int | None = None) -> Iterator[Entry]:
        # From the smallest number: a forged number below 1 must be found, too.
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
        # Read the head first: an event in between is reported twice, never missed.
        newest = self.head().seq
        rows = self._db.rows(_SQL["subjects_since"], (seq,))
        return newest, frozenset(subject for (subject,) in rows)


def _entry(row: Any) -> Entry:
    seq, at, kind, subject, actor, content, content_digest, link_hash = row
    try:
        found = json.loads(content) if content is not None else {}
    except ValueError:
        found = {"unreadable": content}
    rows = found.pop("rows", None) if isinstance(found, dict) else None
    event = Event(kind, subject, actor, found)
    return Entry(seq, at, event, content_digest, link_hash, content is None, rows)
