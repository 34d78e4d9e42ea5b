"""Seal every row that a transaction wrote, for the event that it writes last.

The database notices the writes, so that no method can forget a row. Rows that other programs write
are not noticed, so no event seals them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.columns import TABLES
from gatebell.domain.audit.seals import seal, seal_shortly

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gatebell.adapters.tables.columns import Table
    from gatebell.adapters.tables.databases import Connection, Write, WriteTrail


def seal_written(connection: Connection, trail: WriteTrail) -> dict[str, dict[str, list[str]]]:
    """Return the seals of written rows by table and key; a deleted row has none."""
    found: dict[str, dict[str, list[str]]] = {}
    for (name, key), (is_new, before, after) in _list_written(trail.list_writes()).items():
        if trail.forgets_failed and not (is_new and TABLES[name].fixed):
            parts = _seal_noticed(TABLES[name], after)
        else:
            parts = _seal_row(connection, name, key, is_new)
        if parts and before and not is_new:
            parts.append(seal_shortly(before))
        # A row that was added and deleted in one transaction was never visible to others.
        if parts or not is_new:
            found.setdefault(name, {})[join_key(key)] = parts
    return found


def _list_written(
    writes: Iterable[Write],
) -> dict[tuple[str, tuple[Any, ...]], tuple[bool, Sequence[Any], Mapping[str, Any]]]:
    """Return the written rows: whether each is new, its changing values before, and its last note."""
    found: dict[tuple[str, tuple[Any, ...]], tuple[bool, Sequence[Any], Mapping[str, Any]]] = {}
    for name, before, after in writes:
        for key, is_new, left, last in _changes(TABLES[name], before, after):
            was_new, first, _ = found.get((name, key), (False, left, {}))
            found[name, key] = (is_new or was_new, first, last)
    return found


def _seal_noticed(table: Table, row: Mapping[str, Any]) -> list[str]:
    """Return the seals of a row without its fixed columns, as it was noticed last."""
    return ["", seal(table.changing_of(row))] if row and table.counts(row) else []


def _seal_row(connection: Connection, name: str, key: tuple[Any, ...], is_new: bool) -> list[str]:
    # Read at the end of the transaction: a noticed write may belong to a statement that failed.
    fixed = len(TABLES[name].fixed) if is_new else 0
    for values in connection.rows(_select(name, is_new), key):
        return [seal(values[:fixed]), seal(values[fixed:])]
    return []


def seal_traits(connection: Connection) -> dict[str, dict[str, list[str]]]:
    # Imported here: only one event of a store seals them.
    from gatebell.adapters.tables.rows import read_rows

    rows = {row.key: [seal(row.fixed), ""] for row in read_rows(connection, "traits")}
    return {"traits": rows} if rows else {}


def _changes(
    table: Table, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[tuple[Any, ...], bool, Sequence[Any], Mapping[str, Any]]]:
    """Yield the changed rows of one write that the trail records, by their keys."""
    old, new = (tuple(row[column] for column in table.key if row) for row in (before, after))
    counted, counts = (bool(row) and table.counts(row) for row in (before, after))
    if old == new:
        left = table.changing_of(before)
        if (counted or counts) and left != table.changing_of(after):
            yield new, False, left, after
        return
    if counted:
        yield old, False, (), {}
    if counts:
        yield new, True, (), after


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
