"""The changes of an ask when a person opens, uses and leaves its session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import (
    Change,
    Notice,
    expire,
    iso,
    must_be_pending,
    wakes,
)
from gatebell.domain.asks.deadlines import go_away, stay
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.enums import AskStatus, NoticeKind, VisitEnd
from gatebell.domain.sessions.visits import FAILED, VIA

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.deadlines import Deadlines
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Turn
    from gatebell.domain.sessions.visits import Visit


def open_visit(ask: Ask, visit: Visit, caller: Caller, seconds: float) -> Change:
    """Open a person's visit to the session of an ask, for so many seconds."""
    must_be_pending(ask)
    content = {
        "visit": visit.id,
        "session": visit.conversation,
        "via": caller.via,
        "evidence": caller.evidence,
    }
    event = Event(EventKind.SESSION_OPENED, ask.id, caller.actor, content)
    clock = stay(ask.deadlines, visit.started_at, seconds)
    after = ask._replace(deadlines=clock, version=ask.version + 1)
    return Change(after, (event,), visit=visit)


def hold_open(ask: Ask, turn: Turn, seconds: float) -> Change | None:
    """Move the deadline of a run's ask during a visit; None if it does not have to move."""
    before, clock = ask.deadlines.expires_at, stay(ask.deadlines, turn.started_at, seconds)
    return _move_deadlines(ask, clock, turn, {"before": iso(before)})


def release(ask: Ask, turn: Turn, before: datetime | None, now: datetime) -> Change | None:
    """Move the deadline back after the visit; None if it does not have to move."""
    return _move_deadlines(ask, go_away(ask.deadlines, before, now), turn, {})


def _move_deadlines(ask: Ask, clock: Deadlines, turn: Turn, more: dict[str, Any]) -> Change | None:
    if not ask.pending or clock == ask.deadlines:
        return None
    content = {"until": iso(clock.expires_at), "turn": turn.id} | more
    after = ask._replace(deadlines=clock, version=ask.version + 1)
    return Change(after, (Event(EventKind.ASK_HELD, ask.id, turn.by, content),))


def update_visit(ask: Ask, visit: Visit) -> Change:
    """Update the data of a visit while it goes on."""
    return Change(ask._replace(version=ask.version + 1), (), visit=visit)


def close_visit(ask: Ask, visit: Visit, actor: str, *, given_up: bool) -> Change:
    """Close a visit. This settles the ask if its time is up or the last attempt failed."""
    content = {"visit": visit.id, "end": visit.end, "problem": visit.problem}
    event = Event(EventKind.SESSION_CLOSED, ask.id, actor, content)
    at = visit.ended_at
    assert at, "a closed visit has an end"
    if not ask.pending or not (given_up or visit.end == VisitEnd.TIME):
        clock = go_away(ask.deadlines, visit.expires_at, at)
        after = ask._replace(deadlines=clock, version=ask.version + 1)
        # If the ask was settled during the visit, its owner gets the answer now.
        woken = () if ask.pending else wakes(ask)
        return Change(after, (event,), woken, visit=visit)
    if given_up:
        note = f"the last attempt failed: {visit.problem}"
        after = expire(ask, at, FAILED).ask._replace(
            status=AskStatus.CANCELLED, note=note, settled_by="gate"
        )
        cancelled = {"note": note, "via": FAILED, "at": iso(at)}
        change = Change(after, (Event(EventKind.ASK_CANCELLED, ask.id, "gate", cancelled),))
    else:
        change = expire(ask, at, VIA)
    return change._replace(
        events=(event, *change.events),
        wakes=wakes(ask),
        notices=(Notice(NoticeKind.SETTLED, ask.id),),
        visit=visit,
    )
