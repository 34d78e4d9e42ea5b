"""End a run, its agents and its asks; gate resume can continue it later.

Example: gate stop 3 --reason "wrong branch"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.identity import add_identity, caller
from gatebell.cli.runs import run_lines
from gatebell.cli.screen import print_json, short
from gatebell.services.runs import manage_runs

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    run_lines.add_run_id(parser)
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, for the record")
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    stopped = manage_runs.stop(store, args.id, caller(store, args), args.reason)
    if args.json:
        print_json(run_lines.build_document(store, stopped))
    else:
        print(f"Run {stopped.id} marked as stuck: {short(stopped.reason)}")
    return 0
