"""Send people a text or a signal without waiting for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.asks import Notice, settled_sentence
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.enums import NoticeKind, SignalStatus
from gatebell.domain.notifications.notes import MAX_NOTE_CHARACTERS, Note, build_sent_event
from gatebell.domain.runs.signals import as_given
from gatebell.domain.sessions.joined_sessions import is_agents
from gatebell.domain.text.display import storable
from gatebell.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Origin
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Turn
    from gatebell.domain.runs.signals import Signal
    from gatebell.ports.store import Store


def tell(store: Store, origin: Origin, caller: Caller, text: str) -> Note:
    """Leave a note that the inbox shows."""
    text = storable(text).strip()
    if not text or len(text) > MAX_NOTE_CHARACTERS:
        raise UsageError(
            f"expected a note of 1 to {MAX_NOTE_CHARACTERS} characters, got {len(text)}"
        )
    note = Note(origin.agent, origin.project, text, store.now())
    store.notes.add(note, [build_sent_event(note, caller)], [Notice(NoticeKind.NOTE, "")])
    return note


def offer(store: Store, turn_id: str, given: Signal) -> str:
    """Keep an agent's signal until its turn ends; return the reply to the agent."""
    kept = store.runs.offer(turn_id, as_given(given))
    turn = store.runs.turn(turn_id)
    if not kept:
        raise RefusedError(_too_late(store, turn))
    if turn and turn.by:
        return _tell_in_joined(store, turn, given)
    asked = (
        " A person is asked, and the answer is sent to you."
        if given.status == SignalStatus.NEEDS_HUMAN
        else ""
    )
    return f"Recorded: {given.status}.{asked} End your turn now; a later signal replaces this one."


def _too_late(store: Store, turn: Turn | None) -> str:
    run = store.runs.get(turn.run) if turn else None
    if run and run.has_ended:
        return (
            f"run {run.id} has ended ({run.state}: {run.reason}), so this signal does not count, "
            f"now or later. Tell the person: gate resume {run.id} continues the run"
        )
    ask = store.asks.get(turn.ask_id) if turn and turn.by and not turn.ended_at else None
    if ask:
        return f"{settled_sentence(ask)}. So this signal does not count: tell the person"
    return "your turn is over, so this signal does not count: its run has continued without it"


def _tell_in_joined(store: Store, turn: Turn, given: Signal) -> str:
    """Return the reply to a signal in a session that a person has joined."""
    ask = store.asks.get(turn.ask_id)
    if ask and is_agents(ask, store.runs.calls(turn.run)):
        return f"Recorded: {given.status}. It counts when the person leaves this session."
    return (
        f"Passed on as a proposal: {given.status}. It decides nothing: only a person decides "
        f"{turn.ask_id}, who is asked when they leave this session. Tell them so."
    )


def signal(store: Store, origin: Origin, caller: Caller, status: str, summary: str) -> None:
    """Keep a note and an event of an agent's report."""
    if not status.strip():
        raise UsageError("a signal needs a status, for example DONE or NEEDS_HUMAN")
    text = f"{storable(status)[:100]}: {storable(summary)}"[:MAX_NOTE_CHARACTERS]
    note = Note(origin.agent, origin.project, text.removesuffix(": "), store.now())
    content = {"status": status, "summary": summary, "via": caller.via}
    event = Event(EventKind.AGENT_SIGNALLED, origin.session or origin.agent, caller.actor, content)
    store.notes.add(note, [event], [])
