"""Show how far one run is, what it waits for or how it ended, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humangate import upkeep, wiring
from humangate.cli import runs_screen
from humangate.cli.screen import print_json

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    runs_screen.add_run_id(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    found = runs_screen.find(store, args.id)
    if args.json:
        print_json(runs_screen.document(store, found))
    else:
        is_worked_at = upkeep.is_worked_at(store.path)
        print("\n".join(runs_screen.status_lines(store, found, store.now(), is_worked_at)))
    return 0
