"""Close visits whose holders died.

No process reports their end, so each command that reads asks closes them. Until then the deadline
of the ask leaves the visitor hours of time, and the asker waits for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.owners import run_of
from gatebell.domain.enums import AskKind
from gatebell.domain.sessions import changes
from gatebell.domain.sessions.visits import LOST
from gatebell.services.sessions import presence

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Turn
    from gatebell.domain.sessions.visits import Visit
    from gatebell.ports.store import Store


def is_visited(store: Store, ask: Ask) -> bool:
    """Return whether a visit in the session of an ask is open; it may be lost at any moment."""
    return bool(open_visits(store, ask))


def open_visits(store: Store, ask: Ask) -> list[Visit | Turn]:
    """Return the visits in the session of an ask that are not closed, lost or not."""
    return [*_visits(store, ask), *_turns(store, ask)]


def open_visits_of_run(store: Store, run_id: int) -> list[Visit | Turn]:
    """Return the visits in the sessions of a run that are not closed, lost or not."""
    found = [(one, store.asks.get(one.ask_id)) for one in store.asks.open_visits()]
    visits = [one for one, ask in found if ask and run_of(ask.origin.owner) == run_id]
    return [*visits, *(turn for turn in store.runs.list_joined_turns() if turn.run == run_id)]


def close_lost(store: Store, ask: Ask) -> Ask:
    """Close the lost visit of an ask, if there is one; return the ask."""
    # Read after the ask: if the holder leaves in between, the version of the ask does not match.
    visits, turns = _visits(store, ask), _turns(store, ask)
    for visit in visits:
        _close_if_lost(store, ask, visit)
    take_back_lost(store, turns)
    return (store.asks.get(ask.id) or ask) if visits or turns else ask


def close_all_lost(store: Store) -> None:
    """Close the lost visits of all asks."""
    for visit in store.asks.open_visits():
        if ask := store.asks.get(visit.ask_id):
            close_lost(store, ask)
    take_back_lost(store, store.runs.list_joined_turns())


def _close_if_lost(store: Store, ask: Ask, visit: Visit) -> None:
    """Close a lost visit in the session of an ask; the agent's log keeps the conversation."""
    if presence.holds(store, visit):
        return
    lost = visit._replace(ended_at=store.now(), end=LOST)
    # After a conflict, the next look closes it.
    store.asks.change(changes.close_visit(ask, lost, "gate", given_up=False), ask.version)
    store.machine.leave_visit(visit.id)


def take_back_lost(store: Store, turns: list[Turn]) -> None:
    """Take back the sessions of runs whose visitors died."""
    lost = [turn for turn in turns if not presence.holds(store, turn)]
    if lost:
        # Imported here: commands that list asks run this, and seldom need it.
        from gatebell.services.sessions import run_session

        for turn in lost:
            run_session.take_back(store, turn)


def _visits(store: Store, ask: Ask) -> list[Visit]:
    if ask.question.kind != AskKind.SESSION:
        return []
    return [one for one in store.asks.open_visits() if one.ask_id == ask.id]


def _turns(store: Store, ask: Ask) -> list[Turn]:
    if run_of(ask.origin.owner) is None:
        return []
    return [turn for turn in store.runs.list_joined_turns() if turn.ask_id == ask.id]
