"""Start a run on a server: a worker that has a checkout of the project makes its folder."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import environment, project_files, settings
from gatebell.cli.identity import open_backend, read_text
from gatebell.cli.runs import run_lines
from gatebell.cli.screen import add_colour, print_json
from gatebell.domain.asks.documents import run_document
from gatebell.domain.runs.wanted_runs import WantedRun, must_be_flow_name
from gatebell.domain.text.display import inert_line
from gatebell.errors import UsageError
from gatebell.terminal.runs import describe_idle_run

if TYPE_CHECKING:
    import argparse

_LOCAL = ("in_place", "with_changes", "no_exec")


def start(args: argparse.Namespace) -> int:
    """Create the run on the server; return the exit code."""
    backend, who = open_backend(args)
    for name in _LOCAL:
        if getattr(args, name):
            raise UsageError(
                f"--{name.replace('_', '-')} is about a folder of this machine, and a worker of "
                f"{backend.name} makes the folder of this run in its own checkout: leave it out"
            )
    if not args.detach:
        raise UsageError(
            f"the workers of {backend.name} drive its runs: add --detach. To drive the run here, "
            "name a store of your own: GATE_STORE=PATH"
        )
    must_be_flow_name(args.flow)
    project = run_lines.find_project(args.repo or ".")
    prompt = read_text("-").rstrip("\n") if args.prompt == ["-"] else " ".join(args.prompt)
    digest, key = (
        project_files.find_flow_digest(project, args.flow),
        environment.project_key(project),
    )
    if not digest:
        print(
            f"gate: this checkout has no flow {inert_line(args.flow, 60)}; the worker looks for it "
            "in its own",
            file=sys.stderr,
        )
    made, has_worker = backend.start_run(
        WantedRun(key, args.flow, prompt, digest, settings.pool(os.environ)), who
    )
    if args.json:
        print_json(run_document(made) | {"waiting_for": [], "askers_gone": []})
    else:
        print(add_colour(f"Run {made.id}: {inert_line(made.flow)}", "bold"))
        print(f"A worker with a checkout of {inert_line(key)} drives it: gate status {made.id}")
    if not has_worker:
        print(f"gate: {describe_idle_run(made)}", file=sys.stderr)
        if key.endswith(f":{project}"):
            print(
                "gate: other machines do not know this project: give it a remote origin, or write "
                "its name into .gate/project",
                file=sys.stderr,
            )
    return 0
