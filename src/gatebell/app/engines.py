"""Choose and check the engine that drives the runs of a store."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from gatebell.app import settings
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.engines.drives import Drives
    from gatebell.ports.engines import Dispatches, Engine
    from gatebell.ports.store import Store

LOCAL, PROCRASTINATE, TEMPORAL = ENGINES = ("local", "procrastinate", "temporal")
_LIBRARIES = {
    PROCRASTINATE: ("procrastinate", "postgres"),
    TEMPORAL: ("temporalio", "temporal"),
}


class Part(NamedTuple):
    """The part of a worker among those of its store."""

    projects: Sequence[str] = ()
    """The folders of projects whose runs it takes from its pool."""
    engine: str = ""
    """The engine; without a name, that of the store."""
    pool: str = ""
    """The pool; without a name, that of the settings."""


def build_engine(drives: Drives, part: Part) -> Engine:
    """Build the engine of a worker.

    Raises:
        UsageError: The store hands its runs to another engine, or a library is missing.
    """
    store = drives.store
    used = find_engine(store)
    wanted = part.engine or used
    if wanted == LOCAL:
        # Imported here and below: a worker needs one of them.
        from gatebell.adapters.engines.local import LocalEngine

        return LocalEngine(drives)
    dispatches = must_have_dispatches(store, wanted)
    if wanted != used:
        raise UsageError(f"the store hands its runs to the engine {used}: gate engine use {wanted}")
    must_have_library(wanted)
    if wanted == PROCRASTINATE:
        from gatebell.adapters.engines.procrastinate import ProcrastinateEngine

        return ProcrastinateEngine(drives, dispatches, _address(store), list_pool_places(part))
    from gatebell.adapters.engines.temporal import TemporalEngine

    server = settings.temporal(os.environ)
    return TemporalEngine(drives, dispatches, server, list_pool_places(part))


def describe(store: Store, part: Part) -> str:
    """Return how a worker shares the runs of its store with others, for its first line."""
    used = part.engine or find_engine(store)
    if used == LOCAL:
        return ""
    pool = part.pool or settings.pool(os.environ)
    return f"; engine {used}, host {store.machine.host}, pool {pool}"


def find_engine(store: Store) -> str:
    """Return the engine to which a store hands its runs."""
    return (store.dispatches.engine() if store.dispatches else "") or LOCAL


def use_engine(store: Store, name: str) -> None:
    """Hand the runs of a store to this engine from now on."""
    if name == LOCAL and not store.dispatches:
        return
    dispatches = must_have_dispatches(store, name)
    if name != LOCAL:
        must_have_library(name)
    if name == PROCRASTINATE and (found := _find_table_problems(store)):
        raise UsageError(found[0])
    dispatches.use("" if name == LOCAL else name)


def must_have_dispatches(store: Store, engine: str) -> Dispatches:
    if store.dispatches is None:
        raise UsageError(
            f"the engine {engine} needs a store on PostgreSQL (docs/postgres.md); a SQLite store "
            f"has the engine {LOCAL}"
        )
    return store.dispatches


def must_have_library(engine: str) -> None:
    if problem := _find_missing_library(engine):
        raise UsageError(problem)


def _find_missing_library(engine: str) -> str:
    """Return which extra an engine needs; empty if its library is installed."""
    library, extra = _LIBRARIES[engine]
    if find_spec(library):
        return ""
    return f"the engine {engine} needs the extra {extra}: pip install 'gatebell[{extra}]'"


def _address(store: Store) -> str:
    return store.environ["GATE_STORE"]


def list_pool_places(part: Part) -> list[str]:
    """Return the places of a worker's pool: one for each of its projects."""
    from gatebell.adapters.files.backlog_settings import BacklogFiles
    from gatebell.domain.runs.places import pool_place

    pool, keys = part.pool or settings.pool(os.environ), BacklogFiles()
    return [pool_place(pool, keys.key(project)) for project in part.projects]


def install_tables(address: str) -> list[str]:
    """Make or change the engine's own tables in a PostgreSQL store; return what ran."""
    if find_spec("procrastinate") is None:
        return []
    from gatebell.adapters.engines.procrastinate import read_tables
    from gatebell.adapters.postgres import engine_tables
    from gatebell.adapters.postgres.connection import Connection

    connection = Connection(address)
    try:
        return engine_tables.install(connection, read_tables())
    finally:
        connection.close()


def list_problems(store: Store) -> list[str]:
    """Return what keeps the engine of a store from driving its runs, with what to do."""
    from gatebell.services.runs.waiting_places import list_unserved

    used = find_engine(store)
    if used == LOCAL or store.dispatches is None:
        return []
    if missing := _find_missing_library(used):
        return [missing]
    found = _find_table_problems(store) if used == PROCRASTINATE else _find_server_problems()
    return [*found, *list_unserved(store, store.dispatches)]


def _find_server_problems() -> list[str]:
    from gatebell.adapters.engines import temporal

    return temporal.list_problems(*settings.temporal(os.environ))


def _find_table_problems(store: Store) -> list[str]:
    from gatebell.adapters.engines.procrastinate import read_tables
    from gatebell.adapters.postgres import engine_tables
    from gatebell.adapters.postgres.connection import Connection

    connection = Connection(_address(store))
    try:
        return engine_tables.list_problems(connection, read_tables())
    finally:
        connection.close()
