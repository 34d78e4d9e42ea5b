"""Print a run as XML: its calls in order, its branches, and people's answers.

Example: gate plan 3
Example: gate plan 3 > run.xml
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.runs.run_lines import add_run_id, find
from gatebell.cli.screen import print_json
from gatebell.domain.enums import AskKind
from gatebell.domain.runs import run_xml
from gatebell.domain.text.display import inert
from gatebell.services.sessions.visits import list_visits

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add_run_id(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    made = find(store, args.id)
    calls, turns = store.runs.calls(made.id), store.runs.turns(made.id)
    asks = store.asks.of_run(made.id)
    sessions = [ask for ask in asks if ask.question.kind == AskKind.SESSION]
    visits = [one for ask in sessions for one in list_visits(store, ask.id)]
    document = run_xml.plan(made, calls, turns, asks, visits)
    if args.json:
        print_json(document)
    else:
        xml = run_xml.to_xml(document)
        print(inert(xml) if sys.stdout.isatty() else xml)
    return 0
