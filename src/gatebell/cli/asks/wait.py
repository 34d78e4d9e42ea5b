"""Wait for the answer to an earlier ask, and print it as gate ask does.

Example: gate wait a-7k2
Example: gate wait a-7k2 --timeout 5m
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.asks.output_answer import (
    add_secret_options,
    build_handing,
    wait_and_hand_over,
)
from gatebell.cli.identity import open_asks, read_text
from gatebell.domain.asks.deadlines import parse_duration
from gatebell.errors import StoreError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the whole id, or the task or number of the run that waits")
    parser.add_argument(
        "--timeout",
        type=parse_duration,
        metavar="TIME",
        help="stop waiting after this time (the ask stays pending): 300, 90s, 5m, 2h",
    )
    parser.add_argument(
        "--token-file", metavar="F", help="a file with the ask's token, for a secret answer"
    )
    add_secret_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    token = read_text(args.token_file).strip() if args.token_file else ""
    try:
        backend = open_asks()
    except StoreError as problem:
        # Imported here: only a sandbox cannot reach the store.
        from gatebell.cli.asks import file_fallback

        file_fallback.wait(args.id, problem)
    caller = backend.caller("cli")
    ask = backend.find(args.id)
    handing = build_handing(args, token, secret=bool(ask.token_digest))
    return wait_and_hand_over(backend, caller, ask.id, handing, args.timeout)
