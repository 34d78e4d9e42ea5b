"""Show the progress of one run, its open questions or its end, and the next command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.runs import run_lines
from gatebell.cli.screen import print_json
from gatebell.services import members
from gatebell.services.asks.apply_deadlines import sweep

if TYPE_CHECKING:
    import argparse

_MAX_CALLS = 10


def configure(parser: argparse.ArgumentParser) -> None:
    run_lines.add_run_id(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    sweep(store)
    found = run_lines.find(store, args.id)
    if args.json:
        print_json(run_lines.build_document(store, found))
        return 0
    now, calls = store.now(), store.runs.calls(found.id)
    is_worked_at = members.has_worker(store, found)
    lines = run_lines.status_lines(store, found, now, is_worked_at)
    if calls:
        lines += ["", "Calls", *run_lines.call_lines(store, calls, _MAX_CALLS)]
    if len(calls) > _MAX_CALLS:
        lines.append(f"All {len(calls)} calls: gate show {found.id} --calls")
    print("\n".join(lines))
    return 0
