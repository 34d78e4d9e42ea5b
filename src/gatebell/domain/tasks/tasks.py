"""Tasks: the items of a backlog, their seven states, and how they follow the runs that work on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.asks import parse_priority
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
    """What becomes of a task that nobody answered in time."""

    DEFER = "defer"
    FAIL = "fail"


class TaskType(StrEnum):
    """What a task is."""

    TASK = "task"
    BUG = "bug"
    CHORE = "chore"


class TaskSize(StrEnum):
    """How much work a task is."""

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
"""From each state, the states that may follow; there are no others."""
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
_OTHER_WORDS = {"critical": Priority.URGENT, "medium": Priority.NORMAL}
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
    """The person who made it, or who started the agent that did."""
    description: str = ""
    role: str = ""
    """Whose work it is; empty: the project's default."""
    priority: Priority = Priority.NORMAL
    """0 is critical, 4 the backlog."""
    size: TaskSize = TaskSize.MEDIUM
    type: TaskType = TaskType.TASK
    parent: str = ""
    needs: tuple[str, ...] = ()
    """The tasks that must be closed before it."""
    test_command: str = ""
    test_from: str = ""
    """The principal that named the test command; an agent's is run only once a person allows it."""
    state: TaskState = TaskState.OPEN
    status: str = ""
    """How far it is, or why it ended, in words."""
    summary: str = ""
    details: str = ""
    confidence: float | None = None
    """How sure its agent was of the result, from 0 to 1."""
    run: int = 0
    """The run that works on it, or did last."""
    goes_on_from: int = 0
    """The earlier run whose folder the next one starts with."""
    claimed_by: str = ""
    """Whoever works on it without a run."""
    answered_at: datetime | None = None
    """A person has answered, and nobody has taken it up since."""
    branch: str = ""
    """Where the work stands once it is closed."""
    closed_at: datetime | None = None
    answer_within_seconds: float | None = None
    """How long its questions wait; None: as long as the project says."""
    on_timeout: str = ""
    """`fail` or `defer`, when nobody answers in time; empty: what the project says."""
    unmet: int = 0
    """How many of those it needs are not closed; kept by the store."""
    version: int = 1
    more: Mapping[str, Any] = {}
    """What an imported backlog said beyond this."""

    @property
    def ready(self) -> bool:
        """Nothing stands in the way of working on it."""
        return self.state == TaskState.OPEN and not self.unmet

    @property
    def worked_on(self) -> bool:
        """A run or somebody by hand has it now, or waits with it for a person."""
        return self.state in (TaskState.IN_PROGRESS, TaskState.AWAITING_INPUT) or (
            self.state == TaskState.OPEN and self.run > 0
        )


class TaskChange(NamedTuple):
    """A task after a step, and what is told of it in the same transaction."""

    task: Task
    events: tuple[Event, ...] = ()


def parse_task_priority(given: str | int) -> Priority:
    """`critical`, `high`, `medium`, `low`, `backlog`, P0 … P4, or 0 (most urgent) to 4."""
    text = str(given).strip().lower()
    number = text.removeprefix("p") if text[1:].isdecimal() else text
    try:
        return _OTHER_WORDS[number] if number in _OTHER_WORDS else parse_priority(number)
    except UsageError:
        raise UsageError(
            f"{inert_line(text, 40)!r} is no priority: write critical, high, normal, low or "
            "backlog, or P0 to P4"
        ) from None


def check_task(task: Task) -> Task:
    """The task, if everything in it may stand there."""
    if not task.title.strip():
        raise UsageError("a task needs a title: gate task create TITLE")
    if len(task.title) > _MAX_TITLE_LENGTH or "\n" in task.title:
        raise UsageError(
            f"a title is one line of at most {_MAX_TITLE_LENGTH} characters: the rest is its "
            "description"
        )
    for name in ("description", "test_command", "summary", "details", "status"):
        if len(getattr(task, name)) > _MAX_TEXT_LENGTH:
            raise UsageError(
                f"the {name.replace('_', ' ')} is longer than {_MAX_TEXT_LENGTH} signs"
            )
    for name, known in _CHOICES.items():
        if (given := getattr(task, name)) not in known:
            ways = ", ".join(filter(None, known))
            raise UsageError(f"{inert_line(given, 40)!r} is no {name.replace('_', ' ')}: {ways}")
    if task.priority not in list(Priority):
        raise UsageError(f"{task.priority} is no priority: 0 is critical, 4 the backlog")
    within = task.answer_within_seconds
    if within is not None and not 0 < within < _MAX_WAIT_SECONDS:
        raise UsageError(f"an answer cannot be waited for {within:g} seconds: 90s, 5m, 2h, 3d …")
    if len(task.needs) > _MAX_NEEDS:
        raise UsageError(f"a task needs at most {_MAX_NEEDS} others")
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
    """What a person or agent wrote into a task; never its state."""
    _must_be_left_to_people(task, caller)
    if task.test_command != after.test_command and is_person(task.test_from):
        # It stands between an agent's work and its end: no agent takes it away.
        must_be_a_person(caller, f"changes the test command of {task.id}, which a person named")
    names = [name for name in Task._fields if getattr(task, name) != getattr(after, name)]
    content = {"changed": names, "via": caller.via, "evidence": caller.evidence}
    told = Event(EventKind.TASK_CHANGED, task.id, caller.actor, content)
    return TaskChange(check_task(_next(after, now)), (told,))


def move(
    task: Task, state: TaskState, caller: Caller, now: datetime, reason: str = "", **also: Any
) -> TaskChange:
    """A person or agent brings a task into another state by hand."""
    _must_be_left_to_people(task, caller)
    _must_be_a_move(task, state)
    after = _next(task, now)._replace(
        state=state, status=reason, answered_at=None, closed_at=now if state == TaskState.CLOSED else None,
        **also,
    )  # fmt: skip
    content = {"from": task.state, "reason": reason, "via": caller.via, "evidence": caller.evidence}
    return TaskChange(
        check_task(after), (Event(EventKind(f"task.{state}"), task.id, caller.actor, content),)
    )


def claim(task: Task, caller: Caller, now: datetime) -> TaskChange:
    """Somebody works on it by hand."""
    if task.worked_on:
        raise RefusedError(f"{task.id} is worked on already: {working(task)}")
    if task.unmet:
        raise RefusedError(
            f"{task.id} needs {', '.join(task.needs)} first: gate task show {task.id}"
        )
    return move(task, TaskState.IN_PROGRESS, caller, now, claimed_by=caller.actor, run=0)


def ask_by_hand(task: Task, now: datetime) -> TaskChange:
    """Whoever works on it by hand asks a person; what a run works on asks by itself."""
    if task.state != TaskState.IN_PROGRESS or task.run:
        raise RefusedError(
            f"{task.id} is {task.state}: only who has claimed it asks for it (gate task claim)"
        )
    after = _next(task, now)._replace(state=TaskState.AWAITING_INPUT)
    told = Event(EventKind.TASK_AWAITING_INPUT, task.id, task.claimed_by, {"from": task.state})
    return TaskChange(after, (told,))


def hear_by_hand(task: Task, now: datetime) -> TaskChange | None:
    """What was asked by hand is settled: whoever claimed it goes on; None: nobody waits."""
    if task.state != TaskState.AWAITING_INPUT or task.run:
        return None
    after = _next(task, now)._replace(state=TaskState.IN_PROGRESS)
    return TaskChange(
        after, (Event(EventKind.TASK_IN_PROGRESS, task.id, "gate", {"from": task.state}),)
    )


def working(task: Task) -> str:
    """Who has it."""
    return f"run {task.run}" if task.run else task.claimed_by


def take_up(task: Task, now: datetime) -> Task:
    """The task in the hands of a run that is being made."""
    return _next(task, now)._replace(claimed_by="", answered_at=None)


def follow(
    task: Task, run: Run, now: datetime, wanted: TaskState | None = None, actor: str = "gate"
) -> TaskChange | None:
    """The task after a step of its run; None: it is as it was, or a person has moved it away.

    `wanted` is where a person, the actor, brings it who ends the run.
    """
    if task.run != run.id:
        return None
    result = run.result if isinstance(run.result, dict) else {}
    if run.state == RunState.COMPLETED:
        # Nothing is closed by a result that cannot be read.
        state = next((one for one in _RESULTS if one == result.get("state")), TaskState.FAILED)
    else:
        state = wanted or _OF_RUNS[run.state]
    # Never refused: a run whose task cannot follow could not be written any more, nor be stopped.
    if state not in MOVES[task.state]:
        return None
    after = _next(task, now)._replace(
        state=state,
        status=run.reason if run.has_ended else "",
        answered_at=now
        if (task.state, state) == (TaskState.AWAITING_INPUT, TaskState.OPEN)
        else None,
        closed_at=now if state == TaskState.CLOSED else None,
    )
    if run.state == RunState.COMPLETED:
        after = _with_result(after, result)
    content = {"from": task.state, "run": run.id, "reason": after.status[:_MAX_REASON_LENGTH]}
    return TaskChange(after, (Event(EventKind(f"task.{state}"), task.id, actor, content),))


def _with_result(task: Task, result: Mapping[str, Any]) -> Task:
    names = ("summary", "details", "status", "branch")
    # A task that is longer than it may be could not be reopened; the run keeps all of it.
    texts: dict[str, Any] = {name: str(result.get(name) or "")[:_MAX_TEXT_LENGTH] for name in names}
    return task._replace(confidence=result.get("confidence"), **texts)


def _next(task: Task, now: datetime) -> Task:
    return task._replace(version=task.version + 1, updated_at=now)


def _must_be_a_move(task: Task, state: TaskState) -> None:
    if state == task.state:
        raise RefusedError(f"{task.id} is {state} already: gate task show {task.id}")
    if state not in MOVES[task.state]:
        way = "reopen" if task.state in _RESULTS else "show"
        raise RefusedError(
            f"{task.id} is {task.state}, and cannot become {state}: gate task {way} {task.id}"
        )


def _must_be_left_to_people(task: Task, caller: Caller) -> None:
    """What waits for a person, or is in a run's hands, an agent leaves as it is."""
    by_hand = (
        task.state == TaskState.IN_PROGRESS and not task.run and task.claimed_by == caller.actor
    )
    if caller.agent and not caller.verified and task.worked_on and not by_hand:
        waits = "waits for a person" if task.state == TaskState.AWAITING_INPUT else "is worked on"
        raise AgentRefusedError(
            f"{task.id} {waits}, and an agent seems to be at work here "
            f"({caller.agent.because}): agents may propose, people decide"
        )


def way_in_words(way: Sequence[str]) -> str:
    """The tasks on a way; of a long one its beginning and its end."""
    short = way if len(way) <= _MAX_ON_A_WAY else [*way[: _MAX_ON_A_WAY - 2], "…", *way[-2:]]
    return " → ".join(short)


def circle(task_id: str, needs_of: Callable[[str], tuple[str, ...]]) -> list[str]:
    """The way from a task over those it needs back to itself; empty: there is none."""
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
