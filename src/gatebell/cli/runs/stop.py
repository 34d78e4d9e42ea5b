"""End a run, its agents and its asks; gate resume can continue it later.

Example: gate stop 3
Example: gate stop 3 --reason "wrong branch"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.identity import add_identity, open_backend
from gatebell.cli.runs import run_lines
from gatebell.cli.screen import print_json, short
from gatebell.cli.status_line import show_progress
from gatebell.domain.runs.seen_runs import seen_run_document

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    run_lines.add_run_id(parser)
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, for the record")
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    with show_progress(f"Stopping run {args.id}"):
        stopped = backend.stop_run(args.id, who, args.reason)
    if args.json:
        print_json(seen_run_document(backend.run(stopped.id)))
    else:
        print(f"Run {stopped.id} marked as stuck: {short(stopped.reason)}")
    return 0
