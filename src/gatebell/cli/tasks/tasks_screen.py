"""Shared code of the task commands: find the project, and print tasks."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from gatebell.app import environment
from gatebell.cli.screen import add_colour, columns, print_json
from gatebell.domain.asks.documents import task_document
from gatebell.domain.text.display import inert_line, storable
from gatebell.errors import UsageError
from gatebell.terminal import tasks as terminal

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gatebell.domain.tasks.seen_tasks import SeenTask
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.backends.backend import Backend

_WORKTREE = re.compile(r"/worktrees/run-(\d{1,18})/")


PROJECT = "the project that contains this folder (default: the current folder)"


def add_project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", metavar="DIR", help=PROJECT)


def find_project(backend: Backend, folder: str | None, *, may_be_gone: bool = False) -> str:
    """Return the project that contains a folder; in a run's worktree, the project of the run.

    With `may_be_gone`, the project of a moved or removed folder is accepted. If a server keeps the
    tasks, that is also one of another machine.
    """
    path = os.path.abspath(os.path.expanduser(folder or os.getcwd()))
    if not os.path.isdir(path):
        if may_be_gone and storable(path) in backend.task_projects():
            return storable(path)
        raise UsageError(f"{path} is not a folder; name one that exists")
    found = _WORKTREE.search(f"{os.path.realpath(path)}/")
    # A worktree is on a machine with a store.
    run = backend.store.runs.get(int(found[1])) if found and backend.store else None
    if run and f"{os.path.realpath(path)}/".startswith(f"{run.root}/"):
        return run.project
    # Tasks store the path as text, even if it is not valid UTF-8.
    return storable(environment.project(path))


def format_tasks(backend: Backend, tasks: Sequence[SeenTask]) -> list[str]:
    return terminal.list_lines(tasks, backend.now(), columns(), add_colour)


def tell(task: Task, done: str, *, as_json: bool) -> None:
    """Report a change of a task: `✓ Closed tm-abc: TITLE`."""
    if as_json:
        print_json(task_document(task))
    else:
        room = max(20, columns() - len(done) - len(task.id) - 5)
        print(f"✓ {done} {task.id}: {inert_line(task.title, room)}")
