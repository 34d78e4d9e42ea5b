"""List the flows that you can run here by name, or show one: the project's, then your own.

Example: gate flows
Example: gate flows show feature --mermaid
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import environment, project_files
from gatebell.cli.runs.flow_output import set_aside
from gatebell.cli.screen import columns, print_json, say
from gatebell.cli.verbs import add_verbs
from gatebell.domain.text.display import cell, inert_line
from gatebell.errors import UsageError

if TYPE_CHECKING:
    import argparse

_VERBS = {
    "list": "list the flows",
    "show NAME": "show one flow",
}


def configure(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, _VERBS, default="list")
    parser.add_argument("name", nargs="?", default="", help="the name or path of the flow to show")
    parser.add_argument(
        "--mermaid", action="store_true", help="print a diagram of a workflow, for Mermaid"
    )
    parser.add_argument("--json", action="store_true", help="print JSON (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    project = environment.project(os.getcwd())
    if (args.verb == "show") != bool(args.name):
        raise UsageError("show needs a NAME and list takes none: gate flows show NAME")
    if args.mermaid:
        return _draw(project, args)
    return _show(project, args) if args.name else _list(project, args)


def _list(project: str, args: argparse.Namespace) -> int:
    flows = project_files.flows(project)
    if args.json:
        print_json([one._asdict() for one in flows])
        return 0
    if not flows:
        print(
            "There are no flows here. A flow is a file in .gate/flows/ that has @flow or Workflow."
        )
    wide = max((len(one.name) for one in flows), default=0)
    for one in flows:
        nothing = "(cannot be read)" if one.problem else "(has no @flow or Workflow)"
        about = one.about if one.flows else one.about or nothing
        print(f"{cell(one.name, wide)}  {inert_line(about, columns() - wide - 2)}".rstrip())
        for flow in one.flows if len(one.flows) > 1 else ():
            print(f"  {inert_line(f'{one.name}:{flow}', columns() - 2)}")
    for one in flows:
        if one.problem:
            print(f"gate: {inert_line(one.problem)}", file=sys.stderr)
    return 0


def _show(project: str, args: argparse.Namespace) -> int:
    path, source = project_files.read_flow_source(project, args.name)
    if args.json:
        print_json({"path": path, "source": source})
    else:
        print(f"# {inert_line(path)}")
        say(source.rstrip("\n"))
    return 0


def _draw(project: str, args: argparse.Namespace) -> int:
    if not args.name or args.json:
        raise UsageError(
            "--mermaid needs one workflow and no --json: gate flows show NAME --mermaid"
        )
    # Loading the flow runs its file, which may print.
    with set_aside():
        drawn = project_files.load_flow(project, args.name)
    if not hasattr(drawn, "mermaid"):
        raise UsageError(f"{args.name} has no phases; --mermaid draws only a Workflow")
    print(drawn.mermaid())
    return 0
