"""Runs of flows, their calls and turns, and every change of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.digests import text_digest
from gatebell.domain.enums import CallName, CallState, Priority, RunState, TaskState
from gatebell.domain.records import NamedTuple
from gatebell.domain.text.display import storable
from gatebell.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask, Change
    from gatebell.domain.people.principals import Caller

ENDED = (RunState.COMPLETED, RunState.STUCK, RunState.FAILED)
DRIVER = "gate"
"""The actor of events when a driver changes a run."""

_MAX_REASON_LENGTH = 4_000
_MAX_TITLE = 1_000


class Run(NamedTuple):
    """One execution of a flow."""

    id: int
    flow: str
    source: str
    """The file with the flow."""
    source_digest: str
    prompt: str
    project: str
    """The folder with the flow, its roles and its rules; never a folder that agents edit.

    Empty in a row of a run that was started from another machine: see `is_unplaced`.
    """
    started_by: str
    """The person who started it."""
    created_at: datetime
    folder: str = ""
    """The folder in which its agents work."""
    root: str = ""
    branch: str = ""
    base: str = ""
    state: RunState = RunState.READY
    reason: str = ""
    """The reason why it waits, or why it ended."""
    error: str = ""
    """The traceback of a failed run."""
    result: Any = None
    agent: str = ""
    """The role that works or waits."""
    stopped_at: str = ""
    """The paths of the calls at which it stopped, with spaces between, for its resumption."""
    ready_at: datetime | None = None
    """A ready run sleeps until then."""
    waiting_since: datetime | None = None
    ended_at: datetime | None = None
    parent: int | None = None
    parent_path: str = ""
    claim: int = 0
    """Rises with every claim, stop and resumption. A process with an older claim cannot write."""
    owner: str = ""
    """The process that drives it, or that keeps it between two drives."""
    lease_until: datetime | None = None
    """The end of the owner's lease; an owner without a lease keeps the run while it lives."""
    crash_count: int = 0
    """The number of drivers in a row that died without progress."""
    task: str = ""
    """The task that it works on."""
    priority: Priority = Priority.NORMAL
    """Of several ready runs, the smallest number goes first."""
    project_key: str = ""
    """The project on every host; empty in runs of older versions."""
    host: str = ""
    """Its home: the host that has its folder, and drives it; empty while it waits in a pool."""
    pool: str = ""
    """The pool whose workers may drive it while it has no host."""

    @property
    def name(self) -> str:
        """The name in owners of asks and subjects of events."""
        return f"run:{self.id}"

    @property
    def title(self) -> str:
        """`feature: Add login`: its flow, and the first line of its prompt without secrets."""
        # Imported here: a driver needs no title.
        from gatebell.domain.text.redaction import hide_secrets

        first = self.prompt.strip()[:_MAX_TITLE].partition("\n")[0].rstrip()
        return f"{self.flow}: {hide_secrets(first)}" if first else self.flow

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def is_unplaced(self) -> bool:
        """Whether it still needs a worker that has a checkout of its project."""
        return not (self.project or self.folder or self.task)

    @property
    def is_kept(self) -> bool:
        """Whether its owner keeps it while it waits; the owner may be dead."""
        return bool(self.owner) and self.lease_until is None


class FlowCall(NamedTuple):
    """One journaled call of a flow."""

    run: int
    path: str
    """`3`, or `4.1.2` for the second call in the first branch of call 4."""
    name: CallName
    label: str
    """The role, question or name of the step."""
    digest: str
    """The digest of its arguments."""
    started_at: datetime
    state: CallState = CallState.OPEN
    """`open`, `waiting` for a person, `held` by one, `recorded` or `failed`."""
    value: Any = None
    error: Any = None
    """`{kind, message}` of a failed call."""
    ask_id: str = ""
    attempt: int = 1
    """Rises only when a person starts it again."""
    asked: int = 0
    """The number of asks that it has opened in this attempt."""
    dangerous: bool = False
    accepted: bool = False
    """A person accepted this record although its arguments have changed."""
    snapshot: str = ""
    """The folder as it was before this call."""
    owner: str = ""
    """The process that began a dangerous step."""
    ended_at: datetime | None = None

    @property
    def over(self) -> bool:
        return self.state in (CallState.RECORDED, CallState.FAILED)

    @property
    def key(self) -> str:
        """A key of this call and attempt, the same after a crash."""
        return f"run-{self.run}/{self.path}/{self.attempt}"


class Turn(NamedTuple):
    """One start of an agent inside a call."""

    id: str
    run: int
    path: str
    number: int
    role: str
    cli: str
    session: str
    sent: str
    started_at: datetime
    fork_of: str = ""
    process: str = ""
    """The process of the agent, written before it begins."""
    by: str = ""
    """The person who joined the session; empty for a turn of the agent alone."""
    ask_id: str = ""
    """The ask whose answer was sent."""
    ended_at: datetime | None = None
    signal: Any = None
    words: str = ""
    offered: Any = None
    """The signal that the agent itself wrote while it worked."""


class RunChange(NamedTuple):
    """A run after a change, with everything that the same transaction must write."""

    run: Run
    calls: tuple[FlowCall, ...] = ()
    turns: tuple[Turn, ...] = ()
    events: tuple[Event, ...] = ()
    asks: tuple[Change, ...] = ()
    """Changes of its asks, each unless that ask has just changed: cancelled or taken."""
    task_state: TaskState | None = None
    """The state for its task when a person ends the run; otherwise the task follows the run."""
    unless_frozen: bool = False
    """Whether nothing is written while everything is frozen."""

    @property
    def actor(self) -> str:
        """The principal that makes this change."""
        return self.events[0].actor if self.events else DRIVER


def event(what: EventKind, run: Run, actor: str, **content: Any) -> Event:
    return Event(what, run.name, actor, content)


def build_started_event(run: Run, caller: Caller, seen: Mapping[str, str] | None = None) -> Event:
    """Return the event of a start; `seen` has the digests of the flow and roles at that time."""
    content = {
        "seen": seen,
        "flow": run.flow,
        "source": run.source_digest,
        "prompt": text_digest(run.prompt),
        "parent": run.parent,
        "at_call": run.parent_path,
        "via": caller.via,
        "evidence": caller.evidence,
    }
    return Event(EventKind.RUN_STARTED, run.name, caller.actor, content)


def keep(run: Run, owner: str) -> Run:
    """Return the run as kept by a process that started or follows it."""
    return run._replace(owner=owner, lease_until=None)


def claim(run: Run, owner: str, lease_until: datetime | None) -> RunChange:
    """Let one process claim the run. Claims have no audit event: they change no result.

    Without a lease the process also keeps the run while it is parked.
    """
    after = run._replace(
        state=RunState.RUNNING, owner=owner, claim=run.claim + 1, lease_until=lease_until, ready_at=None,
        reason="", crash_count=run.crash_count + 1 if run.state == RunState.RUNNING else 0,
    )  # fmt: skip
    return RunChange(after)


def place(run: Run, moved: Run, remarks: Sequence[str]) -> RunChange:
    """Record where a worker found the flow of a run, and made its folder."""
    told = event(
        EventKind.RUN_PLACED, run, DRIVER, host=moved.host, project=moved.project,
        source=moved.source, flow=moved.flow, digest=moved.source_digest, remarks=list(remarks),
    )  # fmt: skip
    return RunChange(moved, events=(told,))


def build_turn_event(run: Run, turn: Turn, role_digest: str) -> Event:
    """Return the event of a turn: the role, its definition then, and the prompt."""
    return event(
        EventKind.TURN_BEGAN, run, DRIVER,
        call=turn.path, turn=turn.id, role=turn.role, role_digest=role_digest,
        session=f"{turn.cli}/{turn.session}", sent=text_digest(turn.sent),
    )  # fmt: skip


def record(
    run: Run, call: FlowCall, value: Any, now: datetime, taken: Change | None = None
) -> RunChange:
    """Record the result of a call; it is never computed again (law 5).

    `taken`: the ask whose answer it is, as taken by this call.
    """
    after = call._replace(state=CallState.RECORDED, value=value, ended_at=now)
    audit_event = event(EventKind.CALL_RECORDED, run, DRIVER, call=call.path, name=call.name)
    return RunChange(run, (after,), events=(audit_event,), asks=(taken,) if taken else ())


def fail(run: Run, call: FlowCall, error: dict[str, str], now: datetime) -> RunChange:
    after = call._replace(state=CallState.FAILED, error=error, ended_at=now)
    audit_event = event(
        EventKind.CALL_FAILED, run, DRIVER, call=call.path, name=call.name, kind=error["kind"]
    )
    return RunChange(run, (after,), events=(audit_event,))


def park(
    run: Run,
    waiting: Sequence[FlowCall],
    asks: Sequence[Ask],
    wake_at: datetime | None = None,
) -> RunChange:
    """Let the run wait for people; a branch may also wait for a time.

    No process has to stay alive for it (law 1).
    """
    agents = [call.label for call in waiting if call.name == CallName.RUN]
    after = run._replace(
        state=RunState.WAITING_HUMAN,
        reason=cut_reason("; ".join(ask.question.prompt for ask in asks)),
        agent=agents[0] if agents else "",
        stopped_at=" ".join(call.path for call in waiting),
        waiting_since=min((ask.opened_at for ask in asks), default=None),
        ready_at=wake_at,
        **_release_unless_kept(run),
    )
    audit_event = event(EventKind.RUN_PARKED, run, DRIVER, calls=[call.path for call in waiting])
    return RunChange(after, events=(audit_event,))


def sleep(run: Run, until: datetime) -> RunChange:
    after = run._replace(
        state=RunState.READY, reason="", agent="", ready_at=until, **_release_unless_kept(run)
    )
    return RunChange(after)


def release(run: Run) -> RunChange:
    """End the drive of a run; any process may go on with it."""
    return RunChange(run._replace(state=RunState.READY, ready_at=None, **_RELEASED))


def put_off(run: Run, reason: str, until: datetime) -> RunChange:
    """End the drive of a run that lost the store; any process may go on with it after a while."""
    after = run._replace(state=RunState.READY, reason=cut_reason(reason), ready_at=until)
    return RunChange(after._replace(**_RELEASED))


def let_go(run: Run) -> RunChange:
    """End the ownership of a process that kept the run between two drives."""
    return RunChange(run._replace(claim=run.claim + 1, **_RELEASED))


def complete(run: Run, result: Any, now: datetime) -> RunChange:
    after = _end_run(run, RunState.COMPLETED, "", now)._replace(result=result)
    return RunChange(after, events=(event(EventKind.RUN_COMPLETED, run, DRIVER),))


def give_up(run: Run, reason: str, path: str, now: datetime) -> RunChange:
    """End the run as stuck, by the flow itself or by a timeout."""
    after = _end_run(run, RunState.STUCK, reason, now)._replace(stopped_at=path)
    return RunChange(after, events=(event(EventKind.RUN_STUCK, run, DRIVER, reason=after.reason),))


def break_down(run: Run, reason: str, traceback: str, path: str, now: datetime) -> RunChange:
    after = _end_run(run, RunState.FAILED, reason, now)._replace(
        error=storable(traceback), stopped_at=path
    )
    return RunChange(after, events=(event(EventKind.RUN_FAILED, run, DRIVER, reason=after.reason),))


def stop(
    run: Run, caller: Caller, reason: str, now: datetime, task_state: TaskState | None = None
) -> RunChange:
    """End the run for a person; it can be resumed at the call where it stopped."""
    if run.has_ended:
        raise RefusedError(f"run {run.id} has already ended ({run.state})")
    after = _end_run(run, RunState.STUCK, reason, now)._replace(
        claim=run.claim + 1, agent=run.agent, stopped_at=run.stopped_at
    )
    content = {"reason": after.reason, "via": caller.via, "evidence": caller.evidence}
    audit_event = Event(EventKind.RUN_STOPPED, run.name, caller.actor, content)
    return RunChange(after, events=(audit_event,), task_state=task_state)


def close_ask(call: FlowCall) -> FlowCall:
    """Return the call without its ask; the next ask gets another number."""
    return call._replace(state=CallState.OPEN, ask_id="", asked=call.asked + 1)


def must_be_ended(run: Run) -> None:
    if not run.has_ended:
        raise RefusedError(
            f"run {run.id} is {run.state}: only a run that has ended can be deleted. "
            f"gate stop {run.id} ends it"
        )


_RELEASED: dict[str, Any] = {"owner": "", "lease_until": None}


def _release_unless_kept(run: Run) -> dict[str, Any]:
    return {} if run.is_kept else _RELEASED


def _end_run(run: Run, state: RunState, reason: str, now: datetime) -> Run:
    return run._replace(
        state=state, reason=cut_reason(reason), ended_at=now, ready_at=None, agent="",
        stopped_at="", **_RELEASED,
    )  # fmt: skip


def cut_reason(text: str) -> str:
    """Return a reason that can be stored and shown."""
    text = storable(text)
    return text if len(text) <= _MAX_REASON_LENGTH else f"{text[:_MAX_REASON_LENGTH]}…"
