"""The tables of an engine that keeps its jobs in the store's own database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from gatebell.adapters.postgres import migrations, wire

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.postgres.connection import Connection

_FOUND = "SELECT to_regclass('procrastinate_jobs') IS NOT NULL, tables FROM engine"
_CALLED = "SELECT to_regprocedure('procrastinate_defer_jobs_v1(procrastinate_job_to_defer_v1[])')"


def install(connection: Connection, scripts: Sequence[tuple[str, str]]) -> list[str]:
    """Make procrastinate's tables, or run their changes; return what ran.

    A store that gets them hands its runs to procrastinate from then on.

    Args:
        connection: a store whose own tables are up to date
        scripts: the tables as a whole, and then each change of them, with its name
    """
    try:
        with connection.hold("BEGIN") as held:
            held.execute(migrations.HOLD)
            done = _run(held, scripts)
            held.execute("COMMIT")
    except psycopg.Error as error:
        raise connection.problem(error) from error
    return done


def _run(held: wire.Wire, scripts: Sequence[tuple[str, str]]) -> list[str]:
    exists, newest = held.execute(_FOUND).fetchall()[0]
    (_, whole), *changes = scripts
    if not exists:
        held.execute(whole, prepare=False)
        held.execute("SELECT gate_use_engine('procrastinate')")
        done = ["the tables of procrastinate"]
    elif newest:
        missing = [(name, sql) for name, sql in changes if name > newest]
        for _, sql in missing:
            held.execute(sql, prepare=False)
        done = [f"procrastinate {name}" for name, _ in missing]
    else:
        # They were made by another program, which changes them, too.
        return []
    wire.run(held, "UPDATE engine SET tables = ?", (changes[-1][0],))
    return done


def list_problems(connection: Connection, scripts: Sequence[tuple[str, str]]) -> list[str]:
    """Return what is wrong with the tables of procrastinate."""
    exists, newest = connection.rows(_FOUND)[0]
    if not exists:
        return ["procrastinate has no tables in this store: gate store migrate"]
    if newest and newest < scripts[-1][0]:
        return ["the tables of procrastinate are older than the library: gate store migrate"]
    if connection.rows(_CALLED)[0][0] is None:
        return ["the tables of procrastinate are of another version: run its migrations"]
    return []
