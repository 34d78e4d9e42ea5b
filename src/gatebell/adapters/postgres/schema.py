"""Compare the schema of a store with that of a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from gatebell.adapters.postgres import migrations, wire
from gatebell.adapters.tables.rows import compare_schemas, list_missing_columns

if TYPE_CHECKING:
    from gatebell.adapters.postgres.connection import Connection
    from gatebell.adapters.postgres.wire import Wire

_FRESH = "gate_fresh_schema"
_ENGINE = ("procrastinate_", "idx_procrastinate_")
"""The tables, indexes and functions of the engine; a trigger is named after its table."""
# Everything that decides what a write does: columns, constraints, indexes, triggers, functions, views.
_PARTS = """
SELECT 'column', c.relname || '.' || a.attname,
    concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
        pg_get_expr(d.adbin, d.adrelid),
        (SELECT collname FROM pg_collation WHERE oid = a.attcollation))
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = to_regnamespace(?1) AND c.relkind IN ('r', 'v', 'p', 'f', 'm')
    AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT 'constraint', c.relname || '.' || k.conname, pg_get_constraintdef(k.oid)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
WHERE k.connamespace = to_regnamespace(?1)
UNION ALL
SELECT 'index', c.relname, pg_get_indexdef(c.oid)
FROM pg_class c WHERE c.relnamespace = to_regnamespace(?1) AND c.relkind IN ('i', 'I')
UNION ALL
SELECT 'trigger', c.relname || '.' || t.tgname, concat_ws(' ', t.tgenabled, pg_get_triggerdef(t.oid))
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = to_regnamespace(?1) AND NOT t.tgisinternal
UNION ALL
SELECT 'rule', c.relname || '.' || r.rulename, pg_get_ruledef(r.oid)
FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
WHERE c.relnamespace = to_regnamespace(?1)
UNION ALL
SELECT 'function', p.proname, pg_get_functiondef(p.oid)
FROM pg_proc p WHERE p.pronamespace = to_regnamespace(?1) AND p.prokind = 'f'
"""


_new_schemas: dict[int, dict[tuple[str, str], str]] = {}
"""By version of the server. Kept, because the migrations take a tenth of a second."""


def find_schema_faults(connection: Connection) -> list[str]:
    """Return the differences from the schema of a new store: triggers also decide.

    A newer program may have changed its own parts of the tables. Of those, this one only looks for
    the columns that it uses.

    Raises:
        StoreError: The tables do not fit this program.
    """
    migrations.check_version(connection)
    try:
        # Another connection: this thread may be in a snapshot, which writes nothing.
        with connection.lend() as other:
            schema = str(other.execute("SELECT current_schema()").fetchall()[0][0])
            found = _read_parts(other, schema)
            server = other.info.server_version
            if server not in _new_schemas:
                _new_schemas[server] = _read_new_schema(other)
    except psycopg.Error as error:
        raise connection.problem(error) from error
    wanted = _new_schemas[server]
    if migrations.read_version(connection)[0] > len(migrations.list_migrations()):
        return list_missing_columns(wanted, found)
    return compare_schemas(wanted, found)


def _read_new_schema(other: Wire) -> dict[tuple[str, str], str]:
    """Return the schema of a new store, which is made and undone here."""
    other.execute("BEGIN")
    try:
        other.execute(f"CREATE SCHEMA {_FRESH}")
        other.execute(f"SET LOCAL search_path = {_FRESH}")
        migrations.run_all(other, 0)
        return _read_parts(other, _FRESH)
    finally:
        other.execute("ROLLBACK")


def _read_parts(other: Wire, schema: str) -> dict[tuple[str, str], str]:
    rows = wire.run(other, _PARTS, (schema,)).fetchall()
    return {
        (kind, name): text.replace(f"{schema}.", "")
        for kind, name, text in rows
        if not name.startswith(_ENGINE)
    }
