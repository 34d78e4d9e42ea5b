"""Runs that were answered and that nobody is there to drive on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.owners import run_of
from gatebell.domain.enums import RunState
from gatebell.services.asks.waiters import describe_unheard

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store


def how_it_goes_on(store: Store, ask: Ask) -> str:
    """How the asker or its run goes on after an answer; nothing where it does by itself."""
    if unheard := describe_unheard(store, ask):
        return unheard
    number = run_of(ask.origin.owner)
    run = None if number is None or ask.pending else store.runs.get(number)
    if run is None or is_driven(store, run):
        return ""
    # Imported here: most asks are of no run.
    from gatebell.terminal.runs import describe_idle_run

    return describe_idle_run(run.id)


def is_driven(store: Store, run: Run) -> bool:
    """Whether somebody is there for a run, or will be as soon as it can go on."""
    # Imported here, too: only what is answered for a run needs them.
    from gatebell.app import locks
    from gatebell.domain.runs.identities import parse_identity
    from gatebell.services.runs.claims import is_kept

    if run.has_ended or (
        run.state == RunState.RUNNING and store.machine.lives(parse_identity(run.owner))
    ):
        return True
    if locks.is_worked_at(store.path) or is_kept(store, run):
        return True
    # Whoever was there may have brought it to its end between the two looks.
    now = store.runs.get(run.id)
    return now is None or now.has_ended
