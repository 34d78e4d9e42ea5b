"""Follow a run until it ends, and warn once if no process drives it.

It does not drive the run: gate run, gate resume and workers (gate up, gate worker) do.

Example: gate watch 3
Example: gate watch 3 --json
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.runs import run_foreground, run_lines
from gatebell.cli.runs.run_view import LiveView, show_json, show_line
from gatebell.domain.enums import RunState
from gatebell.domain.runs.identities import parse_identity
from gatebell.services import members
from gatebell.services.asks.apply_deadlines import fall_due
from gatebell.services.runs.claims import is_due, is_kept
from gatebell.terminal.runs import describe_idle_run, pending_asks

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store

_POLL_SECONDS = 1.0
# A process that waits with a run claims it as soon as it is ready.
_TAKEN_WITHIN_SECONDS = 2.0


def configure(parser: argparse.ArgumentParser) -> None:
    run_lines.add_run_id(parser)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object per event (docs/json.md)"
    )


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    run_lines.find(store, args.id)
    view = LiveView(args.id, show_json if args.json else show_line, sys.stdout, from_now=True)
    try:
        with view:
            _follow(store, args.id, view)
    except KeyboardInterrupt:
        print(f"\n{run_foreground.describe_interrupt(store, args.id)}", file=sys.stderr)
        return run_lines.INTERRUPTED
    found = run_lines.find(store, args.id)
    if not args.json:
        print("\n".join(run_lines.status_lines(store, found, store.now(), is_worked_at=True)))
    return run_lines.exit_code(store, found)


def _follow(store: Store, number: int, view: LiveView) -> None:
    bell = store.bell()
    left_since: float | None = None
    warned = False
    try:
        while not (found := run_lines.find(store, number)).has_ended:
            now = store.monotonic()
            left_since = (left_since or now) if _is_left(store, found) else None
            if not warned and left_since and now - left_since >= _TAKEN_WITHIN_SECONDS:
                view.tell(describe_idle_run(found))
                warned = True
            for ask in pending_asks(store, found):
                fall_due(store, ask)
            bell.wait(_POLL_SECONDS)
    finally:
        bell.close()


def _is_left(store: Store, run: Run) -> bool:
    """Return whether a run is ready and no process will drive it."""
    if members.has_worker(store, run):
        return False
    is_running = run.state == RunState.RUNNING
    gone = is_running and not store.machine.lives(parse_identity(run.owner))
    return gone or (is_due(run, store.now()) and not is_kept(store, run))
