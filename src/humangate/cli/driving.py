"""Driving a run from the command line: here, or by a worker; waiting with it for people."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from humangate import upkeep, wiring
from humangate.cli import runs_screen
from humangate.cli.flow_output import shown
from humangate.cli.following import show_line, show_nothing
from humangate.cli.screen import print_json
from humangate.service.sweeping import fall_due
from humangate.terminal.runs import nobody_works, pending_asks

if TYPE_CHECKING:
    from datetime import datetime

    from humangate.cli.following import Show
    from humangate.domain.runs import Run
    from humangate.doors.store import Store
    from humangate.service.driving import Driver

_LOOK_EVERY_SECONDS = 1.0


def go_on(store: Store, run: Run, *, detach: bool, as_json: bool, from_now: bool) -> int:
    """Drive a run here until it ends, or leave that to a worker; returns the exit code."""
    if detach:
        return _leave(store, run, as_json)
    code = follow(store, run.id, show_nothing if as_json else show_line, from_now=from_now)
    run = runs_screen.find(store, run.id)
    if as_json:
        print_json(runs_screen.document(store, run))
    elif code != runs_screen.INTERRUPTED:
        print("\n".join(runs_screen.status_lines(store, run, store.now(), is_worked_at=True)))
    return code


def _leave(store: Store, run: Run, as_json: bool) -> int:
    if as_json:
        print_json(runs_screen.document(store, run))
    elif run.state == "waiting_human":
        print(f"Run {run.id} waits for a person: gate status {run.id}")
    elif run.state == "running" or upkeep.is_worked_at(store.path):
        print(f"Run {run.id} goes on in the background: gate watch {run.id}")
    else:
        print(f"Run {run.id} is ready.")
        print(nobody_works(run.id))
    return 0


def follow(
    store: Store,
    number: int,
    show: Show,
    *,
    from_now: bool,
) -> int:
    """Show a run until it ends, and drive it whenever it can go on and nobody else takes it."""
    # Imported here: only whoever drives loads flows.
    import gc

    # Commands do without it, but this may last for days, and flows are anybody's code.
    gc.enable()
    driver = wiring.flow_driver(store)
    standing_by = upkeep.stand_by(store.path, number)
    try:
        with shown(number, show, from_now=from_now):
            _drive_until_ended(store, number, driver)
    except KeyboardInterrupt:
        print(f"\n{interrupted(store, number)}", file=sys.stderr)
        return runs_screen.INTERRUPTED
    finally:
        os.close(standing_by)
    return runs_screen.EXIT_CODES[runs_screen.find(store, number).state]


def _drive_until_ended(store: Store, number: int, driver: Driver) -> None:
    from humangate.service.claiming import Abandoned

    abandoned = Abandoned(store, driver.is_driving)
    bell = store.bell()
    try:
        while not (run := runs_screen.find(store, number)).ended:
            if is_due(run, store.now()) or any(one.id == number for one in abandoned.find()):
                driver.drive(run)
            else:
                for ask in pending_asks(store, run):
                    fall_due(store, ask)
                bell.wait(_patience(run, store.now()))
    finally:
        bell.close()


def is_due(run: Run, now: datetime) -> bool:
    """Whether it can go on at once."""
    if run.state == "ready":
        return run.ready_at is None or run.ready_at <= now
    return run.state == "waiting_human" and run.ready_at is not None and run.ready_at <= now


def _patience(run: Run, now: datetime) -> float:
    if run.ready_at is None:
        return _LOOK_EVERY_SECONDS
    return min(_LOOK_EVERY_SECONDS, max(0.005, (run.ready_at - now).total_seconds()))


def interrupted(store: Store, number: int) -> str:
    """What becomes of a run that somebody stops looking at."""
    run = runs_screen.find(store, number)
    if run.ended:
        return runs_screen.ended_line(run)
    if run.state == "running":
        return f"Run {number} goes on without you: gate watch {number}"
    waits = f"Run {number} stays waiting. Once it is answered"
    if upkeep.is_worked_at(store.path):
        return f"{waits} it goes on in the background: gate watch {number}"
    return f"{waits} it goes on with: gate resume {number} (or gate up)"
