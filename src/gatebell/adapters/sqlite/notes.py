"""Store agents' notes to people in SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.sqlite.queries import load, names_unreadable, read_time
from gatebell.domain.notifications.notes import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.sqlite.store import SqliteStore
    from gatebell.domain.asks.asks import Notice
    from gatebell.domain.audit.events import Event

_SQL = load("notes")


class SqliteNotes:
    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def add(self, note: Note, events: Sequence[Event], notices: Sequence[Notice]) -> None:
        with self._store.transaction() as at:
            row = note._asdict() | {"sent_at": at}
            self._store.connection.write(_SQL["insert_note"], row)
            self._store.record(at, events, notices)

    def newest(self, limit: int) -> list[Note]:
        rows = self._store.connection.rows(_SQL["newest_notes"], (limit,))
        return [_note(row) for row in rows]


@names_unreadable("a note of")
def _note(row: Any) -> Note:
    author, project, text, at = row
    return Note(author, project, text, read_time(at))
