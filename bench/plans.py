"""Check the plan of each named query: none may read a growing table from end to end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import apsw
import apsw.ext
from bench import stores
from bench.figures import Figure

from gatebell.adapters.sqlite.connection import Connection
from gatebell.adapters.tables.statements import list_nouns, load

if TYPE_CHECKING:
    from collections.abc import Iterator

# Tables with a handful of rows for the whole life of the store.
TINY_TABLES = (
    "people",
    "tokens",
    "logins",
    "group_members",
    "traits",
    "members",
    "devices",
    "sqlite_sequence",
)
# Not tables: the list of a parameter, and the steps from one entry of an index to the next.
NO_TABLES = ("json_each", "found")
# Queries that begin at one end, in the order of the result, and stop after a row or a page.
STOP_EARLY = (
    "asks.pending_asks",
    "asks.pending_asks_of_project",
    "audit.head",
    "audit.newest_entries",
    "notes.newest_notes",
    "outbox.deliveries_with_problems",
    "outbox.posted_notices",
    "outbox.waiting_notices",
    "rules.any_gate",
    "runs.active_runs",
    "runs.newest_runs",
    "store.mark_throwaway",
)
# Queries whose result is the whole table.
WHOLE_READINGS = (
    "asks.open_visits",
    "asks.waiting_counts",
    "asks.waits_now",
    "asks.woken",
    "audit.schema",
    "outbox.try_again",
    "rules.open_shadow_rules",
    "rules.rules_in_force",
    "runs.joined_turns",
    "tasks.claimed_tasks",
)


def measure() -> Iterator[Figure]:
    found = scans()
    what = f"scans in {len(plans())} named queries"
    yield Figure(what, len(found), "", 0, "; ".join(found) or "none")
    excused = (*STOP_EARLY, *WHOLE_READINGS)
    yield Figure("scans on purpose", len(excused), "", None, ", ".join(excused))


def scans() -> list[str]:
    """Return the faults: `FILE.QUERY: SCAN TABLE` for each scan without an exception."""
    return [
        f"{name}: {step}"
        for name, steps in plans().items()
        if name not in STOP_EARLY + WHOLE_READINGS
        for step in steps
        if _scans_a_growing_table(step)
    ]


def plans() -> dict[str, list[str]]:
    """Return the steps of every named query, on a new store."""
    with stores.folder() as folder:
        path = os.path.join(folder, "gate.db")
        stores.open_store(path).close()
        database = apsw.Connection(path)
        found = {
            f"{noun}.{name}": _steps(database, sql)
            for noun in list_nouns(Connection.folder)
            for name, sql in load(noun, Connection.folder).items()
        }
        database.close()
    return found


def _steps(database: apsw.Connection, sql: str) -> list[str]:
    # It binds no parameters: a plan depends only on the text.
    told = apsw.ext.query_info(database, sql, explain_query_plan=True)
    return list(_below(told.query_plan))


def _below(plan: apsw.ext.QueryPlan) -> Iterator[str]:
    for part in plan.sub or ():
        yield part.detail
        yield from _below(part)


def _scans_a_growing_table(step: str) -> bool:
    verb, *words = step.split()
    if verb != "SCAN" or words[:2] == ["CONSTANT", "ROW"] or words[0].startswith("("):
        return False
    # An index read from end to end is as long as its table.
    return words[0] not in TINY_TABLES + NO_TABLES
