"""What a person's stay in the session of an ask does to the ask: coming, working, leaving."""

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
    """Somebody takes the session of an ask, and may stay so long."""
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
    """The ask of a run while a person is in its agent's session; None: no deadline has to move."""
    before, clock = ask.deadlines.expires_at, stay(ask.deadlines, turn.started_at, seconds)
    return _move_deadlines(ask, clock, turn, {"before": iso(before)})


def release(ask: Ask, turn: Turn, before: datetime | None, now: datetime) -> Change | None:
    """The same once they have left; None: no deadline has to move."""
    return _move_deadlines(ask, go_away(ask.deadlines, before, now), turn, {})


def _move_deadlines(ask: Ask, clock: Deadlines, turn: Turn, more: dict[str, Any]) -> Change | None:
    if not ask.pending or clock == ask.deadlines:
        return None
    content = {"until": iso(clock.expires_at), "turn": turn.id} | more
    after = ask._replace(deadlines=clock, version=ask.version + 1)
    return Change(after, (Event(EventKind.ASK_HELD, ask.id, turn.by, content),))


def update_visit(ask: Ask, visit: Visit) -> Change:
    """What is known of a sitting now, while it goes on."""
    return Change(ask._replace(version=ask.version + 1), (), visit=visit)


def close_visit(ask: Ask, visit: Visit, actor: str, *, given_up: bool) -> Change:
    """The session given back. Its time may be up with it, or the last attempt has failed."""
    content = {"visit": visit.id, "end": visit.end, "problem": visit.problem}
    event = Event(EventKind.SESSION_CLOSED, ask.id, actor, content)
    at = visit.ended_at
    assert at, "a sitting that was ended has an end"
    if not ask.pending or not (given_up or visit.end == VisitEnd.TIME):
        clock = go_away(ask.deadlines, visit.expires_at, at)
        after = ask._replace(deadlines=clock, version=ask.version + 1)
        # Settled while they were in it, it is handed over now.
        woken = () if ask.pending else wakes(ask)
        return Change(after, (event,), woken, visit=visit)
    if given_up:
        note = f"the last attempt failed: {visit.problem}"
        after = expire(ask, at, FAILED).ask._replace(
            status=AskStatus.CANCELLED, note=note, settled_by="gate"
        )
        told = {"note": note, "via": FAILED, "at": iso(at)}
        change = Change(after, (Event(EventKind.ASK_CANCELLED, ask.id, "gate", told),))
    else:
        change = expire(ask, at, VIA)
    return change._replace(
        events=(event, *change.events),
        wakes=wakes(ask),
        notices=(Notice(NoticeKind.SETTLED, ask.id),),
        visit=visit,
    )
