"""Deadlines. Whoever is alive enforces them; nobody has to be."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.domain.asks import asks
from gatebell.ports.results import Done

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.store import Store

SECRETS_LIVE = timedelta(hours=24)
_AT_ONCE = 200


def fall_due(store: Store, ask: Ask) -> Ask:
    """The ask after everything that time has done to it by now, and deaths in its session."""
    # Imported here: both modules need what this one says of deadlines.
    from gatebell.services.sessions.lost_visits import close_lost

    return apply_deadlines(store, close_lost(store, ask))


def apply_deadlines(store: Store, ask: Ask) -> Ask:
    """The ask after everything that time alone has done to it by now."""
    while change := asks.fall_due(ask, store.now()):
        result = store.asks.change(change, ask.version)
        ask = change.ask if isinstance(result, Done) else result.current or change.ask
    return ask


def sweep(store: Store, most: int = _AT_ONCE) -> int:
    """Let what is due fall due, oldest first and no more than so many, and erase secrets nobody fetched.

    Visits whose holders died are closed. Says how many asks were due: whoever asks for a page must
    not wait for all of them.
    """
    if store.asks.open_visits() or store.runs.list_joined_turns():
        # Imported here: most inboxes have no open visit.
        from gatebell.services.sessions.lost_visits import close_all_lost

        close_all_lost(store)
    store.asks.erase_secrets(store.now() - SECRETS_LIVE)
    return apply_due(store, most)


def apply_due(store: Store, most: int = _AT_ONCE) -> int:
    """Apply the deadlines that have passed, oldest first and no more than so many; how many."""
    due = store.asks.due(store.now(), most)
    for ask in due:
        apply_deadlines(store, ask)
    return len(due)
