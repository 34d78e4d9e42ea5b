"""Read runs as people see them: with their open questions, and the result of their task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import RunState, TaskState
from gatebell.domain.people.principals import is_person
from gatebell.domain.runs.seen_runs import SeenRun, TaskEnd
from gatebell.services.asks.waiters import is_waiter_gone

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store

_ENDS = (TaskState.CLOSED, TaskState.FAILED, TaskState.BLOCKED, TaskState.DEFERRED)


def see_run(store: Store, run: Run) -> SeenRun:
    """Return a run without its calls and turns."""
    asks = [] if run.has_ended else store.asks.pending_of_run(run.id)
    task = store.tasks.get(run.task) if run.task else None
    return SeenRun(
        run,
        tuple(ask.id for ask in asks),
        tuple(ask.question.prompt for ask in asks),
        tuple(ask.id for ask in asks if is_waiter_gone(store, ask)),
        task.title if task else "",
        find_end(store, run),
    )


def see_whole_run(store: Store, run: Run) -> SeenRun:
    """Return a run with its calls and turns."""
    return see_run(store, run)._replace(
        calls=tuple(store.runs.calls(run.id)), turns=tuple(store.runs.turns(run.id))
    )


def find_end(store: Store, run: Run) -> TaskEnd | None:
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
            return TaskEnd(state, run.reason, event.actor if is_person(event.actor) else "")
    return None


def _read_end(result: dict[str, Any]) -> TaskEnd:
    state = next((one for one in _ENDS if one == result.get("state")), TaskState.CLOSED)
    if state == TaskState.CLOSED:
        return TaskEnd(state, str(result.get("status") or ""))
    return TaskEnd(state, str(result.get("status") or result.get("summary") or ""))
