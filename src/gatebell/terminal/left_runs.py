"""Find runs that are ready after an answer but that no process drives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.gone_askers import describe_kept_answer
from gatebell.domain.asks.owners import run_of
from gatebell.domain.enums import RunState

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.backends.backend import Backend
    from gatebell.ports.store import Store


def describe_next_step(backend: Backend, ask: Ask) -> str:
    """Return how to continue the asker or its run after an answer; '' if it goes on by itself."""
    if not ask.pending and backend.is_waiter_gone(ask):
        return describe_kept_answer(ask)
    if (store := backend.store) is None:
        # Only the machine of a run knows which process drives it.
        return ""
    number = run_of(ask.origin.owner)
    run = None if number is None or ask.pending else store.runs.get(number)
    if run is None or is_driven(store, run):
        return ""
    if run.host not in ("", store.machine.host):
        return f"Run {run.id} is at home on host {run.host}, which has its folder."
    # Imported here: most asks do not belong to a run.
    from gatebell.terminal.runs import describe_idle_run

    return describe_idle_run(run)


def is_driven(store: Store, run: Run) -> bool:
    """Return whether a process drives a run, or will do so when it is ready."""
    # Imported here, too: only an answer for a run needs them.
    from gatebell.domain.runs.identities import parse_identity
    from gatebell.services import members
    from gatebell.services.runs.claims import is_kept

    if run.has_ended or (
        run.state == RunState.RUNNING and store.machine.lives(parse_identity(run.owner))
    ):
        return True
    if members.has_worker(store, run) or is_kept(store, run):
        return True
    # The run may have ended between the two reads.
    now = store.runs.get(run.id)
    return now is None or now.has_ended
