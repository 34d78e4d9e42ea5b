"""Show the progress of one run, its open questions or its end, and the next command.

Example: gate status 3
Example: gate status 3 --json
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.freezes.freeze_line import print_freeze
from gatebell.cli.identity import open_asks
from gatebell.cli.runs import call_screen, run_lines
from gatebell.cli.screen import print_json
from gatebell.domain.runs.seen_runs import seen_run_document

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    run_lines.add_run_id(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend = open_asks()
    seen = backend.run(args.id)
    if args.json:
        print_json(seen_run_document(seen))
        return 0
    print_freeze(backend)
    print("\n".join(call_screen.describe_progress(backend, seen)))
    return 0
