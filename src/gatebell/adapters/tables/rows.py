"""Read the present rows of the store, to compare them with the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.columns import TABLES
from gatebell.adapters.tables.trail import join_key
from gatebell.domain.audit.trails import Columns, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gatebell.adapters.tables.databases import Connection

_PAGE = 500
_COLUMNS = ("column",)


def read_rows(connection: Connection, name: str) -> Iterator[Row]:
    """Yield all present rows of a table, in pages."""
    table = TABLES[name]
    width, fixed = len(table.key), len(table.fixed)
    columns = map(table.sealed_sql, (*table.fixed, *table.changing))
    for page in read_pages(connection, name, [table.subject, table.counts_sql, *columns]):
        for values in page:
            subject, counts, *rest = values[width:]
            row_key = join_key(values[:width])
            yield Row(name, row_key, str(subject), bool(counts), rest[:fixed], rest[fixed:])


def read_pages(connection: Connection, name: str, columns: Iterable[str]) -> Iterator[list[Any]]:
    """Yield pages of a table's rows in the order of their keys: the key, then the columns."""
    key = TABLES[name].key
    keys = ", ".join(f'"{column}"' for column in key)
    select = f"SELECT {', '.join([keys, *columns])} FROM {name}"  # noqa: S608  only our own names
    after, order = (
        f" WHERE ({keys}) > ({', '.join('?' * len(key))})",
        f" ORDER BY {keys} LIMIT {_PAGE}",
    )
    page = connection.rows(select + order)
    while page:
        yield page
        page = connection.rows(select + after + order, page[-1][: len(key)])


def list_compared_columns() -> dict[str, Columns]:
    """Return the tables with compared columns, and those columns."""
    return {
        name: Columns(table.fixed, table.changing)
        for name, table in TABLES.items()
        if table.is_compared
    }


def compare_schemas(
    wanted: Mapping[tuple[str, str], str], found: Mapping[tuple[str, str], str]
) -> list[str]:
    """Return the differences between two schemas: definitions by kind and name."""
    added = [
        f"the {kind} {name} does not belong to a store" for kind, name in found.keys() - wanted
    ]
    gone = [f"the {kind} {name} is missing" for kind, name in wanted.keys() - found]
    both = wanted.keys() & found
    changed = [part for part in both if wanted[part] != found[part]]
    return sorted([*added, *gone, *(f"the {kind} {name} was changed" for kind, name in changed)])


def list_missing_columns(
    wanted: Mapping[tuple[str, str], str], found: Mapping[tuple[str, str], str]
) -> list[str]:
    """Return the columns of the first schema that the second one lacks."""
    gone = wanted.keys() - found
    return sorted(f"the column {name} is missing" for kind, name in gone if kind in _COLUMNS)
