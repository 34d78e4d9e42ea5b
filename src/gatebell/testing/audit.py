"""The chain of events in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.audit.events import Entry, Head
from gatebell.domain.digests import GENESIS, digest, link

if TYPE_CHECKING:
    from _thread import RLock
    from collections.abc import Iterable, Iterator

    from gatebell.domain.audit.events import Event
    from gatebell.domain.audit.trails import Columns, Row
    from gatebell.testing.store import MemoryStore


class MemoryAudit:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._entries: list[Entry] = []

    def append(self, events: Iterable[Event]) -> None:
        for event in events:
            seq, previous = self.head()
            at = self._store.now().isoformat(timespec="microseconds")
            content = digest(event.content)
            chained = link(previous, seq + 1, at, event, content)
            self._entries.append(Entry(seq + 1, at, event, content, chained, erased=False))

    def snapshot(self) -> RLock:
        return self._store.lock

    def compared(self) -> dict[str, Columns]:
        """Nobody can write here but the verbs, so there is nothing to compare."""
        return {}

    def rows(self, table: str) -> Iterator[Row]:
        return iter(())

    def apart(self) -> dict[str, str]:
        return {}

    def schema_faults(self) -> list[str]:
        return []

    def entries(self, after: int | None = None) -> Iterator[Entry]:
        return iter(self._entries[after or 0 :])

    def of_subject(self, subject: str) -> list[Entry]:
        return [entry for entry in self._entries if entry.event.subject == subject]

    def newest(self, limit: int) -> list[Entry]:
        return self._entries[-limit:]

    def head(self) -> Head:
        return (
            Head(self._entries[-1].seq, self._entries[-1].hash)
            if self._entries
            else Head(0, GENESIS)
        )

    def changed_since(self, seq: int) -> tuple[int, frozenset[str]]:
        return self.head().seq, frozenset(entry.event.subject for entry in self._entries[seq:])
