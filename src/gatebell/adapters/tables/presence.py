"""Store when each person was last seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.adapters.tables.values import as_time

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from gatebell.adapters.tables.store import TableStore


class StoredPresence:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("presence")

    def see(self, people: Iterable[str]) -> None:
        with self._store.quiet_transaction() as at:
            # In order, so that two servers that see the same people do not lock each other out.
            for person in sorted(set(people)):
                self._db.write("see_person", {"person": person, "seen_at": at})

    def last_seen(self, person: str) -> datetime | None:
        rows = self._db.rows("last_seen", (person,))
        return as_time(rows[0][0]) if rows else None
