"""Store agents' notes to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.values import names_unreadable, read_time
from gatebell.domain.notifications.notes import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.tables.store import TableStore
    from gatebell.domain.asks.asks import Notice
    from gatebell.domain.audit.events import Event


class StoredNotes:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("notes")

    def add(self, note: Note, events: Sequence[Event], notices: Sequence[Notice]) -> None:
        with self._store.transaction() as at:
            self.write(note, at)
            self._store.record(at, events, notices)

    def write(self, note: Note, at: str) -> None:
        """Write a note as part of a transaction."""
        self._db.write("insert_note", note._asdict() | {"sent_at": at})

    def newest(self, limit: int) -> list[Note]:
        rows = self._db.rows("newest_notes", (limit,))
        return [_note(row) for row in rows]


@names_unreadable("a note of")
def _note(row: Any) -> Note:
    author, project, text, at = row
    return Note(author, project, text, read_time(at))
