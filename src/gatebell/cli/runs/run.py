"""Run a flow: agents work, people answer their questions, and it can go on after a crash.

FLOW is a name (.gate/flows/NAME.py) or a path (flow.py, or flow.py:NAME for one of several).
This process drives it until it ends. While it waits for a person, Ctrl+C leaves it waiting.
With a server, --detach starts it for a worker that has a checkout of this project.

Example: gate run feature "Add a dark mode"
Example: gate run flow.py "Fix the login" --detach
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from gatebell.app import environment, project_files, runtime, settings, wiring
from gatebell.cli.identity import add_identity, caller, read_text
from gatebell.cli.runs import run_foreground, run_lines
from gatebell.cli.runs.flow_output import set_aside
from gatebell.cli.screen import add_colour, print_json
from gatebell.cli.status_line import show_progress
from gatebell.domain.text.display import inert
from gatebell.services.runs import manage_runs
from gatebell.services.runs.claims import Keeper
from gatebell.services.runs.manage_runs import RunRequest

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("flow", help="the name of the flow, or the path of its file")
    add("prompt", nargs="*", help="the task for the flow; - reads standard input")
    add("-r", "--repo", default="", metavar="DIR", help="the project to work on (this one)")
    add("--in-place", action="store_true", help="work in the project itself, not in a worktree")
    add("--with-changes", action="store_true", help="start with your uncommitted changes")
    add(
        "--no-exec",
        action="store_true",
        help="create the run but do not start it; gate resume does",
    )
    add("--detach", action="store_true", help="leave it to a worker (gate up, gate worker)")
    add_identity(parser)
    add(
        "--json", action="store_true", help="print the run as JSON when it has ended (docs/json.md)"
    )


def run(args: argparse.Namespace) -> int:
    if settings.server_alone(os.environ):
        # Imported here: most runs are driven on this machine.
        from gatebell.cli.runs import remote_start

        return remote_start.start(args)
    store = wiring.open_store()
    who = caller(store, args)
    project = run_lines.find_project(args.repo or os.curdir)
    prompt = read_text("-").rstrip("\n") if args.prompt == ["-"] else " ".join(args.prompt)
    # Loading the flow runs its file, which may print.
    with set_aside() if args.json else nullcontext():
        flow, source, digest = project_files.find_flow(project, args.flow)
    request = RunRequest(
        flow, source, digest, prompt, project,
        in_place=args.in_place, with_changes=args.with_changes, begin=not args.no_exec,
        seen=project_files.read_digests(project, source) if args.in_place else None,
        project_key=environment.project_key(project),
    )  # fmt: skip
    keeper = None if args.detach else Keeper(store)
    with show_progress("Making the folder of the run"):
        made, place = manage_runs.start(store, runtime.workspace(store), request, who, keeper)
    for remark in place.remarks:
        print(f"gate: {inert(remark)}", file=sys.stderr)
    if args.in_place:
        print(
            f"gate: the agents work in {inert(project)} itself; their changes mix with your own "
            "work and cannot be undone",
            file=sys.stderr,
        )
    if not args.json:
        print(add_colour(f"Run {made.id}: {inert(flow)}", "bold"))
        print(run_lines.where_line(made))
        sys.stdout.flush()
    if not args.no_exec:
        return run_foreground.go_on(store, made, keeper, as_json=args.json, from_now=False)
    if args.json:
        print_json(run_lines.build_document(store, made))
    else:
        print(f"The run is not started. Start it: gate resume {made.id}")
    return 0
