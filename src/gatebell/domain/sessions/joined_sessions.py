"""A person in the session of a run's agent: which session to open, joining and leaving it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks import owners
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.enums import AgentCli, AskKind, CallName, SignalStatus
from gatebell.domain.runs import journals
from gatebell.domain.runs.runs import RunChange, Turn
from gatebell.domain.runs.signals import to_json
from gatebell.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import FlowCall, Run
    from gatebell.domain.runs.signals import Signal


class AgentSession(NamedTuple):
    """The session that a person opens for an ask of a run."""

    last: Turn
    """Its newest turn."""
    settles: bool
    """Whether a signal in it settles the ask, because this agent asked."""


def path_of(ask: Ask) -> str:
    """Return the path of the call that waits for an ask."""
    return ask.origin.owner.partition("/")[2]


class Leaving(NamedTuple):
    """A person's turn in an agent's session, as it is written at its end."""

    turn: Turn
    event: Event


def find_session(ask: Ask, calls: Sequence[FlowCall], turns: Sequence[Turn]) -> AgentSession:
    """Return the session of the agent that asks; for other asks, the last session of the run."""
    path, asking = path_of(ask), is_agents(ask, calls)
    mine = [turn for turn in turns if turn.path == path] if asking else turns
    # A session from a fork belongs to the other run.
    own = [turn for turn in mine if turn.session and not journals.is_carried(turn)]
    if not own:
        no_session = any(turn.cli == AgentCli.PYTHON for turn in mine)
        why = "a Python function has no session" if no_session else "no agent has worked in it yet"
        raise NotFoundError(
            f"there is no session to open in run {run_of(ask)}: {why}. "
            f"Answer with: gate answer {ask.id}"
        )
    return AgentSession(max(own, key=lambda turn: (turn.started_at, turn.number)), asking)


def is_agents(ask: Ask, calls: Sequence[FlowCall]) -> bool:
    """Return whether an agent of the run asks, so that its signal can be the answer."""
    return any(
        call.path == path_of(ask)
        and call.name == CallName.RUN
        # The call may not have the id of a new ask yet.
        and call.ask_id in ("", ask.id)
        and not call.over
        and bool(ask.origin.session)
        and ask.question.kind in (AskKind.TEXT, AskKind.CHOICE)
        for call in calls
    )


def find_prompted_turn(turn: Turn, turns: Sequence[Turn]) -> Turn:
    """Return the turn with the last prompt of a joined session: it names the signal file."""
    prompted = [
        one
        for one in turns
        if one.sent and (one.cli, one.session, one.role) == (turn.cli, turn.session, turn.role)
    ]
    return max(prompted, key=lambda one: (one.started_at, one.number), default=turn)


def names_of(turn: Turn, turns: Sequence[Turn]) -> tuple[str, ...]:
    """Return every CLI/SESSION under which the agent of this turn's session may ask."""
    marks = [turn.id]
    if turn.session:
        marks = [one.id for one in turns if (one.cli, one.session) == (turn.cli, turn.session)]
    named = (f"agent/{turn.session}",) if turn.session else ()
    return (f"{turn.cli}/{turn.session}", *named, *(f"turn/{mark}" for mark in marks))


def run_of(ask: Ask) -> int:
    """Return the run that waits for an ask."""
    number = owners.run_of(ask.origin.owner)
    if number is None:
        raise UsageError(f"{ask.id} does not belong to a run: answer it with gate answer {ask.id}")
    return number


def join(run: Run, turn: Turn, caller: Caller) -> RunChange:
    """Record that a person joined the session."""
    content = {
        "turn": turn.id,
        "call": turn.path,
        "session": f"{turn.cli}/{turn.session}",
        "ask": turn.ask_id,
        "via": caller.via,
        "evidence": caller.evidence,
    }
    event = Event(EventKind.SESSION_JOINED, run.name, caller.actor, content)
    return RunChange(run, turns=(turn,), events=(event,))


def leave(
    run: Run, turn: Turn, signal: Signal | None, actor: str, now: datetime, reason: str = ""
) -> Leaving:
    """Return the closed turn, with the agent's signal that counts."""
    kept = to_json(signal) if signal else None
    closed = turn._replace(ended_at=now, signal=kept)
    content = {"turn": turn.id, "status": signal.status if signal else "", "reason": reason}
    return Leaving(closed, Event(EventKind.SESSION_LEFT, run.name, actor, content))


def settles(signal: Signal | None) -> bool:
    """Return whether the wait is over: the agent reported and does not need a person."""
    return signal is not None and signal.status != SignalStatus.NEEDS_HUMAN
