"""Messages about an ask: people ask back, the asker replies, and nothing is settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks import messages
from gatebell.domain.asks.messages import has_no_replier
from gatebell.domain.asks.owners import run_of
from gatebell.domain.audit.events import EventKind
from gatebell.domain.text.display import storable
from gatebell.errors import UsageError
from gatebell.ports.results import Done
from gatebell.services.asks.apply_deadlines import fall_due
from gatebell.services.asks.create_ask import get, must_be_linked

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask, Change
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store


def ask_back(store: Store, ask_id: str, caller: Caller, text: str, update: str = "") -> Ask:
    """Send the asker a message; the ask stays pending. UsageError if nothing could reply.

    Args:
        update: the key of the chat's update in the caller's evidence; it is sent once
    """
    ask = get(store, ask_id)
    if ask.pending and has_no_replier(ask):
        number = run_of(ask.origin.owner)
        raise UsageError(
            f"{ask.id} is asked by the code of run {number}, which cannot reply: send it to the "
            f"last agent (gate continue {number}), or with your answer (gate answer {ask.id} …, "
            "--note TEXT)"
        )
    return _say(store, ask_id, caller, text, messages.ask_back, update)


def is_sent(store: Store, ask_id: str, update: str) -> bool:
    """Return whether the message of a chat's update was sent; its event says so."""
    return any(
        entry.event.kind == EventKind.ASK_ASKED_BACK
        and entry.event.content.get("evidence", {}).get("update") == update
        for entry in store.audit.of_subject(ask_id)
        if not entry.erased
    )


def reply(store: Store, ask_id: str, caller: Caller, text: str) -> Ask:
    """Add the asker's reply, shown to people below the question."""
    return _say(store, ask_id, caller, text, messages.reply)


def _say(
    store: Store,
    ask_id: str,
    caller: Caller,
    text: str,
    say: Callable[[Ask, Caller, str, datetime], Change],
    update: str = "",
) -> Ask:
    while True:
        ask = fall_due(store, get(store, ask_id))
        must_be_linked(store, caller)
        # The event is of the same transaction, which is written only if the ask is as it was here.
        if update and is_sent(store, ask_id, update):
            return ask
        change = say(ask, caller, storable(text), store.now())._replace(chat_link=caller.chat_link)
        if isinstance(store.asks.change(change, ask.version), Done):
            return change.ask
