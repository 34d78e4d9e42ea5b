"""Named statements of a noun, on the connection of any database."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.row_columns import ROW_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.adapters.tables.databases import Connection

_HERE = os.path.dirname(__file__)


class ConstraintError(Exception):
    """A key, a unique index or a check refused the row of a write."""


class OvertakenError(Exception):
    """Undoes a transaction whose version or claim is out of date."""


class Statements:
    """The statements of one noun, by their names."""

    def __init__(self, connection: Connection, noun: str) -> None:
        self._db = connection
        self._sql = load(noun, connection.folder)
        self.problem = connection.problem

    def rows(self, name: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        return self._db.rows(name_columns(self._sql[name]), parameters)

    def write(self, name: str, parameters: Mapping[str, Any] | None = None) -> int:
        return self._db.write(self._sql[name], parameters)

    def lock(self, name: str, parameters: Mapping[str, Any]) -> list[Any]:
        """Lock rows until the end of the transaction, if this database has such a statement.

        Returns the rows that were locked.
        """
        sql = self._sql.get(name)
        return self._db.rows(sql, parameters) if sql else []


@cache
def load(noun: str, folder: str) -> dict[str, str]:
    """Return the statements of a noun: the shared ones, and those of one database."""
    return _read(os.path.join(_HERE, f"{noun}.sql")) | _read(os.path.join(folder, f"{noun}.sql"))


@cache
def name_columns(sql: str) -> str:
    """Name the columns of whole rows, so that columns of a newer version change no result.

    PostgreSQL refuses a prepared statement with `*` once its table has another column.
    """
    if "* FROM" not in sql:
        return sql
    for table, columns in ROW_COLUMNS.items():
        if table in sql:
            names = [f'"{column}"' for column in columns.split()]
            sql = sql.replace(f" * FROM {table}", f" {', '.join(names)} FROM {table}")
            full = ", ".join(f"{table}.{name}" for name in names)
            sql = sql.replace(f" {table}.* FROM", f" {full} FROM")
    return sql


def list_nouns(folder: str) -> list[str]:
    """Return the nouns that have statements."""
    names = {*os.listdir(_HERE), *os.listdir(folder)}
    return sorted(name.removesuffix(".sql") for name in names if name.endswith(".sql"))


def _read(path: str) -> dict[str, str]:
    """Return the statements of a file by the name in the comment above each."""
    try:
        with open(path, encoding="utf-8") as file:
            parts = file.read().split("-- name: ")[1:]
    except FileNotFoundError:
        return {}
    return {name.strip(): sql for name, _, sql in (part.partition("\n") for part in parts)}
