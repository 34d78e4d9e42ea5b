"""The door to tasks: every change of one is conditional on the version it was decided on."""

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
    """The backlogs of projects. A task follows its run in the transaction that changes that one."""

    def add(self, changes: Sequence[TaskChange]) -> bool:
        """Write new tasks, all or none; False when one of their ids is taken."""
        ...

    def get(self, task_id: str) -> Task | None: ...

    def matching(self, prefix: str, limit: int) -> list[str]:
        """Ids that begin like this."""
        ...

    def count(self) -> int:
        """How many there have been."""
        ...

    def page(self, project: str, which: str, limit: int) -> list[Task]:
        """The beginning of one of the lists: answered ones first, then by priority, then by age."""
        ...

    def next(self, project: str) -> Task | None:
        """The first task that a new run should take up."""
        ...

    def list_claimed(self) -> list[Task]:
        """Those in progress, of every project."""
        ...

    def beneath(self, task_id: str) -> list[Task]:
        """Those whose parent it is."""
        ...

    def level(self, project: str, parent: str, limit: int, *, closed: bool) -> list[Task]:
        """Those of a project directly beneath a task, or, with none named, part of nothing.

        In the order of the lists; the closed ones last, if at all.
        """
        ...

    def how_many(self, project: str, parent: str | None = None, *, closed: bool) -> int:
        """How many a project has, or such a level; with the closed ones or without."""
        ...

    def needing(self, task_id: str) -> list[Task]:
        """Those that need it."""
        ...

    def projects(self) -> list[str]:
        """Those that have tasks."""
        ...

    def change(self, change: TaskChange, expected: Task) -> bool:
        """Write a task as it is now, if nobody has changed it meanwhile."""
        ...

    def take_up(self, task: Task, run: Run, events: Sequence[Event], expected: Task) -> Run | None:
        """Write a new run and the task that it works on; None when somebody was faster."""
        ...
