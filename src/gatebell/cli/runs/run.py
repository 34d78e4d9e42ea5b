"""Run a flow: agents work, people are asked, and it goes on after anything.

FLOW is a name (.gate/flows/NAME.py) or a path (flow.py, or flow.py:NAME for one of several).
It is driven here until it ends; while it waits for a person Ctrl+C leaves it waiting.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from gatebell.app import project_files, runtime, wiring
from gatebell.cli.identity import add_identity, caller, read_text
from gatebell.cli.runs import run_foreground, run_lines
from gatebell.cli.runs.flow_output import set_aside
from gatebell.cli.screen import add_colour, print_json
from gatebell.domain.text.display import inert
from gatebell.services.runs import manage_runs
from gatebell.services.runs.claims import Keeper
from gatebell.services.runs.manage_runs import RunRequest

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("flow", help="its name, or the path of its file")
    add("prompt", nargs="*", help="what it is to do; - reads it from standard input")
    add("-r", "--repo", default="", metavar="DIR", help="the project to work on (this one)")
    add("--in-place", action="store_true", help="work in the project itself, not in a worktree")
    add("--with-changes", action="store_true", help="take along what is not committed")
    add("--no-exec", action="store_true", help="make the run and start nothing: gate resume does")
    add("--detach", action="store_true", help="leave it to a worker (gate up, gate worker)")
    add_identity(parser)
    add(
        "--json", action="store_true", help="print the run as JSON when it has ended (docs/json.md)"
    )


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    who = caller(store, args)
    project = run_lines.project_of(args.repo or os.curdir)
    prompt = read_text("-").rstrip("\n") if args.prompt == ["-"] else " ".join(args.prompt)
    # A flow's file is run to find what is in it, and may print.
    with set_aside() if args.json else nullcontext():
        flow, source, digest = project_files.find_flow(project, args.flow)
    request = RunRequest(
        flow, source, digest, prompt, project,
        in_place=args.in_place, with_changes=args.with_changes, begin=not args.no_exec,
        seen=project_files.seen(project, source) if args.in_place else None,
    )  # fmt: skip
    keeper = None if args.detach else Keeper(store)
    made, place = manage_runs.start(store, runtime.workspace(store), request, who, keeper)
    for remark in place.remarks:
        print(f"gate: {inert(remark)}", file=sys.stderr)
    if args.in_place:
        print(
            f"gate: its agents work in {inert(project)} itself: what they change there mixes "
            "with your own work and cannot be taken back",
            file=sys.stderr,
        )
    if not args.json:
        print(add_colour(f"Run {made.id}: {inert(flow)}", "bold"))
        print(run_lines.where_line(made))
        sys.stdout.flush()
    if not args.no_exec:
        return run_foreground.go_on(store, made, keeper, as_json=args.json, from_now=False)
    if args.json:
        print_json(run_lines.document(store, made))
    else:
        print(f"It is not started yet: gate resume {made.id}")
    return 0
