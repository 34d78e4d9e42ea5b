"""List runs, the newest first, and what they wait for.

With --awaiting, list the tasks that wait for an answer: gate task list --awaiting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.asks.values import positive
from gatebell.cli.runs import run_lines
from gatebell.cli.screen import print_json
from gatebell.errors import UsageError
from gatebell.services.asks.apply_deadlines import sweep

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--active", action="store_true", help="only those that have not ended")
    add("--awaiting", action="store_true", help="the tasks that wait for your answer, not runs")
    add("--limit", type=positive, default=50, metavar="N", help="how many at most (50)")
    add("--ids", action="store_true", help="print numbers only")
    add("--json", action="store_true", help="print a JSON list (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    if args.awaiting:
        return _awaiting(args)
    store = wiring.open_store()
    sweep(store)
    runs = store.runs.newest(args.limit + 1, active=args.active)
    more, runs = len(runs) > args.limit, runs[: args.limit]
    if args.json:
        print_json([run_lines.document(store, one) for one in runs])
    elif args.ids:
        for one in runs:
            print(one.id)
    elif not runs:
        print("No run is active." if args.active else "There are no runs yet.")
        print("One is started with: gate run FLOW PROMPT")
    else:
        print("\n".join(run_lines.list_lines(store, runs)))
        if more:
            print(f"… and more: gate list --limit {args.limit * 4}")
    return 0


def _awaiting(args: argparse.Namespace) -> int:
    if args.active:
        raise UsageError("--awaiting lists tasks, --active lists runs: choose one")
    # Imported here: runs are listed without all that is known of tasks.
    from gatebell.cli.tasks.task_views import list_

    args.which, args.project, args.everywhere = "awaiting", None, False
    return list_(args)
