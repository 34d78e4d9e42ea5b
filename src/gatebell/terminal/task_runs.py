"""Describe runs that work on tasks by the task and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import TaskState
from gatebell.domain.runs.seen_runs import TaskEnd
from gatebell.services.runs.see_runs import find_end

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store

ICONS = {
    TaskState.OPEN: "○",
    TaskState.IN_PROGRESS: "▸",
    TaskState.AWAITING_INPUT: "❓",
    TaskState.BLOCKED: "⊘",
    TaskState.DEFERRED: "◌",
    TaskState.FAILED: "✗",
    TaskState.CLOSED: "✓",
}
COLOURS = {
    TaskState.OPEN: "cyan",
    TaskState.IN_PROGRESS: "cyan",
    TaskState.AWAITING_INPUT: "yellow",
    TaskState.BLOCKED: "yellow",
    TaskState.DEFERRED: "dim",
    TaskState.FAILED: "red",
    TaskState.CLOSED: "green",
}


class End(TaskEnd):
    """The result of a task, with how it is shown."""

    @property
    def word(self) -> str:
        """`✗ failed`."""
        return f"{ICONS[self.state]} {self.state}"

    @property
    def colour(self) -> str:
        return COLOURS[self.state]


def task_of(store: Store, run: Run) -> Task | None:
    """Return the task that a run works on."""
    return store.tasks.get(run.task) if run.task else None


def about(store: Store, run: Run) -> str:
    """Return `tm-abc: its title`, or the title of a run without a task."""
    task = task_of(store, run)
    return f"{task.id}: {task.title}" if task else run.title


def end_of(store: Store, run: Run) -> End | None:
    """Return the result of the run's task; None if this run did not end it."""
    return shown_end(find_end(store, run))


def shown_end(end: TaskEnd | None) -> End | None:
    return End(*end) if end else None
