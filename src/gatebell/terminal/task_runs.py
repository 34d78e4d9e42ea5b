"""Runs that work on tasks, as people know them: by the task, and by what the task came to."""

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
    """What a task came to by one of its runs."""

    state: TaskState
    why: str = ""
    by: str = ""
    """The person who ended the run; empty: it came to its end."""

    @property
    def word(self) -> str:
        """`✗ failed`."""
        return f"{ICONS[self.state]} {self.state}"

    @property
    def colour(self) -> str:
        return COLOURS[self.state]

    @property
    def description(self) -> str:
        """`by person:ada: not needed`; nothing of what was simply done."""
        by = f"by {self.by}" if self.by else ""
        return ": ".join(filter(None, [by, self.why]))


def task_of(store: Store, run: Run) -> Task | None:
    """The task that a run works on."""
    return store.tasks.get(run.task) if run.task else None


def about(store: Store, run: Run) -> str:
    """`tm-abc: its title`; of other runs, the name of the flow."""
    task = task_of(store, run)
    return f"{task.id}: {task.title}" if task else run.flow


def end_of(store: Store, run: Run) -> End | None:
    """What the task came to; None: the run goes on, or works on none, or its task went elsewhere."""
    if not run.task or not run.has_ended:
        return None
    if run.state == RunState.COMPLETED:
        return _read_end(run.result if isinstance(run.result, dict) else {})
    # A person who closes or puts off a task ends its run as stuck: only the task's trail tells.
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
