"""Describe runs that work on tasks by the task and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.enums import RunState, TaskState
from gatebell.domain.people.principals import is_person

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
_ENDS = (TaskState.CLOSED, TaskState.FAILED, TaskState.BLOCKED, TaskState.DEFERRED)


class End(NamedTuple):
    """The result of a task after one of its runs."""

    state: TaskState
    why: str = ""
    by: str = ""
    """The person who ended the run; empty if it ended by itself."""

    @property
    def word(self) -> str:
        """`✗ failed`."""
        return f"{ICONS[self.state]} {self.state}"

    @property
    def colour(self) -> str:
        return COLOURS[self.state]

    @property
    def description(self) -> str:
        """`by person:ada: not needed`; empty for a task that was done."""
        by = f"by {self.by}" if self.by else ""
        return ": ".join(filter(None, [by, self.why]))


def task_of(store: Store, run: Run) -> Task | None:
    """Return the task that a run works on."""
    return store.tasks.get(run.task) if run.task else None


def about(store: Store, run: Run) -> str:
    """Return `tm-abc: its title`, or the name of the flow for a run without a task."""
    task = task_of(store, run)
    return f"{task.id}: {task.title}" if task else run.flow


def end_of(store: Store, run: Run) -> End | None:
    """Return the result of the run's task.

    None: the run has not ended, or has no task, or its task ended by another run.
    """
    if not run.task or not run.has_ended:
        return None
    if run.state == RunState.COMPLETED:
        return _read_end(run.result if isinstance(run.result, dict) else {})
    # A person who closes or defers a task ends its run as stuck; only the task's trail has that.
    for entry in reversed(store.audit.of_subject(run.task)):
        event = entry.event
        state = next((one for one in _ENDS if event.kind == f"task.{one}"), None)
        if event.content.get("run") == run.id and state:
            return End(state, run.reason, event.actor if is_person(event.actor) else "")
    return None


def _read_end(result: dict[str, Any]) -> End:
    state = next((one for one in _ENDS if one == result.get("state")), TaskState.CLOSED)
    if state == TaskState.CLOSED:
        return End(state, str(result.get("status") or ""))
    return End(state, str(result.get("status") or result.get("summary") or ""))
