"""Apply deadlines. Any command does it; no process has to run for them."""

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
    """Apply passed deadlines to an ask and close its lost visits; return the ask."""
    # Imported here: both modules import this one.
    from gatebell.services.sessions.lost_visits import close_lost

    return apply_deadlines(store, close_lost(store, ask))


def apply_deadlines(store: Store, ask: Ask) -> Ask:
    """Apply passed deadlines to an ask; return the ask."""
    while change := asks.fall_due(ask, store.now()):
        result = store.asks.change(change, ask.version)
        ask = change.ask if isinstance(result, Done) else result.current or change.ask
    return ask


def sweep(store: Store, most: int = _AT_ONCE) -> int:
    """Apply due deadlines, oldest first, at most `most`; close lost visits; erase old secrets.

    Returns how many asks were due. The limit keeps a page from waiting for all of them.
    """
    if store.asks.open_visits() or store.runs.list_joined_turns():
        # Imported here: most inboxes have no open visit.
        from gatebell.services.sessions.lost_visits import close_all_lost

        close_all_lost(store)
    store.asks.erase_secrets(store.now() - SECRETS_LIVE)
    return apply_due(store, most)


def apply_due(store: Store, most: int = _AT_ONCE) -> int:
    """Apply at most `most` passed deadlines, oldest first; return how many."""
    due = store.asks.due(store.now(), most)
    for ask in due:
        apply_deadlines(store, ask)
    return len(due)
