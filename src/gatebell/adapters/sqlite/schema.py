"""Compare the schema of a store with that of a new one."""

from __future__ import annotations

from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING

import apsw

from gatebell.adapters.tables.rows import compare_schemas
from gatebell.adapters.tables.statements import load

if TYPE_CHECKING:
    from gatebell.adapters.sqlite.connection import Connection


def find_schema_faults(connection: Connection) -> list[str]:
    """Return the differences from the schema of a new store: triggers and views also decide."""
    query = load("audit", connection.folder)["schema"]
    wanted = _read_new_schema(query, connection.schema)
    return compare_schemas(
        wanted, {(kind, name): sql for kind, name, sql in connection.rows(query)}
    )


@cache
def _read_new_schema(query: str, path: str) -> dict[tuple[str, str], str]:
    """Return the schema of a new store. Kept, because making it takes some milliseconds."""
    with closing(apsw.Connection(":memory:")) as fresh, open(path, encoding="utf-8") as file:
        fresh.execute(file.read())
        return {(kind, name): sql for kind, name, sql in fresh.execute(query)}
