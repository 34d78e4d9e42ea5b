"""Messages about an ask: a person asks back, the asker replies, and the ask stays pending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.asks import Change, Message, Notice, must_be_pending, wakes
from gatebell.domain.asks.owners import run_of
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.enums import NoticeKind
from gatebell.domain.people.logins import client_of
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller


def ask_back(ask: Ask, caller: Caller, text: str, now: datetime) -> Change:
    """Add a person's message to the asker. The ask stays pending."""
    must_be_pending(ask)
    after = ask._replace(asked_back=ask.asked_back + 1, version=ask.version + 1)
    change = _add_message(EventKind.ASK_ASKED_BACK, after, caller, text, now)
    # The agent of a parked run can reply only after the run is driven again.
    is_run = ask.origin.owner.startswith("run:") and ask.origin.session
    return change._replace(wakes=wakes(ask) if is_run else ())


def reply(ask: Ask, caller: Caller, text: str, now: datetime) -> Change:
    """Add the asker's reply. It still receives the messages that it has not read."""
    must_be_pending(ask)
    after = ask._replace(version=ask.version + 1)
    change = _add_message(EventKind.ASK_REPLIED, after, caller, text, now)
    return change._replace(notices=(Notice(NoticeKind.REPLIED, ask.id),))


def _add_message(kind: EventKind, after: Ask, caller: Caller, text: str, now: datetime) -> Change:
    if not text.strip():
        raise UsageError("the message is empty: write a text")
    content = {"text": text, "via": caller.via, "evidence": caller.evidence}
    event = Event(kind, after.id, caller.actor, content)
    message = Message(after.id, caller.actor, kind == EventKind.ASK_REPLIED, text, now)
    return Change(after, (event,), message=message)


def warn_of_silence(ask: Ask) -> str:
    """Return what a person who asks back must know if no agent asks; '' if one does."""
    # A server gives every ask a session, which for a program is only the prefix of its token.
    if ask.origin.session != client_of(ask.origin.session):
        return ""
    return (
        "It was asked by a script or a program, which may not be able to reply: gate ask prints "
        f"your message and ends. If no reply comes: gate answer {ask.id} VALUE --note TEXT"
    )


def has_no_replier(ask: Ask) -> bool:
    """Return whether a flow's own code asks: a gate, a question, or a step in doubt."""
    return run_of(ask.origin.owner) is not None and not ask.origin.session
