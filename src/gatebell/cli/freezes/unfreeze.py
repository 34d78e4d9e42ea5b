"""Lift the freeze: runs, tasks and tool calls that waited go on.

Example: gate unfreeze
Example: gate unfreeze --json
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.identity import add_identity, open_backend
from gatebell.cli.screen import print_json
from gatebell.domain.freezes import freeze_document
from gatebell.domain.text.display import age

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    freeze = backend.lift_freeze(who)
    if args.json:
        # What lasts now: nothing.
        print_json(freeze_document(None))
    elif freeze is None:
        print("Nothing is frozen.")
    else:
        lasted = age((backend.now() - freeze.made_at).total_seconds())
        print(f"The freeze is lifted, after {lasted}. What waited goes on.")
    return 0
