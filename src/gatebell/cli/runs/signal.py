"""Send a signal that a run waits for, from a script: DONE and others, or CONTINUE or STOP at a gate.

Example: gate signal 3 --status CONTINUE --message "looks good"
Example: gate signal 3 --status STOP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.identity import add_identity, open_backend
from gatebell.cli.runs import run_lines
from gatebell.cli.runs.left_runs import tell_if_left
from gatebell.cli.screen import describe_recorded, print_json
from gatebell.domain.asks.documents import ask_document

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    run_lines.add_run_id(parser)
    add = parser.add_argument
    add(
        "--status", required=True, metavar="WORD",
        help="any word for an agent (DONE …); at a gate CONTINUE, APPROVED, APPROVE or YES, "
        "or STOP, REJECTED, REJECT or NO",
    )  # fmt: skip
    add("--message", default="", metavar="TEXT", help="a message beside it, for example a reason")
    add_identity(parser)
    add("--json", action="store_true", help="print the ask as one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    ask = backend.signal_run(args.id, args.status, args.message, who)
    if args.json:
        print_json(ask_document(ask))
    else:
        print(describe_recorded(ask))
        tell_if_left(backend, ask)
    return 0
