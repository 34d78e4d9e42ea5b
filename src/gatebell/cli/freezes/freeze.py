"""Freeze everything until a person lifts it with gate unfreeze.

No agent's turn and no call of a flow begins, no task is taken up, and no gated tool call gets a
yes, even if a grant or an answer allows it. A turn that runs is not ended; its next gated call
waits. You can still answer asks: the answers count when the freeze is lifted.

Example: gate freeze
Example: gate freeze --reason "the release is broken"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.identity import add_identity, open_backend
from gatebell.cli.screen import print_json
from gatebell.domain.freezes import LIFT, freeze_document
from gatebell.terminal.freezes import describe_frozen

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, for the record")
    parser.add_argument(
        "--show", action="store_true", help="only show whether everything is frozen"
    )
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    if args.show:
        freeze, is_new = backend.find_freeze(), False
    else:
        freeze, is_new = backend.freeze(who, args.reason)
    if args.json:
        print_json(freeze_document(freeze))
    elif freeze is None:
        print("Nothing is frozen.")
    elif is_new:
        print(
            f"Everything is frozen. Turns that run go on until their next gated call.\nLift it: {LIFT}"
        )
    else:
        print(describe_frozen(freeze))
        if args.reason:
            print("Nothing was changed; your reason is not kept.")
    return 0
