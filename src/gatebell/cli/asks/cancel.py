"""Withdraw an ask; its asker learns who did it and why.

Example: gate cancel a-7k2
Example: gate cancel a-7k2 --reason "not needed any more"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.identity import add_identity, open_backend
from gatebell.cli.screen import print_json
from gatebell.domain.asks.documents import ask_document

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the whole id, or the task or number of the run that waits")
    parser.add_argument(
        "--reason", default="", metavar="TEXT", help="the reason, shown to the asker"
    )
    parser.add_argument(
        "--failed",
        action="store_true",
        help="for a session that cannot take place: its asker gets `failed`, not `cancelled`",
    )
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    ask = backend.cancel(backend.find(args.id).id, who, args.reason, failed=args.failed)
    if args.json:
        print_json(ask_document(ask))
    else:
        print(f"{'Closed as failed:' if args.failed else 'Cancelled'} {ask.id}")
    return 0
