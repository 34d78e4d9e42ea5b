"""Notes: messages of agents to people that need no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.records import NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.people.principals import Caller

MAX_NOTE_CHARACTERS = 8_000


class Note(NamedTuple):
    """One note of an agent."""

    author: str
    project: str
    text: str
    sent_at: datetime


def build_sent_event(note: Note, caller: Caller) -> Event:
    return Event(
        EventKind.NOTE_SENT, note.author, caller.actor, {"text": note.text, "via": caller.via}
    )
