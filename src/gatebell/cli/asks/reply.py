"""Reply to a person's message about your ask; they see the reply below your question.

Example: gate reply a-7k2 "The one in staging"
Example: gate reply a-7k2 "It needs an hour" --json
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.identity import open_asks
from gatebell.cli.screen import print_json
from gatebell.domain.asks.documents import ask_document

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the whole id, or the task or number of the run that waits")
    parser.add_argument("text", nargs="+", help="the message")
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend = open_asks()
    ask = backend.reply(backend.find(args.id).id, backend.caller("cli"), " ".join(args.text))
    if args.json:
        print_json(ask_document(ask))
    else:
        print(f"Replied. Wait for the answer: gate wait {ask.id}")
    return 0
