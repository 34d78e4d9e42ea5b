"""Build the driver and the worker that drive runs in this process."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gatebell.adapters.system.folders import runs_folder
from gatebell.app import engines, environment, travelling, wiring

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.engines.drives import Drives, Reports
    from gatebell.app.engines import Part
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.agents import AgentFunction, Driver as AgentDriver
    from gatebell.ports.engines import Engine
    from gatebell.ports.flows import Flows
    from gatebell.ports.store import Store
    from gatebell.ports.workspaces import Workspace
    from gatebell.services.runs.dependencies import RunDependencies, Travel
    from gatebell.services.runs.drive_run import Driver

_ENDS_WITHIN_SECONDS = 5.0


def workspace(store: Store) -> Workspace:
    # Imported here and below: only commands that work with runs need them.
    from gatebell.adapters.git.worktrees import GitWorkspace

    return GitWorkspace(runs_folder(store.local_path))


def drop_copy(store: Store, run: Run, *, dry_run: bool) -> str:
    """Remove the folder that a travelling run has left on this host; return it, or ""."""
    from gatebell.adapters.git.carrier import drop_copy as drop
    from gatebell.adapters.git.worktrees import GitWorkspace

    return drop(GitWorkspace(runs_folder(store.local_path)), run, dry_run=dry_run)


def build_driver(store: Store, flows: Flows | None = None, travel: Travel | None = None) -> Driver:
    """Build the driver of a store's runs; it uses `flows`, otherwise the flow files.

    With `travel`, runs leave this host when they wait.
    """
    from gatebell.services.runs.drive_run import Driver

    needs = build_dependencies(store)._replace(travel=travel)
    return Driver(store, needs._replace(flows=flows) if flows else needs)


def build_dependencies(store: Store) -> RunDependencies:
    """Build the adapters that the runs of a store need."""
    from gatebell.adapters.agents.programs import AgentPrograms
    from gatebell.adapters.files.backlog_settings import BacklogFiles
    from gatebell.adapters.files.flow_loader import FlowLoader
    from gatebell.adapters.files.role_files import RoleFiles
    from gatebell.adapters.files.run_log import RunLogFiles
    from gatebell.domain.runs.runs import DRIVER
    from gatebell.services.runs.dependencies import RunDependencies

    return RunDependencies(
        flows=FlowLoader(store),
        roles=RoleFiles(),
        agents=AgentPrograms(),
        workspace=workspace(store),
        activity=wiring.activity(),
        backlogs=BacklogFiles(),
        log=RunLogFiles(store.local_path),
        hosts=wiring.hosts(),
        caller=environment.caller(os.environ, "flow")._replace(principal=DRIVER, agent=None),
    )


def build_function_driver(work: AgentFunction) -> AgentDriver:
    """Build the driver of a function in the place of an agent."""
    from gatebell.adapters.agents.python_function import PythonDriver

    return PythonDriver(work)


def run_log_path(store: Store, run: Run) -> str:
    """Return the file with the output of a run's agents."""
    from gatebell.adapters.files.run_log import RunLogFiles

    return RunLogFiles(store.local_path).path(run)


def work_digest() -> str:
    """Return the digest of the flow that works on tasks, as runs record it."""
    from gatebell.adapters.files.flow_loader import task_flow_digest

    return task_flow_digest()


def worker_log(store_path: str) -> str:
    """Return the path of this worker's own log file, beside the store."""
    folder = os.path.join(runs_folder(store_path), "logs")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, f"worker-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.md")


def append_line(path: str, line: str) -> None:
    with open(path, "a", encoding="utf-8", errors="replace") as file:
        file.write(f"- {datetime.now(UTC):%H:%M:%S} {line.strip()}\n")


def build_drives(
    store: Store,
    driver: Driver,
    slots: int,
    projects: Sequence[str] = (),
    reports: Reports | None = None,
    checkouts: Sequence[str] = (),
) -> Drives:
    """Build the drives of this process.

    With a free slot, it takes up tasks of `projects`. In `checkouts` it makes the folders of runs
    that were started from other machines.
    """
    from gatebell.adapters.engines.drives import Drives
    from gatebell.adapters.files.backlog_settings import BacklogFiles
    from gatebell.services.runs.checkouts import Checkouts
    from gatebell.services.tasks.scheduler import TaskScheduler

    scheduler = TaskScheduler(store, BacklogFiles(), work_digest(), projects)
    found = Checkouts(BacklogFiles(), checkouts)
    return Drives(store, driver, scheduler, found, slots, reports)


def build_worker(store: Store, driver: Driver, slots: int, projects: Sequence[str] = ()) -> Engine:
    """Build a worker that drives the ready runs of a store on this machine."""
    from gatebell.adapters.engines.local import LocalEngine

    return LocalEngine(build_drives(store, driver, slots, projects))


class BackgroundWorker:
    """Drives runs on threads of this process, with its own store object."""

    def __init__(
        self,
        slots: int,
        projects: Sequence[str] = (),
        reports: Reports | None = None,
        part: Part | None = None,
    ) -> None:
        """Take up tasks of these projects; take runs as the part among other workers says."""
        import gc
        import threading

        from gatebell.domain.enums import MemberKind
        from gatebell.services.members import Membership

        # Commands run without garbage collection, but a worker runs for long, with users' flows.
        gc.enable()
        store = wiring.open_store()
        part = part or engines.Part()
        self._driver = build_driver(store, travel=travelling.build_travel(store, part))
        self._drives = build_drives(store, self._driver, slots, projects, reports, part.projects)
        self._worker = engines.build_engine(self._drives, part)
        self.store_name = store.name
        self.place = engines.describe(store, part)
        """How it shares the runs with other workers; empty if there are none."""
        self._membership = Membership(store, MemberKind.WORKER, self._list_keys())
        self._thread = threading.Thread(target=self._worker.work, name="worker", daemon=True)
        self._thread.start()

    def set_projects(self, projects: Sequence[str], checkouts: Sequence[str]) -> None:
        """Take up tasks of these projects, and make folders in these checkouts, from now on."""
        self._drives.scheduler.projects = projects
        self._drives.checkouts.folders = checkouts
        self._membership.tell(self._list_keys())

    def _list_keys(self) -> str:
        return "\n".join(self._drives.checkouts.keys)

    def end(self) -> list[int]:
        """Stop driving, and return the runs whose code did not return in time."""
        import threading

        until = time.monotonic() + _ENDS_WITHIN_SECONDS
        self._worker.stop()
        # On its own thread: ending an agent or writing the store may take long.
        closing = threading.Thread(target=self._driver.close, name="closing", daemon=True)
        closing.start()
        for one in (closing, self._thread):
            one.join(max(0.0, until - time.monotonic()))
        self._worker.wait_idle(until - time.monotonic())
        self._membership.end()
        return self._worker.busy()
