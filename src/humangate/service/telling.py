"""Telling people something without waiting for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humangate.domain.asks import Notice
from humangate.domain.audit import Event
from humangate.domain.display import storable
from humangate.domain.notes import MAX_NOTE_CHARACTERS, Note, said
from humangate.domain.signals import NEEDS_HUMAN, as_given
from humangate.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from humangate.domain.asks import Origin
    from humangate.domain.principals import Caller
    from humangate.domain.signals import Signal
    from humangate.doors.store import Store


def tell(store: Store, origin: Origin, caller: Caller, text: str) -> Note:
    """Leave a note that the inbox shows."""
    text = storable(text).strip()
    if not text or len(text) > MAX_NOTE_CHARACTERS:
        raise UsageError(f"a note has 1 to {MAX_NOTE_CHARACTERS} characters")
    note = Note(origin.agent, origin.project, text, store.now())
    store.notes.add(note, [said(note, caller)], [Notice("note", "")])
    return note


def offer(store: Store, turn_id: str, given: Signal) -> str:
    """Keep what an agent reports in a turn of a run, until the turn ends; what to tell it."""
    if not store.runs.offer(turn_id, as_given(given)):
        raise RefusedError(
            "your turn is over, so this signal reaches nobody: its run has gone on without it"
        )
    turn = store.runs.turn(turn_id)
    if turn and turn.by:
        return f"Recorded: {given.status}. It counts when the person leaves this session."
    asked = (
        " A person is asked, and the answer is sent to you." if given.status == NEEDS_HUMAN else ""
    )
    return f"Recorded: {given.status}.{asked} End your turn now; a later signal replaces this one."


def signal(store: Store, origin: Origin, caller: Caller, status: str, summary: str) -> None:
    """Keep what an agent reports of its work."""
    if not status.strip():
        raise UsageError("a signal has a status, for example DONE or NEEDS_HUMAN")
    text = f"{storable(status)[:100]}: {storable(summary)}"[:MAX_NOTE_CHARACTERS]
    note = Note(origin.agent, origin.project, text.removesuffix(": "), store.now())
    content = {"status": status, "summary": summary, "via": caller.via}
    event = Event("agent.signalled", origin.session or origin.agent, caller.actor, content)
    store.notes.add(note, [event], [])
