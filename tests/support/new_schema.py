"""The schema that the migrations make, as the script for new stores; `make schema` writes it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

import gatebell

FOLDER = Path(gatebell.__file__).parent / "adapters" / "sqlite"
SCRIPT = FOLDER / "schema.sql"
HEAD = "-- The schema of a new store, written by `make schema` from the migrations.\n"
_PARTS = """
SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'
ORDER BY type IN ('table', 'view') DESC, rowid
"""


def build_script() -> str:
    """Return the script that makes the tables, views, indexes and triggers of the migrations."""
    with closing(apsw.Connection(":memory:")) as fresh:
        for path in sorted((FOLDER / "migrations").iterdir()):
            fresh.execute(path.read_text(encoding="utf-8"))
        return HEAD + "".join(f"\n{sql};\n" for (sql,) in fresh.execute(_PARTS))


if __name__ == "__main__":
    SCRIPT.write_text(build_script(), encoding="utf-8")
