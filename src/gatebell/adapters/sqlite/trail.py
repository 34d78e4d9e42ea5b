"""Notice every row that a transaction writes, by a hook of the connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.columns import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw

    from gatebell.adapters.sqlite.connection import Connection
    from gatebell.adapters.tables.databases import Write

_COLUMNS = "SELECT name FROM pragma_table_info(?)"


class Trail:
    forgets_failed = False

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._columns: dict[str, list[str]] = {}
        self._noticed: list[tuple[str, Any, Any]] = []
        """The writes of this transaction: table, and values before and after."""
        connection.raw.preupdate_hook(self._notice)

    def _notice(self, write: apsw.PreUpdate) -> None:
        # SQLite allows no queries here, so the rest is done at the end.
        name = write.table_name
        if name in TABLES and TABLES[name].is_compared and write.database_name == "main":
            self._noticed.append((name, write.old, write.new))

    def begin(self) -> None:
        self._noticed.clear()

    def list_writes(self) -> Iterator[Write]:
        for name, before, after in self._noticed:
            yield name, self._name_values(name, before), self._name_values(name, after)

    def _name_values(self, name: str, values: Sequence[Any] | None) -> dict[str, Any]:
        """Return the values of a row by column; empty for a missing row."""
        if values is None:
            return {}
        if name not in self._columns:
            self._columns[name] = [column for (column,) in self._db.rows(_COLUMNS, (name,))]
        # Not strict: a newer version may have added columns at the end.
        return dict(zip(self._columns[name], values, strict=False))
