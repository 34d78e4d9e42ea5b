"""Noticing every row that a transaction writes, so that its event can seal them.

By triggers of this connection alone, which write nothing: no verb can forget a row, and what
somebody else writes into the file is not noticed here, so no event blesses it.
"""

from __future__ import annotations

from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Any

import apsw

from humangate.domain.trails import Columns, Row, seal, seal_shortly
from humangate.store.sqlite.columns import TABLES
from humangate.store.sqlite.queries import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from humangate.store.sqlite.columns import Table
    from humangate.store.sqlite.connection import Connection

_SQL = load("audit")
_PAGE = 500


class Trail:
    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._written: dict[tuple[str, tuple[Any, ...]], tuple[bool, Sequence[Any]]] = {}
        """The rows of this transaction: whether each is new, and what of it changed before."""
        connection.raw.create_scalar_function("gate_written", self._write)
        connection.raw.execute(_triggers())

    def _write(self, *found: Any) -> None:
        table, is_new, *values = found
        width = len(TABLES[table].key)
        row = (table, tuple(values[:width]))
        was_new, before = self._written.get(row, (False, values[width:]))
        self._written[row] = (bool(is_new) or was_new, before)

    def begin(self) -> None:
        self._written.clear()

    def sealed(self) -> dict[str, dict[str, list[str]]]:
        """By table and key the rows that were written; of one that is gone nothing."""
        found: dict[str, dict[str, list[str]]] = {}
        for (name, key), (is_new, before) in self._written.items():
            parts = self._sealed(name, key, is_new)
            if parts and before and not is_new:
                parts.append(seal_shortly(before))
            # What came and went in one transaction was never there for others.
            if parts or not is_new:
                found.setdefault(name, {})[_named(key)] = parts
        return found

    def _sealed(self, name: str, key: tuple[Any, ...], is_new: bool) -> list[str]:
        fixed = len(TABLES[name].fixed) if is_new else 0
        for values in self._db.raw.execute(_select(name, is_new), key):
            return [seal(values[:fixed]), seal(values[fixed:])]
        return []

    def seal_traits(self) -> dict[str, dict[str, list[str]]]:
        rows = {row.key: [seal(row.fixed), ""] for row in rows_of(self._db, "traits")}
        return {"traits": rows} if rows else {}


@cache
def _select(name: str, is_new: bool) -> str:
    table = TABLES[name]
    wanted = (*table.fixed, *table.changing) if is_new else table.changing
    # Of a row that is gone, nothing is asked but whether it is.
    columns = ", ".join(map(table.expression, wanted)) or "1"
    where = " AND ".join([table.counts.format(""), *(f'"{one}" = ?' for one in table.key)])
    return f"SELECT {columns} FROM {name} WHERE {where}"  # noqa: S608  only our own names


def rows_of(connection: Connection, name: str) -> Iterator[Row]:
    """All rows of a table as they are now, in pages."""
    table = TABLES[name]
    width, fixed = len(table.key), len(table.fixed)
    keys = ", ".join(f'"{column}"' for column in table.key)
    columns = ", ".join(map(table.expression, (*table.fixed, *table.changing)))
    select = f"SELECT {keys}, {table.subject}, {table.counts.format('')}, {columns} FROM {name}"  # noqa: S608  only our own names
    order = f" ORDER BY {keys} LIMIT {_PAGE}"
    page = connection.rows(select + order)
    while page:
        for values in page:
            subject, counts, *rest = values[width:]
            row_key = _named(values[:width])
            yield Row(name, row_key, str(subject), bool(counts), rest[:fixed], rest[fixed:])
        after = f" WHERE ({keys}) > ({', '.join('?' * width)})"
        page = connection.rows(select + after + order, page[-1][:width])


def compared() -> dict[str, Columns]:
    """The tables with compared columns, and those columns."""
    return {
        name: Columns(table.fixed, table.changing)
        for name, table in TABLES.items()
        if table.fixed or table.changing
    }


def _named(key: tuple[Any, ...]) -> str:
    return " ".join(map(str, key))


def _triggers() -> str:
    return "".join(_triggers_of(name, TABLES[name]) for name in compared())


def _triggers_of(name: str, table: Table) -> str:
    def notice(what: str, is_new: int, condition: str, *values: str) -> str:
        of = "OLD." if what == "DELETE" else "NEW."
        told = ", ".join([*(f'{of}"{column}"' for column in table.key), *values])
        return (
            f"CREATE TEMP TRIGGER trail_{name}_{what} AFTER {what} ON main.{name} "
            f"WHEN {condition} BEGIN SELECT gate_written('{name}', {is_new}, {told}); END;"
        )

    counted, counts = table.counts.format("OLD."), table.counts.format("NEW.")
    found = notice("INSERT", 1, counts) + notice("DELETE", 0, counted)
    if table.changing:
        before = [table.expression(column, "OLD.") for column in table.changing]
        after = [table.expression(column, "NEW.") for column in table.changing]
        differ = " OR ".join(f"{a} IS NOT {b}" for a, b in zip(before, after, strict=True))
        found += notice("UPDATE", 0, f"({counted} OR {counts}) AND ({differ})", *before)
    return found


def schema_faults(connection: Connection) -> list[str]:
    """What a new store has otherwise: its triggers, indexes and views decide as much as its rows."""
    with closing(apsw.Connection(":memory:")) as fresh:
        for path in connection.migrations:
            with open(path, encoding="utf-8") as file:
                fresh.execute(file.read())
        wanted = {(kind, name): sql for kind, name, sql in fresh.execute(_SQL["schema"])}
    found = {(kind, name): sql for kind, name, sql in connection.rows(_SQL["schema"])}
    added = [f"the {kind} {name} is no part of a store" for kind, name in found.keys() - wanted]
    gone = [f"the {kind} {name} is missing" for kind, name in wanted.keys() - found]
    both = wanted.keys() & found
    changed = [part for part in both if wanted[part] != found[part]]
    return sorted([*added, *gone, *(f"the {kind} {name} was changed" for kind, name in changed)])
