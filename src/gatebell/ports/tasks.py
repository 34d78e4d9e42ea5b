"""The port to tasks: every change is conditional on the version of the task that it was decided on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.audit.events import Event
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.tasks.tasks import Task, TaskChange

WHICH = ("unfinished", "all", "ready", "awaiting")
"""The lists of a project's tasks."""


class Tasks(Protocol):
    """The backlogs of projects. A task changes in the transaction that changes its run."""

    def add(self, changes: Sequence[TaskChange]) -> bool:
        """Write new tasks, all or none; False if one of their ids is taken."""
        ...

    def get(self, task_id: str) -> Task | None:
        """Return the task of this id, or None."""
        ...

    def matching(self, prefix: str, limit: int) -> list[str]:
        """Return the ids that begin with a prefix."""
        ...

    def count(self) -> int:
        """Return the number of tasks so far."""
        ...

    def page(self, project: str, which: str, limit: int, key: str = "") -> list[Task]:
        """Return the beginning of a list: answered tasks first, then by priority, then by age.

        Args:
            project: the folder of the project
            which: one of `WHICH`
            limit: how many at most
            key: its key, here and below: the tasks of its other folders, too
        """
        ...

    def next(self, project: str, key: str = "") -> Task | None:
        """Return the first task that a new run should work on, or None."""
        ...

    def list_claimed(self) -> list[Task]:
        """Return the tasks in progress, of every project."""
        ...

    def beneath(self, task_id: str) -> list[Task]:
        """Return the tasks with this parent."""
        ...

    def level(
        self, project: str, parent: str, limit: int, *, closed: bool, key: str = ""
    ) -> list[Task]:
        """Return the tasks of a project directly beneath a task, in the order of the lists.

        Args:
            project: the project
            parent: the task above; an empty text means the top level
            limit: how many at most
            closed: closed tasks too, at the end
        """
        ...

    def how_many(
        self, project: str, parent: str | None = None, *, closed: bool, key: str = ""
    ) -> int:
        """Return the number of tasks.

        Args:
            project: the project
            parent: only those directly beneath this task; None means all of the project
            closed: count closed tasks, too
        """
        ...

    def needing(self, task_id: str) -> list[Task]:
        """Return the tasks that need this one."""
        ...

    def projects(self) -> list[str]:
        """Return the projects that have tasks."""
        ...

    def change(self, change: TaskChange, expected: Task) -> bool:
        """Write a task, if it has not changed since `expected` was read; False otherwise."""
        ...

    def take_up(self, task: Task, run: Run, events: Sequence[Event], expected: Task) -> Run | None:
        """Write a new run and the task that it works on; None if another process was faster."""
        ...
