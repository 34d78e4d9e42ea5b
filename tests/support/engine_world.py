"""Workers of each engine on its real backend, in threads of the test."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import psycopg

from gatebell.adapters.engines.drives import Drives
from gatebell.adapters.engines.local import LocalEngine
from gatebell.adapters.engines.procrastinate import ProcrastinateEngine
from gatebell.app import engines
from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.enums import Priority
from gatebell.domain.runs.places import pool_place
from gatebell.domain.runs.runs import RunChange
from gatebell.services.runs import manage_runs
from gatebell.services.runs.checkouts import Checkouts
from gatebell.services.tasks.scheduler import TaskScheduler
from tests.support.flow_harness import Harness
from tests.support.people import a_person
from tests.support.stores import find_place
from tests.support.temporal_server import find_temporal

PATIENCE_SECONDS = 60
JOBS = {"procrastinate": "procrastinate_jobs", "temporal": "dispatches"}


class EngineWorld(Harness):
    """A store whose runs one kind of engine drives."""

    def __init__(self, folder, store, kind) -> None:
        store.clock = None
        super().__init__(folder, store)
        self.kind = kind

    def build(self, slots=2, pool="", keys=(), driver=None, backlogs=None):
        """Return an engine that is not yet at work."""
        scheduler = TaskScheduler(self.store, backlogs or SimpleNamespace(), "digest")
        checkouts = Checkouts(backlogs or SimpleNamespace(), ())
        drives = Drives(self.store, driver or self.driver, scheduler, checkouts, slots)
        if self.kind == "local":
            return LocalEngine(drives)
        places, dispatches = [pool_place(pool, key) for key in keys], self.store.dispatches
        if self.kind == "temporal":
            # Imported here: its library may be missing.
            from gatebell.adapters.engines.temporal import TemporalEngine

            return TemporalEngine(drives, dispatches, (find_temporal(), "default"), places)
        return ProcrastinateEngine(drives, dispatches, self.store.environ["GATE_STORE"], places)

    @contextmanager
    def at_work(self, slots=2, **more):
        """Run a worker on its own thread, and stop it at the end."""
        made = self.build(slots, **more)
        thread = threading.Thread(target=made.work, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            made.stop()
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()
            assert made.wait_idle(PATIENCE_SECONDS)

    def begin(self, prompt="", key="shop", priority=Priority.NORMAL, **fields):
        """Make a run ready, with these fields."""
        request = manage_runs.RunRequest(
            "feature", "feature.py", self.source, prompt, self.folder,
            in_place=True, begin=False, project_key=key,
        )  # fmt: skip
        made, _ = manage_runs.start(self.store, self.folders, request, a_person("ada"))
        with self.store.transaction():
            self.store.runs.set_priority(made.id, priority)
        ready = made._replace(state="ready", reason="", **fields)
        assert self.store.runs.change(RunChange(ready), made)
        self.run_id = made.id
        return ready

    def state(self, run):
        return self.store.runs.get(run.id).state

    def list_jobs(self):
        """Return the runs that wait for the engine or its relay, with the state of each job."""
        query = "SELECT run, 'todo' FROM dispatches ORDER BY run"
        if self.kind == "procrastinate":
            query = "SELECT (args ->> 'run_id')::bigint, status FROM procrastinate_jobs ORDER BY id"
        with self.connect() as raw:
            return raw.execute(query).fetchall()

    def lose_jobs(self):
        with self.connect() as raw:
            raw.execute(f"DELETE FROM {JOBS[self.kind]}")

    def connect(self):
        return psycopg.connect(self.store.environ["GATE_STORE"])

    def copy(self, run, number):
        """Make so many more runs like this one."""
        with self.connect() as raw:
            names = raw.execute("SELECT attname FROM pg_attribute WHERE attrelid = 'runs'::regclass "
                                "AND attnum > 0 AND attname <> 'id'")  # fmt: skip
            columns = ", ".join(name for (name,) in names)
            raw.execute(
                f"INSERT INTO runs ({columns}) SELECT {columns} FROM runs, generate_series(1, %s) "
                "WHERE id = %s",
                (number, run.id),
            )


def set_up_engine(kind, dsn):
    """Let a store hand its runs to this engine."""
    if kind == "procrastinate":
        engines.install_tables(dsn)
        with psycopg.connect(dsn) as raw:
            raw.execute("DELETE FROM procrastinate_jobs")
            raw.execute("DELETE FROM procrastinate_workers")


@contextmanager
def open_world(kind, tmp_path, monkeypatch, place=""):
    """Open a world on the store of this process, or on one at another place."""
    place = place or find_place("sqlite" if kind == "local" else "postgres", tmp_path, monkeypatch)
    set_up_engine(kind, place)
    store = open_throwaway_store(place)
    if kind != "local":
        store.dispatches.use(kind)
    made = EngineWorld(tmp_path, store, kind)
    try:
        yield made
    finally:
        made.close()
        if kind != "local":
            store.dispatches.use("")
        store.close()
