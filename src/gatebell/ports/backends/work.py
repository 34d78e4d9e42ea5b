"""The verbs of a `Backend` (`ports/backends/backend.py`) for runs and tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.runs.seen_runs import SeenRun
    from gatebell.domain.runs.wanted_runs import WantedRun
    from gatebell.domain.tasks.seen_tasks import SeenTask, TaskEvents, WholeTask
    from gatebell.domain.tasks.tasks import Task

MAX_TASKS = 10_000
"""How many tasks a server sends in one list."""


class RunVerbs(Protocol):
    """The verbs for runs."""

    def runs(self, limit: int, *, active: bool = False) -> list[SeenRun]:
        """Return the newest runs, without their calls; `active`: only those that have not ended."""
        ...

    def run(self, number: int) -> SeenRun:
        """Return a run with its calls and turns."""
        ...

    def asks_of_run(self, number: int) -> list[Ask]:
        """Return all asks of a run, oldest first."""
        ...

    def start_run(self, wanted: WantedRun, caller: Caller) -> tuple[Run, bool]:
        """Create a run for a worker that has a checkout of its project.

        Returns:
            The run, and whether such a worker lives.
        """
        ...

    def stop_run(self, number: int, caller: Caller, reason: str) -> Run:
        """End a run, its agents and its asks."""
        ...

    def resume_run(self, number: int, caller: Caller, accept: str) -> Run:
        """Make an ended run ready for the worker of its host; `accept`: a call to keep as it is."""
        ...

    def has_worker(self) -> bool:
        """Return whether a living worker drives runs as they become ready."""
        ...


class TaskVerbs(Protocol):
    """The verbs for tasks."""

    def task(self, named: str) -> Task:
        """Return the task with exactly this id."""
        ...

    def look_up_task(self, named: str) -> WholeTask:
        """Return everything about the task whose id starts with this text."""
        ...

    def tasks(self, project: str, which: str, limit: int, key: str = "") -> list[SeenTask]:
        """Return the beginning of a project's list, as `ports/tasks.py` (`page`) does."""
        ...

    def task_projects(self) -> list[str]:
        """Return the projects that have tasks."""
        ...

    def asks_of_task(self, task_id: str) -> list[Ask]:
        """Return all asks of a task, oldest first."""
        ...

    def task_events(
        self, task: str, project: str, key: str, after: int | None, limit: int
    ) -> TaskEvents:
        """Return the newest events, or those after a number of the audit trail.

        Args:
            task: the beginning of its id; empty: all tasks of the project
            project: the folder of the project
            key: its key
            after: the `head` of the events that were read before; None: the newest events
            limit: how many at most
        """
        ...

    def create_task(
        self, project: str, caller: Caller, fields: dict[str, Any], key: str = ""
    ) -> Task:
        """Create a task in a project; `key`: that of the project."""
        ...

    def update_task(self, named: str, caller: Caller, fields: dict[str, Any]) -> Task:
        """Change the fields of a task; other verbs change its state."""
        ...

    def change_needs(
        self, named: str, caller: Caller, needed: Sequence[str], *, remove: bool
    ) -> Task:
        """Make the task wait until other tasks are closed, or no longer."""
        ...

    def claim_task(self, named: str, caller: Caller) -> Task:
        """Claim a task to work on it by hand; no worker takes it then."""
        ...

    def release_task(self, named: str, caller: Caller) -> Task:
        """End a claim by hand."""
        ...

    def close_task(self, named: str, caller: Caller, reason: str) -> Task:
        """Close a task as done or not needed; end a run that works on it."""
        ...

    def defer_task(self, named: str, caller: Caller, reason: str) -> Task:
        """Defer a task until it is reopened; end a run that works on it."""
        ...

    def reopen_task(self, named: str, caller: Caller, *, fresh: bool) -> Task:
        """Reopen a task; `fresh`: without the folder of its last run."""
        ...
