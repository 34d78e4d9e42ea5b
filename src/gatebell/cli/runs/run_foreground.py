"""Drive a run in this process and wait with it for people, or leave it to a worker."""

from __future__ import annotations

import select
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.app import runtime
from gatebell.cli.runs import run_lines
from gatebell.cli.runs.flow_output import show_run
from gatebell.cli.runs.run_view import show_line, show_nothing
from gatebell.cli.screen import can_prompt, print_json
from gatebell.domain.enums import RunState
from gatebell.errors import GateError
from gatebell.services import members
from gatebell.services.asks.apply_deadlines import fall_due
from gatebell.terminal.freezes import describe_frozen
from gatebell.terminal.runs import describe_idle_run, describe_other_driver, pending_asks

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.cli.runs.run_view import Show
    from gatebell.domain.freezes import Freeze
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store
    from gatebell.services.runs.claims import Keeper
    from gatebell.services.runs.drive_run import Driver

_POLL_SECONDS = 1.0
_QUESTION_FIRST_SECONDS = 0.5


def go_on(store: Store, run: Run, keeper: Keeper | None, *, as_json: bool, from_now: bool) -> int:
    """Drive a run here until it ends, or leave it to a worker; return the exit code."""
    if keeper is None:
        return _leave(store, run, as_json)
    show = show_nothing if as_json else show_line
    code = follow(store, run.id, keeper, show, from_now=from_now)
    run = run_lines.find(store, run.id)
    if as_json:
        print_json(run_lines.build_document(store, run))
    elif code != run_lines.INTERRUPTED:
        print("\n".join(run_lines.status_lines(store, run, store.now(), is_worked_at=True)))
    return code


def _leave(store: Store, run: Run, as_json: bool) -> int:
    if as_json:
        print_json(run_lines.build_document(store, run))
    elif run.state == RunState.WAITING_HUMAN:
        print(f"Run {run.id} waits for a person: gate status {run.id}")
    elif words := describe_other_driver(store, run):
        print(f"{words[0].upper()}{words[1:]}: gate watch {run.id}")
    elif run.state == RunState.RUNNING or members.has_worker(store, run):
        print(f"Run {run.id} goes on in the background: gate watch {run.id}")
    else:
        print(f"Run {run.id} is ready.")
        print(describe_idle_run(run))
    return 0


def follow(
    store: Store,
    number: int,
    keeper: Keeper,
    show: Show,
    *,
    from_now: bool,
) -> int:
    """Show a run until it ends, and drive it whenever it can go on and no other process has it."""
    # Imported here: only a driver loads flows.
    import gc

    # Short commands run without it, but this may run for days, and a flow is any code.
    gc.enable()
    driver = runtime.build_driver(store)
    if words := describe_other_driver(store, run_lines.find(store, number)):
        print(f"gate: {words}; this shows the run, and drives it after that", file=sys.stderr)
    try:
        while True:
            with show_run(number, show, from_now=from_now):
                at_hand = show is show_line
                session = _drive_until_ended(store, number, keeper, driver, at_hand=at_hand)
            if not session:
                break
            _open_here(session)
            from_now = True
    except KeyboardInterrupt:
        # If this write fails, others see that the process has ended.
        with suppress(GateError):
            keeper.let_go()
        print(f"\n{describe_interrupt(store, number)}", file=sys.stderr)
        return run_lines.INTERRUPTED
    return run_lines.exit_code(store, run_lines.find(store, number))


def _drive_until_ended(
    store: Store, number: int, keeper: Keeper, driver: Driver, *, at_hand: bool
) -> str:
    """Drive a run until it ends, or return the session ask that the person here wants to open."""
    from gatebell.cli.sessions.orphans import Orphans
    from gatebell.services.runs.claims import Abandoned
    from gatebell.services.sessions.lost_visits import close_all_lost

    prompt = _SessionPrompt(store) if at_hand and can_prompt() else None

    abandoned, orphans, told = Abandoned(store, driver.driven), Orphans(store), None
    bell = store.bell()
    try:
        while not (run := run_lines.find(store, number)).has_ended:
            close_all_lost(store)
            orphans.tell_of_run(number)
            if keeper.can_drive(run) or any(one.id == number for one in abandoned.find()):
                driver.drive(run, keeper=keeper)
            else:
                told = _tell_freeze(store, told)
                keeper.keep(run)
                asks = [fall_due(store, ask) for ask in pending_asks(store, run)]
                sessions = [ask.id for ask in asks if ask.pending and ask.question.session]
                if prompt and sessions and prompt.is_accepted(sessions[0]):
                    return sessions[0]
                bell.wait(_choose_wait(run, store.now()))
        return ""
    finally:
        bell.close()


def _tell_freeze(store: Store, told: Freeze | None) -> Freeze | None:
    """Tell once that everything is frozen; return what was told."""
    freeze = store.freezes.find()
    if freeze and freeze != told:
        print(f"gate: {describe_frozen(freeze)}", file=sys.stderr)
    return freeze


class _SessionPrompt:
    """Offers the person at this terminal to open a session that waits."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: dict[str, float] = {}
        self._offered: set[str] = set()

    def is_accepted(self, ask_id: str) -> bool:
        now = self._store.monotonic()
        # The question itself must be on the screen first.
        if now - self._seen.setdefault(ask_id, now) < _QUESTION_FIRST_SECONDS:
            return False
        if ask_id not in self._offered:
            self._offered.add(ask_id)
            print(f"Press Enter to open session {ask_id}.")
        waiting, _, _ = select.select([sys.stdin], [], [], 0)
        return bool(waiting) and bool(sys.stdin.readline())


def _open_here(ask_id: str) -> None:
    # Imported here: most runs open no session.
    import subprocess

    # Ctrl+C is for the program that has the screen, which resets this handler.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        words = [sys.executable, "-P", "-m", "gatebell", "continue", ask_id]
        subprocess.run(words, check=False)
    finally:
        signal.signal(signal.SIGINT, before)


def _choose_wait(run: Run, now: datetime) -> float:
    # A run that is due and is not driven is frozen, or another process has it.
    if run.ready_at is None or run.ready_at <= now:
        return _POLL_SECONDS
    return min(_POLL_SECONDS, max(0.005, (run.ready_at - now).total_seconds()))


def describe_interrupt(store: Store, number: int) -> str:
    """Describe how a run goes on after a person stops following it."""
    run = run_lines.find(store, number)
    if run.has_ended:
        return run_lines.ended_line(run)
    if run.state == RunState.RUNNING:
        return f"Run {number} goes on without you: gate watch {number}"
    if words := describe_other_driver(store, run):
        return f"Run {number} stays waiting: {words}"
    waits = f"Run {number} stays waiting. Once it is answered"
    if members.has_worker(store, run):
        return f"{waits} it goes on in the background: gate watch {number}"
    return f"{waits} it goes on with: gate resume {number} (or gate up)"
