"""Deadlines. Whoever is alive enforces them; nobody has to be."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from humangate.domain import asks
from humangate.doors.results import Done

if TYPE_CHECKING:
    from humangate.domain.asks import Ask
    from humangate.doors.store import Store

SECRETS_LIVE = timedelta(hours=24)
_AT_ONCE = 200


def fall_due(store: Store, ask: Ask) -> Ask:
    """The ask after everything that time has done to it by now."""
    while change := asks.fall_due(ask, store.now()):
        result = store.asks.change(change, ask.version)
        ask = change.ask if isinstance(result, Done) else result.current or change.ask
    return ask


def sweep(store: Store, most: int = _AT_ONCE) -> int:
    """Let what is due fall due, oldest first and no more than so many, and erase secrets nobody fetched.

    Says how many there were: whoever asks for a page must not wait for all of them.
    """
    store.asks.erase_secrets(store.now() - SECRETS_LIVE)
    due = store.asks.due(store.now(), most)
    for ask in due:
        fall_due(store, ask)
    return len(due)
