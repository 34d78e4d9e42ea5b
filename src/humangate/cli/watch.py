"""Follow a run until it ends.

Once it is answered it goes on: where a worker drives runs, there; otherwise here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from humangate import wiring
from humangate.cli import driving, runs_screen
from humangate.cli.following import show_json, show_line

if TYPE_CHECKING:
    import argparse

# Whoever only looks on leaves the work to those who are there for it.
_OTHERS_FIRST_SECONDS = 2.0


def configure(parser: argparse.ArgumentParser) -> None:
    runs_screen.add_run_id(parser)
    parser.add_argument(
        "--json", action="store_true", help="one JSON object an event (docs/json.md)"
    )


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    runs_screen.find(store, args.id)
    code = driving.follow(
        store,
        args.id,
        show_json if args.json else show_line,
        from_now=True,
        patience_seconds=_OTHERS_FIRST_SECONDS,
    )
    if code != runs_screen.INTERRUPTED and not args.json:
        found = runs_screen.find(store, args.id)
        print("\n".join(runs_screen.status_lines(store, found, store.now(), is_worked_at=True)))
    return code
