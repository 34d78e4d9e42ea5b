"""Store when everything was frozen, and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.statements import ConstraintError, OvertakenError
from gatebell.adapters.tables.values import names_unreadable, read_time
from gatebell.domain.asks.asks import iso
from gatebell.domain.freezes import Freeze

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.tables.store import TableStore
    from gatebell.domain.audit.events import Event


class StoredFreezes:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("freezes")

    def find(self) -> Freeze | None:
        rows = self._db.rows("lasting_freeze")
        return _to_freeze(rows[0]) if rows else None

    def begin(self, freeze: Freeze, events: Sequence[Event]) -> bool:
        row = freeze._asdict() | {"made_at": iso(freeze.made_at)}
        try:
            with self._store.transaction() as at:
                # It waits for the transactions that may not happen in a freeze.
                self._store.locks.hold_freezing()
                self._db.write("insert_freeze", row)
                self._store.record(at, events)
        except ConstraintError:
            return False
        return True

    def lift(self, by: str, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            found = bool(self._db.write("lift_freeze", {"by": by, "now": at}))
            if found:
                self._store.record(at, events)
        return found

    def refuse(self) -> None:
        """Undo this transaction if everything is frozen; call it before any other statement."""
        self._store.locks.hold_freezes_off()
        if self._db.rows("lasting_freeze"):
            raise OvertakenError


@names_unreadable("a freeze")
def _to_freeze(row: Any) -> Freeze:
    made_by, made_at, reason = row
    return Freeze(made_by, read_time(made_at), reason)
