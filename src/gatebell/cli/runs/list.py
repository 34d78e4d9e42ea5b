"""List runs and their open questions, newest first.

With --awaiting, list the tasks that wait for an answer, as gate task list --awaiting does.

Example: gate list --active
Example: gate list --awaiting
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.asks.values import parse_count
from gatebell.cli.freezes.freeze_line import print_freeze
from gatebell.cli.identity import open_asks
from gatebell.cli.runs import run_lines
from gatebell.cli.screen import print_json
from gatebell.domain.runs.seen_runs import seen_run_document
from gatebell.errors import UsageError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--active", action="store_true", help="only runs that have not ended")
    add(
        "--awaiting", action="store_true", help="list the tasks that wait for your answer, not runs"
    )
    add("--limit", type=parse_count, default=50, metavar="N", help="list at most N (50)")
    add("--ids", action="store_true", help="print numbers only")
    add("--json", action="store_true", help="print a JSON list (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    if args.awaiting:
        return _list_awaiting(args)
    backend = open_asks()
    runs = backend.runs(args.limit + 1, active=args.active)
    more, runs = len(runs) > args.limit, runs[: args.limit]
    if not args.json and not args.ids:
        print_freeze(backend)
    if args.json:
        print_json([seen_run_document(seen) for seen in runs])
    elif args.ids:
        for seen in runs:
            print(seen.run.id)
    elif not runs:
        print("No run is active." if args.active else "There are no runs yet.")
        print("To start one: gate run FLOW PROMPT")
    else:
        print("\n".join(run_lines.list_lines(runs, backend.now())))
        if more:
            print(f"… and more: gate list --limit {args.limit * 4}")
    return 0


def _list_awaiting(args: argparse.Namespace) -> int:
    if args.active:
        raise UsageError("--awaiting lists tasks and --active lists runs; use one of them")
    # Imported here: a list of runs does not need the code for tasks.
    from gatebell.cli.tasks.task_views import list_

    args.which, args.project, args.everywhere = "awaiting", None, False
    return list_(args)
