"""What drives runs in this process: the driver, the worker, and what they need from outside."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gatebell.adapters.system.folders import runs_folder
from gatebell.app import environment, locks, wiring

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.engines.local import Reports, Worker
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.flows import Flows
    from gatebell.ports.store import Store
    from gatebell.ports.workspaces import Workspace
    from gatebell.services.runs.dependencies import RunDependencies
    from gatebell.services.runs.drive_run import Driver

_ENDS_WITHIN_SECONDS = 5.0


def workspace(store: Store) -> Workspace:
    # Imported here and below: only whoever works with runs needs them.
    from gatebell.adapters.git.worktrees import GitWorkspace

    return GitWorkspace(runs_folder(store.path))


def build_driver(store: Store, flows: Flows | None = None) -> Driver:
    """Drives the runs of a store in this process; `flows` has their code, otherwise it is in files."""
    from gatebell.services.runs.drive_run import Driver

    needs = build_dependencies(store)
    return Driver(store, needs._replace(flows=flows) if flows else needs)


def build_dependencies(store: Store) -> RunDependencies:
    """What the runs of a store need from outside."""
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
        log=RunLogFiles(store.path),
        hosts=wiring.hosts(),
        caller=environment.caller(os.environ, "flow")._replace(principal=DRIVER, agent=None),
    )


def run_log_path(store: Store, run: Run) -> str:
    """The file with what the agents of a run said."""
    from gatebell.adapters.files.run_log import RunLogFiles

    return RunLogFiles(store.path).path(run)


def work_digest() -> str:
    """Of the flow that works on tasks, as runs record it."""
    from gatebell.adapters.files.flow_loader import task_flow_digest

    return task_flow_digest()


def worker_log(store_path: str) -> str:
    """The log of this worker: a file of its own, beside the store."""
    folder = os.path.join(runs_folder(store_path), "logs")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, f"worker-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.md")


def append_line(path: str, line: str) -> None:
    with open(path, "a", encoding="utf-8", errors="replace") as file:
        file.write(f"- {datetime.now(UTC):%H:%M:%S} {line.strip()}\n")


def build_worker(
    store: Store,
    driver: Driver,
    slots: int,
    projects: Sequence[str] = (),
    reports: Reports | None = None,
) -> Worker:
    """Drives whatever run of a store is ready, on this machine.

    With a slot free, it takes up tasks of these projects.
    """
    from gatebell.adapters.engines.local import Worker
    from gatebell.adapters.files.backlog_settings import BacklogFiles
    from gatebell.services.tasks.scheduler import TaskScheduler

    scheduler = TaskScheduler(store, BacklogFiles(), work_digest(), projects)
    return Worker(store, driver, scheduler, slots, reports)


class BackgroundWorker:
    """Drives runs on threads of this process, with a store of their own."""

    def __init__(
        self, slots: int, projects: Sequence[str] = (), reports: Reports | None = None
    ) -> None:
        import gc
        import threading

        # Commands do without it, but a worker lives long and flows are anybody's code.
        gc.enable()
        store = wiring.open_store()
        self._driver = build_driver(store)
        self._worker = build_worker(store, self._driver, slots, projects, reports)
        self._lock = locks.work_at(store.path)
        self._thread = threading.Thread(target=self._worker.work, name="worker", daemon=True)
        self._thread.start()

    def set_projects(self, projects: Sequence[str]) -> None:
        """Take up tasks of these projects from now on."""
        self._worker.scheduler.projects = projects

    def end(self) -> list[int]:
        """Stop driving. Returns the runs whose code does not come back in time."""
        import threading

        until = time.monotonic() + _ENDS_WITHIN_SECONDS
        self._worker.stop()
        # On a thread of its own: an agent may be hard to end, and the store hard to write.
        closing = threading.Thread(target=self._driver.close, name="closing", daemon=True)
        closing.start()
        for one in (closing, self._thread):
            one.join(max(0.0, until - time.monotonic()))
        self._worker.wait_idle(until - time.monotonic())
        os.close(self._lock)
        return self._worker.busy()
