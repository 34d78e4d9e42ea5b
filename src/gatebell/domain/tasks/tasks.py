"""Tasks: the items of a backlog, their seven states, and how they follow their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.enums import Priority, RunState, StrEnum, TaskState
from gatebell.domain.people.principals import is_person, must_be_a_person
from gatebell.domain.text.display import inert_line
from gatebell.errors import AgentRefusedError, RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run


class TaskTimeout(StrEnum):
    """The state of a task after a timeout of its ask."""

    DEFER = "defer"
    FAIL = "fail"


class TaskType(StrEnum):
    """The type of a task."""

    TASK = "task"
    BUG = "bug"
    CHORE = "chore"


class TaskSize(StrEnum):
    """The size of a task."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


MOVES = {
    TaskState.OPEN: (
        *(TaskState.IN_PROGRESS, TaskState.DEFERRED),
        *(TaskState.FAILED, TaskState.CLOSED),
    ),
    TaskState.IN_PROGRESS: (
        *(TaskState.OPEN, TaskState.AWAITING_INPUT, TaskState.BLOCKED),
        *(TaskState.DEFERRED, TaskState.FAILED, TaskState.CLOSED),
    ),
    TaskState.AWAITING_INPUT: (
        *(TaskState.OPEN, TaskState.IN_PROGRESS),
        *(TaskState.DEFERRED, TaskState.FAILED, TaskState.CLOSED),
    ),
    TaskState.BLOCKED: (TaskState.OPEN, TaskState.DEFERRED, TaskState.CLOSED),
    TaskState.DEFERRED: (TaskState.OPEN, TaskState.CLOSED),
    TaskState.FAILED: (TaskState.OPEN, TaskState.DEFERRED, TaskState.CLOSED),
    TaskState.CLOSED: (TaskState.OPEN,),
}
"""For each state, the states that may follow."""
TIMEOUTS = ("", TaskTimeout.FAIL, TaskTimeout.DEFER)
FLOW = "work_task"
"""The flow that works on tasks."""

_OF_RUNS = {
    RunState.READY: TaskState.OPEN,
    RunState.RUNNING: TaskState.IN_PROGRESS,
    RunState.WAITING_HUMAN: TaskState.AWAITING_INPUT,
    RunState.STUCK: TaskState.FAILED,
    RunState.FAILED: TaskState.FAILED,
}
_RESULTS = (TaskState.CLOSED, TaskState.FAILED, TaskState.BLOCKED, TaskState.DEFERRED)
_CHOICES: dict[str, tuple[str, ...]] = {
    "size": tuple(TaskSize),
    "type": tuple(TaskType),
    "state": tuple(TaskState),
    "on_timeout": TIMEOUTS,
}
_MAX_TITLE_LENGTH = 500
_MAX_TEXT_LENGTH = 200_000
_MAX_REASON_LENGTH = 1_000
_MAX_WAIT_SECONDS = 1e9
_MAX_NEEDS = 200
_MAX_ON_A_WAY = 12


class Task(NamedTuple):
    """One item of a project's backlog."""

    id: str
    title: str
    project: str
    created_at: datetime
    updated_at: datetime
    created_by: str
    """The person who created it, or who started the agent that created it."""
    description: str = ""
    role: str = ""
    """The role that works on it; empty: the project's default."""
    priority: Priority = Priority.NORMAL
    """0 is urgent, 4 is backlog."""
    size: TaskSize = TaskSize.MEDIUM
    type: TaskType = TaskType.TASK
    parent: str = ""
    needs: tuple[str, ...] = ()
    """The tasks that must be closed before work on it begins."""
    test_command: str = ""
    test_from: str = ""
    """The principal that set the test command; an agent's needs a person's permission to run."""
    state: TaskState = TaskState.OPEN
    status: str = ""
    """The progress, or the reason for its end, in words."""
    summary: str = ""
    details: str = ""
    confidence: float | None = None
    """The agent's confidence in the result, from 0 to 1."""
    run: int = 0
    """The run that works on it, or the last one."""
    goes_on_from: int = 0
    """The earlier run from whose folder the next run starts."""
    claimed_by: str = ""
    """The principal that works on it without a run."""
    answered_at: datetime | None = None
    """When a person answered, until work on it goes on."""
    branch: str = ""
    """The branch with the work after it is closed."""
    closed_at: datetime | None = None
    answer_within_seconds: float | None = None
    """How long its questions wait; None: the project's setting."""
    on_timeout: str = ""
    """`fail` or `defer` after a timeout; empty: the project's setting."""
    unmet: int = 0
    """The number of needed tasks that are not closed; the store updates it."""
    version: int = 1
    more: Mapping[str, Any] = {}
    """Other fields of an imported backlog."""
    project_key: str = ""
    """The project on every host; empty in tasks of older versions."""

    @property
    def ready(self) -> bool:
        """Whether work on it can begin."""
        return self.state == TaskState.OPEN and not self.unmet

    @property
    def worked_on(self) -> bool:
        """Whether a run, or a principal without a run, works on it or waits for a person."""
        return self.state in (TaskState.IN_PROGRESS, TaskState.AWAITING_INPUT) or (
            self.state == TaskState.OPEN and self.run > 0
        )


class TaskChange(NamedTuple):
    """A task after a change, with the events of the same transaction."""

    task: Task
    events: tuple[Event, ...] = ()


def check_task(task: Task) -> Task:
    """Return the task with checked fields; refuse one that is not valid."""
    if not task.title.strip():
        raise UsageError("a task needs a title: gate task create TITLE")
    if len(task.title) > _MAX_TITLE_LENGTH or "\n" in task.title:
        raise UsageError(
            f"expected a title of one line and at most {_MAX_TITLE_LENGTH} characters: move the "
            "rest to the description"
        )
    for name in ("description", "test_command", "summary", "details", "status"):
        if len(getattr(task, name)) > _MAX_TEXT_LENGTH:
            raise UsageError(
                f"the {name.replace('_', ' ')} is longer than {_MAX_TEXT_LENGTH} characters: shorten it"
            )
    for name, known in _CHOICES.items():
        if (given := getattr(task, name)) not in known:
            ways = " or ".join(filter(None, known))
            raise UsageError(
                f"expected {ways} for {name.replace('_', ' ')}, got {inert_line(given, 40)!r}"
            )
    if task.priority not in list(Priority):
        raise UsageError(f"expected a priority from 0 (urgent) to 4 (backlog), got {task.priority}")
    within = task.answer_within_seconds
    if within is not None and not 0 < within < _MAX_WAIT_SECONDS:
        raise UsageError(
            f"expected a time for the answer such as 90s, 5m, 2h or 3d, got {within:g} seconds"
        )
    if len(task.needs) > _MAX_NEEDS:
        raise UsageError(f"a task can need at most {_MAX_NEEDS} other tasks: remove some")
    return task._replace(
        size=TaskSize(task.size),
        type=TaskType(task.type),
        state=TaskState(task.state),
        priority=Priority(task.priority),
    )


def create_task(task: Task, caller: Caller) -> TaskChange:
    content = {"title": task.title, "via": caller.via, "evidence": caller.evidence}
    return TaskChange(
        check_task(task), (Event(EventKind.TASK_CREATED, task.id, caller.actor, content),)
    )


def change_task(task: Task, after: Task, caller: Caller, now: datetime) -> TaskChange:
    """Change the fields of a task, but never its state."""
    _must_be_left_to_people(task, caller)
    if task.test_command != after.test_command and is_person(task.test_from):
        # The test guards the end of an agent's work, so no agent may change it.
        must_be_a_person(caller, f"changes the test command of {task.id}, which a person set")
    names = [name for name in Task._fields if getattr(task, name) != getattr(after, name)]
    content = {"changed": names, "via": caller.via, "evidence": caller.evidence}
    audit_event = Event(EventKind.TASK_CHANGED, task.id, caller.actor, content)
    return TaskChange(check_task(_update_version(after, now)), (audit_event,))


def move(
    task: Task, state: TaskState, caller: Caller, now: datetime, reason: str = "", **also: Any
) -> TaskChange:
    """Change the state of a task by hand."""
    _must_be_left_to_people(task, caller)
    _must_be_a_move(task, state)
    after = _update_version(task, now)._replace(
        state=state, status=reason, answered_at=None, closed_at=now if state == TaskState.CLOSED else None,
        **also,
    )  # fmt: skip
    content = {"from": task.state, "reason": reason, "via": caller.via, "evidence": caller.evidence}
    return TaskChange(
        check_task(after), (Event(EventKind(f"task.{state}"), task.id, caller.actor, content),)
    )


def claim(task: Task, caller: Caller, now: datetime) -> TaskChange:
    """Claim a task for work by hand."""
    if task.worked_on:
        raise RefusedError(
            f"{task.id} is already in progress by {working(task)}: wait, or take another task"
        )
    if task.unmet:
        raise RefusedError(
            f"{task.id} needs {', '.join(task.needs)} first: gate task show {task.id}"
        )
    return move(task, TaskState.IN_PROGRESS, caller, now, claimed_by=caller.actor, run=0)


def ask_by_hand(task: Task, now: datetime) -> TaskChange:
    """Let a task that was claimed by hand wait for a person; runs do this by themselves."""
    if task.state != TaskState.IN_PROGRESS or task.run:
        raise RefusedError(
            f"{task.id} is {task.state}: only a task that was claimed by hand can ask "
            f"(gate task claim {task.id})"
        )
    after = _update_version(task, now)._replace(state=TaskState.AWAITING_INPUT)
    audit_event = Event(
        EventKind.TASK_AWAITING_INPUT, task.id, task.claimed_by, {"from": task.state}
    )
    return TaskChange(after, (audit_event,))


def hear_by_hand(task: Task, now: datetime) -> TaskChange | None:
    """Let a task that waits by hand go on after its answer; None if it does not wait."""
    if task.state != TaskState.AWAITING_INPUT or task.run:
        return None
    after = _update_version(task, now)._replace(state=TaskState.IN_PROGRESS)
    return TaskChange(
        after, (Event(EventKind.TASK_IN_PROGRESS, task.id, "gate", {"from": task.state}),)
    )


def working(task: Task) -> str:
    """Return who works on a task."""
    return f"run {task.run}" if task.run else task.claimed_by


def take_up(task: Task, now: datetime) -> Task:
    """Return the task for a new run that works on it."""
    return _update_version(task, now)._replace(claimed_by="", answered_at=None)


def follow(
    task: Task, run: Run, now: datetime, wanted: TaskState | None = None, actor: str = "gate"
) -> TaskChange | None:
    """Return the task after a change of its run; None if its state stays the same.

    `wanted` is the state that a person, the actor, chose when they ended the run.
    """
    if task.run != run.id:
        return None
    result = run.result if isinstance(run.result, dict) else {}
    if run.state == RunState.COMPLETED:
        # A result that cannot be read does not close a task.
        state = next((one for one in _RESULTS if one == result.get("state")), TaskState.FAILED)
    else:
        state = wanted or _OF_RUNS[run.state]
    # Not an error: otherwise the run could not be written or stopped any more.
    if state not in MOVES[task.state]:
        return None
    after = _update_version(task, now)._replace(
        state=state,
        status=run.reason if run.has_ended else "",
        answered_at=now
        if (task.state, state) == (TaskState.AWAITING_INPUT, TaskState.OPEN)
        else None,
        closed_at=now if state == TaskState.CLOSED else None,
    )
    if run.state == RunState.COMPLETED:
        after = _apply_result(after, result)
    content = {"from": task.state, "run": run.id, "reason": after.status[:_MAX_REASON_LENGTH]}
    return TaskChange(after, (Event(EventKind(f"task.{state}"), task.id, actor, content),))


def _apply_result(task: Task, result: Mapping[str, Any]) -> Task:
    names = ("summary", "details", "status", "branch")
    # A task with too long texts could not be reopened; the run keeps the whole texts.
    texts: dict[str, Any] = {name: str(result.get(name) or "")[:_MAX_TEXT_LENGTH] for name in names}
    return task._replace(confidence=result.get("confidence"), **texts)


def _update_version(task: Task, now: datetime) -> Task:
    return task._replace(version=task.version + 1, updated_at=now)


def _must_be_a_move(task: Task, state: TaskState) -> None:
    if state == task.state:
        raise RefusedError(f"{task.id} is already {state}: gate task show {task.id}")
    if state not in MOVES[task.state]:
        way = "reopen" if task.state in _RESULTS else "show"
        raise RefusedError(
            f"{task.id} is {task.state} and cannot become {state}: gate task {way} {task.id}"
        )


def _must_be_left_to_people(task: Task, caller: Caller) -> None:
    """Refuse an agent that would change a task which waits for a person or is in progress."""
    by_hand = (
        task.state == TaskState.IN_PROGRESS and not task.run and task.claimed_by == caller.actor
    )
    if caller.agent and not caller.verified and task.worked_on and not by_hand:
        waits = "waits for a person" if task.state == TaskState.AWAITING_INPUT else "is in progress"
        raise AgentRefusedError(
            f"{task.id} {waits}, and an agent seems to be at work here "
            f"({caller.agent.because}): agents may propose, people decide"
        )


def format_way(way: Sequence[str]) -> str:
    """Return a path of tasks as text; a long one is cut in the middle."""
    short = way if len(way) <= _MAX_ON_A_WAY else [*way[: _MAX_ON_A_WAY - 2], "…", *way[-2:]]
    return " → ".join(short)


def circle(task_id: str, needs_of: Callable[[str], tuple[str, ...]]) -> list[str]:
    """Return the cycle of needs from a task back to itself; empty without one."""
    ways, seen = [[task_id]], set()
    while ways:
        way = ways.pop()
        for needed in needs_of(way[-1]):
            if needed == task_id:
                return [*way, needed]
            if needed not in seen:
                seen.add(needed)
                ways.append([*way, needed])
    return []
