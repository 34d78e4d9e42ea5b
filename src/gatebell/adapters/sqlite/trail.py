"""Notice every row that a transaction writes, so that its event can seal them.

A hook of this connection notices them, so that no method can forget a row. Rows that other programs
write into the file are not noticed here, so no event seals them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from gatebell.adapters.sqlite.columns import TABLES
from gatebell.domain.audit.seals import seal, seal_shortly

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw

    from gatebell.adapters.sqlite.columns import Table
    from gatebell.adapters.sqlite.connection import Connection

_COLUMNS = "SELECT name FROM pragma_table_info(?)"


class Trail:
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

    def list_sealed(self) -> dict[str, dict[str, list[str]]]:
        """Return the seals of written rows by table and key; a deleted row has none."""
        found: dict[str, dict[str, list[str]]] = {}
        for (name, key), (is_new, before) in self._written().items():
            parts = self._seal_row(name, key, is_new)
            if parts and before and not is_new:
                parts.append(seal_shortly(before))
            # A row that was added and deleted in one transaction was never visible to others.
            if parts or not is_new:
                found.setdefault(name, {})[join_key(key)] = parts
        return found

    def _written(self) -> dict[tuple[str, tuple[Any, ...]], tuple[bool, Sequence[Any]]]:
        """Return the written rows: whether each is new, and its changing values before."""
        found: dict[tuple[str, tuple[Any, ...]], tuple[bool, Sequence[Any]]] = {}
        for name, *values in self._noticed:
            before, after = (self._read_values(name, row) for row in values)
            for key, is_new, left in _changes(TABLES[name], before, after):
                was_new, first = found.get((name, key), (False, left))
                found[name, key] = (is_new or was_new, first)
        return found

    def _read_values(self, name: str, values: Sequence[Any] | None) -> dict[str, Any]:
        """Return the values of a row by column; empty for a missing row."""
        if values is None:
            return {}
        if name not in self._columns:
            self._columns[name] = [column for (column,) in self._db.rows(_COLUMNS, (name,))]
        # Not strict: a newer version may have added columns at the end.
        return dict(zip(self._columns[name], values, strict=False))

    def _seal_row(self, name: str, key: tuple[Any, ...], is_new: bool) -> list[str]:
        # Read here, not in the hook, which does not report the rollback of a failed statement.
        fixed = len(TABLES[name].fixed) if is_new else 0
        for values in self._db.raw.execute(_select(name, is_new), key):
            return [seal(values[:fixed]), seal(values[fixed:])]
        return []

    def seal_traits(self) -> dict[str, dict[str, list[str]]]:
        # Imported here: only one event of a store seals them.
        from gatebell.adapters.sqlite.rows import read_rows

        rows = {row.key: [seal(row.fixed), ""] for row in read_rows(self._db, "traits")}
        return {"traits": rows} if rows else {}


def _changes(
    table: Table, before: dict[str, Any], after: dict[str, Any]
) -> Iterator[tuple[tuple[Any, ...], bool, Sequence[Any]]]:
    """Yield the changed rows of one write that the trail records, by their keys."""
    old, new = (tuple(row[column] for column in table.key if row) for row in (before, after))
    counted, counts = (bool(row) and table.counts(row) for row in (before, after))
    if old == new:
        left = table.changing_of(before)
        if (counted or counts) and left != table.changing_of(after):
            yield new, False, left
        return
    if counted:
        yield old, False, ()
    if counts:
        yield new, True, ()


@cache
def _select(name: str, is_new: bool) -> str:
    table = TABLES[name]
    wanted = (*table.fixed, *table.changing) if is_new else table.changing
    # For a row without columns, only its existence is read.
    columns = ", ".join(map(table.sealed_sql, wanted)) or "1"
    where = " AND ".join([table.counts_sql, *(f'"{one}" = ?' for one in table.key)])
    return f"SELECT {columns} FROM {name} WHERE {where}"  # noqa: S608  only our own names


def join_key(key: tuple[Any, ...]) -> str:
    return " ".join(map(str, key))
