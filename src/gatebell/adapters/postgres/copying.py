"""Copy every row of a store into an empty PostgreSQL store, as it is, with its chain of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.columns import TABLES
from gatebell.adapters.tables.rows import read_pages
from gatebell.domain.text.display import storable
from gatebell.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gatebell.adapters.postgres.store import PostgresStore
    from gatebell.adapters.postgres.wire import Wire
    from gatebell.adapters.tables.databases import Connection
    from gatebell.ports.attachments import Attachments

# A row comes after the rows that it refers to.
_ORDER = (
    *("traits", "people", "tokens", "group_members", "logins", "rules", "notes", "runs", "calls"),
    *("turns", "tasks", "task_needs", "asks", "ask_keys", "answers", "messages", "drafts"),
    *("secrets", "wakes", "outbox", "deliveries", "visits", "attachments", "uploads", "freezes"),
    *("devices", "shadow_rules", "events"),
)
_NUMBERED = (
    *("asks.seq", "answers.seq", "messages.seq", "wakes.seq", "outbox.seq", "notes.seq"),
    *("tasks.seq", "runs.id", "freezes.seq"),
)
_COUNT_WAITING = """
INSERT INTO waiting (project, project_key, number)
SELECT project, project_key, count(*) FROM asks WHERE status = 'pending' GROUP BY 1, 2
"""


def copy_rows(source: Connection, target: PostgresStore, report: Callable[[str, int], None]) -> int:
    """Copy all rows in one transaction; return how many there were.

    Args:
        source: the connection of the store to copy, in a snapshot
        target: a store without rows
        report: called after each page with the table and the number of its rows so far

    Raises:
        RefusedError: The target has rows.
    """
    _must_be_empty(target)
    total = 0
    with target.connection.hold("BEGIN") as held:
        for table in _ORDER:
            # The rows have their events already: nothing is to be noted or counted.
            held.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        for table in _ORDER:
            total += _copy_table(source, target, held, table, report)
        for place in _NUMBERED:
            held.execute(_set_next(*place.split(".")))
        held.execute(_COUNT_WAITING)
        for table in _ORDER:
            held.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        held.execute("COMMIT")
    return total


def copy_attachments(
    source: Attachments, target: PostgresStore, report: Callable[[str, int], None]
) -> None:
    """Copy the bytes of attachments; their rows are copied with all others."""
    _must_be_empty(target)
    contents = target.build_contents()
    for number, digest in enumerate(source.used(), 1):
        # Missing bytes are found by the check after the copy.
        if (content := source.read(digest)) is not None:
            contents.write(digest, content)
        report("attachments", number)


def _must_be_empty(target: PostgresStore) -> None:
    if target.connection.rows("SELECT 1 FROM events LIMIT 1"):
        raise RefusedError(
            f"the store {target.name} is in use: copy into one that is new (gate store migrate)"
        )


def _copy_table(
    source: Connection,
    target: PostgresStore,
    held: Wire,
    table: str,
    report: Callable[[str, int], None],
) -> int:
    known = TABLES[table]
    names = [f'"{name}"' for name in (*known.fixed, *known.changing, *known.apart)]
    width = len(known.key)
    pages: Iterator[list[Any]] = (
        [row[width:] for row in page] for page in read_pages(source, table, names)
    )
    if table == "secrets":
        # All of them before the copy begins: during it, the server cannot be asked for its time.
        pages = iter([[_hide(target, names, row) for row in page] for page in pages])
    number = 0
    into = f"COPY {table} ({', '.join(names)}) FROM STDIN"
    with held.cursor() as cursor, cursor.copy(into) as copy:
        for page in pages:
            for row in page:
                copy.write_row([_to_storable(value) for value in row])
            number += len(page)
            report(table, number)
    return number


def _hide(target: PostgresStore, names: list[str], row: Any) -> list[Any]:
    values = dict(zip(names, row, strict=True))
    values['"value"'] = target.hide_secret(values['"ask_id"'], values['"value"'])
    return list(values.values())


def _to_storable(value: Any) -> Any:
    return storable(value) if isinstance(value, str) else value


def _set_next(table: str, column: str) -> str:
    return (
        f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), max({column})) FROM {table} "  # noqa: S608  only our own names
        "HAVING max(" + column + ") IS NOT NULL"
    )
