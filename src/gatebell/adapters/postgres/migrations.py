"""The schema of a PostgreSQL store: numbered migrations, one process at a time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.adapters.postgres import wire
from gatebell.errors import StoreError

if TYPE_CHECKING:
    from gatebell.adapters.postgres.connection import Connection
    from gatebell.adapters.postgres.wire import Wire

_FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
_STATEMENT_SECONDS = 3600.0
HOLD = "SELECT pg_advisory_xact_lock(720222)"
_VERSION_TABLE = """
CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL, oldest_reader bigint NOT NULL)
"""
# A database restored from a dump has the transaction numbers of another server. Readers of the feed
# would get those events again and again.
_RESTORED = "UPDATE events SET xid = pg_current_xact_id() WHERE xid > pg_current_xact_id()"
_OLDEST_READER = "-- oldest reader: "
"""The first line of a migration: the oldest version whose programs can use the tables after it."""


def list_migrations() -> list[str]:
    """Return the paths of the migrations, oldest first."""
    return [os.path.join(_FOLDER, name) for name in sorted(os.listdir(_FOLDER))]


def find_oldest_reader() -> int:
    """Return the oldest version of the schema whose programs can use the newest one."""
    return max(_read_oldest(path, number) for number, path in enumerate(list_migrations(), 1))


def _read_oldest(path: str, number: int) -> int:
    with open(path, encoding="utf-8") as file:
        first = file.readline()
    # Without the line only programs of that version and newer ones can: that is never wrong.
    return int(first.removeprefix(_OLDEST_READER)) if first.startswith(_OLDEST_READER) else number


def check_version(connection: Connection) -> None:
    """Check that this program can use the store.

    A newer program may have added to the tables; then it says which older ones go on in them.

    Raises:
        StoreError: The schema is older than this program, or too new for it.
    """
    version, oldest_reader = read_version(connection)
    known = len(list_migrations())
    if version < known:
        problem = "has no tables yet" if version == 0 else f"has schema {version}, not {known}"
        raise StoreError(f"the store {connection.name} {problem}: gate store migrate")
    if oldest_reader > known:
        raise StoreError(
            f"the store {connection.name} needs a newer gatebell: its tables are for schema "
            f"{oldest_reader} or newer, and this program is for {known}. Upgrade it"
        )


def read_version(connection: Connection) -> tuple[int, int]:
    """Return the version of the schema, and the oldest program version that can use it."""
    if connection.rows("SELECT to_regclass('schema_version')")[0][0] is None:
        return 0, 0
    rows = connection.rows("SELECT version, oldest_reader FROM schema_version")
    return (rows[0][0], rows[0][1]) if rows else (0, 0)


def migrate(connection: Connection) -> list[str]:
    """Bring the schema to the newest version; return the names of the migrations that ran.

    All of them are one transaction: if one fails, none has happened.
    """
    with connection.hold("BEGIN") as held:
        held.limit = _STATEMENT_SECONDS
        held.execute(HOLD)
        # A migration that waits for a lock would make all others wait behind it.
        held.execute("SET LOCAL lock_timeout = '3s'")
        wanted = run_all(held, read_version(connection)[0])
        held.execute(_RESTORED)
        held.execute("COMMIT")
        held.limit = wire.Wire.limit
    return [os.path.basename(path) for path in wanted]


def run_all(held: Wire, version: int) -> list[str]:
    """Run the migrations after a version, as part of a transaction; return their paths."""
    known = list_migrations()
    if version > len(known):
        # A newer program has migrated it, and only that one knows which older ones can use it.
        return []
    wanted = known[version:]
    for path in wanted:
        with open(path, encoding="utf-8") as file:
            held.execute(file.read(), prepare=False)
    held.execute(_VERSION_TABLE)
    held.execute("DELETE FROM schema_version")
    now = (version + len(wanted), find_oldest_reader())
    wire.run(held, "INSERT INTO schema_version VALUES (?, ?)", now)
    return wanted


def find_standbys(connection: Connection) -> str:
    """Return the setting that names the synchronous standbys; empty if there are none."""
    return str(connection.rows("SELECT current_setting('synchronous_standby_names')")[0][0])


def list_problems(connection: Connection) -> list[str]:
    """Return the settings of the server with which confirmed answers can be lost."""
    found = []
    for name, safe in (("fsync", "on"), ("full_page_writes", "on")):
        value = connection.rows("SELECT current_setting(?)", (name,))[0][0]
        if value != safe:
            found.append(f"the server has {name} = {value}: a power cut loses confirmed answers")
    commits = connection.rows("SELECT current_setting('synchronous_commit')")[0][0]
    if commits in {"off", "local"}:
        found.append(
            f"the server has synchronous_commit = {commits}: confirmed answers can be lost"
        )
    return found
