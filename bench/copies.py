"""Copies of rows in a PostgreSQL store: many alike, made in seconds, with all indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ASK_ID = "'a-' || lpad(to_hex((n * 2654435761) & 4294967295), 8, '0')"
"""The id of copy number n."""


def copy_rows(
    raw: psycopg.Connection[Any],
    table: str,
    number: int,
    changed: Mapping[str, str],
    where: str = "true",
) -> None:
    """Insert copies of each row that fits, without triggers; `changed` has columns as SQL of `n`."""
    found = raw.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 "
        "AND attname <> 'xid' AND (attidentity = '' OR attname = ANY(%s))",
        (table, list(changed)),
    )
    names = [name for (name,) in found]
    values = ", ".join(changed.get(name, f'one."{name}"') for name in names)
    columns = ", ".join(f'"{name}"' for name in names)
    raw.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    raw.execute(
        f"INSERT INTO {table} ({columns}) SELECT {values} "
        f"FROM generate_series(1, {number}) AS n, (SELECT * FROM {table} WHERE {where}) AS one"
    )
    raw.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def count_waiting(raw: psycopg.Connection[Any]) -> None:
    """Count the waiting asks, as the triggers would have done; then look at all tables."""
    raw.execute("DELETE FROM waiting")
    raw.execute("DELETE FROM waiting_changes")
    raw.execute(
        "INSERT INTO waiting (project, project_key, number) "
        "SELECT project, project_key, count(*) FROM asks WHERE status = 'pending' GROUP BY 1, 2"
    )
    raw.execute("VACUUM ANALYZE")


def copy_first_run(address: str, number: int) -> None:
    """Make so many more runs that wait like run 1, with their asks, journals and events."""
    with psycopg.connect(address, autocommit=True) as raw:
        [(last,)] = raw.execute("SELECT max(id) FROM runs").fetchall()
        [(newest,)] = raw.execute("SELECT max(seq) FROM events").fetchall()
        run = f"{last} + n"
        copy_rows(raw, "runs", number, {"id": run, "prompt": f"({run} - 1)::text"}, "id = 1")
        owner = f"replace(one.owner, 'run:1/', 'run:' || {run} || '/')"
        first = "owner LIKE 'run:1/%'"
        copy_rows(raw, "asks", number, {"id": ASK_ID, "owner": owner}, first)
        ask_id = f"CASE one.ask_id WHEN '' THEN '' ELSE {ASK_ID} END"
        copy_rows(raw, "calls", number, {"run": run, "ask_id": ask_id}, "run = 1")
        events = {"subject": f"'run:' || {run}", "seq": f"{newest} + n"}
        kinds = "id IN (SELECT max(id) FROM events WHERE subject = 'run:1')"
        copy_rows(raw, "events", number, events, kinds)
        raw.execute("SELECT setval(pg_get_serial_sequence('runs', 'id'), max(id)) FROM runs")
        count_waiting(raw)
