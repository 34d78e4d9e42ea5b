"""Messages about an ask: people ask back, the asker replies, and nothing is settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks import messages
from gatebell.domain.asks.messages import has_no_replier
from gatebell.domain.asks.owners import run_of
from gatebell.domain.text.display import storable
from gatebell.errors import UsageError
from gatebell.ports.results import Done
from gatebell.services.asks.apply_deadlines import fall_due
from gatebell.services.asks.create_ask import get

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask, Change
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store


def ask_back(store: Store, ask_id: str, caller: Caller, text: str) -> Ask:
    """Send the asker a message; the ask stays pending. UsageError if nothing could reply."""
    ask = get(store, ask_id)
    if ask.pending and has_no_replier(ask):
        number = run_of(ask.origin.owner)
        raise UsageError(
            f"{ask.id} is asked by the code of run {number}, which cannot reply: send it to the "
            f"last agent (gate continue {number}), or with your answer (gate answer {ask.id} …, "
            "--note TEXT)"
        )
    return _say(store, ask_id, caller, text, messages.ask_back)


def reply(store: Store, ask_id: str, caller: Caller, text: str) -> Ask:
    """Add the asker's reply, shown to people below the question."""
    return _say(store, ask_id, caller, text, messages.reply)


def _say(
    store: Store,
    ask_id: str,
    caller: Caller,
    text: str,
    say: Callable[[Ask, Caller, str, datetime], Change],
) -> Ask:
    while True:
        ask = fall_due(store, get(store, ask_id))
        change = say(ask, caller, storable(text), store.now())
        if isinstance(store.asks.change(change, ask.version), Done):
            return change.ask
