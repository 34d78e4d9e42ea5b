"""Hand ready runs over to an engine, by triggers of the table of runs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.adapters.tables.values import as_time
from gatebell.domain.asks.asks import iso
from gatebell.ports.engines import Dispatch, WaitingPlace

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.adapters.tables.store import TableStore


class StoredDispatches:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("dispatches")

    def engine(self) -> str:
        name: str = self._db.rows("get_engine")[0][0]
        return name

    def store_id(self) -> str:
        found: str = self._db.rows("get_engine")[0][1]
        return found

    def use(self, engine: str) -> None:
        with self._store.transaction():
            self._db.rows("use_engine", {"name": engine})

    def list_queues(self) -> list[str]:
        return [name for (name,) in self._db.rows("list_queues")]

    def dispatch_missing(self, changed_before: datetime) -> int:
        with self._store.quiet_transaction():
            before = {"changed_before": iso(changed_before)}
            number: int = self._db.rows("dispatch_missing", before)[0][0]
        return number

    def take(self, limit: int, seconds: float) -> list[Dispatch]:
        now = self._store.now()
        until = iso(now + timedelta(seconds=seconds))
        with self._store.quiet_transaction():
            wanted = {"until": until, "now": iso(now), "limit": limit}
            return [Dispatch(*row) for row in self._db.rows("take_dispatches", wanted)]

    def finish(self, done: Dispatch) -> None:
        with self._store.quiet_transaction():
            self._db.write("finish_dispatch", {"run": done.run, "seq": done.seq})

    def next_due(self) -> datetime | None:
        return as_time(self._db.rows("next_dispatch")[0][0] or None)

    def list_waiting(self, ready_before: datetime) -> list[WaitingPlace]:
        rows = self._db.rows("waiting_places", {"before": iso(ready_before)})
        return [WaitingPlace(*row) for row in rows]
