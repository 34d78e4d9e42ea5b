"""Send the asker a message; the ask stays pending and shows the reply.

Example: gate ask-back a-7k2 "Which database do you mean?"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.identity import add_identity, caller
from gatebell.cli.screen import print_json, short
from gatebell.domain.asks.documents import ask_document
from gatebell.services.asks.ask_messages import ask_back
from gatebell.services.asks.create_ask import find

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the whole id, or the task or number of the run that waits")
    parser.add_argument("text", nargs="+", help="the message")
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    ask = ask_back(store, find(store, args.id).id, caller(store, args), " ".join(args.text))
    if args.json:
        print_json(ask_document(ask))
    else:
        print(f"Sent to {short(ask.origin.agent)}; {ask.id} is still waiting for an answer")
    return 0
