"""A worker on a backlog that is struck at a chosen point: a write, a turn, or a git command."""

from __future__ import annotations

import importlib
import socket
import sys
import threading
from contextlib import closing

import flow_jobs
import operation
import workers
from flow_jobs import Striker

from gatebell.adapters.git import repositories
from gatebell.app import runtime, wiring
from gatebell.services.runs.drive_run import Driver


def work_off(path: str, project: str, point: tuple[int, str, str], slots: int) -> None:
    """Work until killed; report the number of passed points at every byte that arrives."""
    striker = Striker(*point)
    with closing(wiring.open_store(path)) as store:
        needs = flow_jobs._struck_dependencies(store, striker)
        striker.around_write(store.tasks, "take_up")
        striker.around(repositories, "run_git")
        flow_jobs.get_ready()
        driver = Driver(store, needs)
        worker = runtime.build_worker(store, driver, slots, [project])
        threading.Thread(target=worker.work, daemon=True).start()
        while workers.may_start():
            workers.tell("passed", striker.passed)


operation.JOBS.update(work_off=work_off)

if __name__ == "__main__":
    # Imported before the points are counted.
    for late in (
        *("api.flows", "adapters.agents.command", "adapters.engines.local"),
        *("adapters.git.worktrees", "services.tasks.backlog", "services.tasks.task_flow"),
    ):
        importlib.import_module(f"gatebell.{late}")
    operation.serve(socket.socket(fileno=int(sys.argv[1])))
