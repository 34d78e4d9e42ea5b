"""Send the asker a message; the ask stays pending and shows the reply.

Example: gate ask-back a-7k2 "Which database do you mean?"
Example: gate ask-back 3 "Why not the old one?"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.identity import add_identity, open_backend
from gatebell.cli.screen import print_json, short
from gatebell.domain.asks.documents import ask_document
from gatebell.domain.asks.gone_askers import WAITER_GONE
from gatebell.domain.asks.messages import warn_of_silence

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the whole id, or the task or number of the run that waits")
    parser.add_argument("text", nargs="+", help="the message")
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    ask = backend.ask_back(backend.find(args.id).id, who, " ".join(args.text))
    if args.json:
        print_json(ask_document(ask))
    else:
        print(f"Sent to {short(ask.origin.agent)}; {ask.id} is still waiting for an answer")
        if backend.is_waiter_gone(ask):
            print(WAITER_GONE)
        if warning := warn_of_silence(ask):
            print(warning)
    return 0
