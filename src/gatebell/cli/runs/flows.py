"""List the flows that can be run here by name, or show one: the project's, then your own."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import environment, project_files
from gatebell.cli.runs.flow_output import set_aside
from gatebell.cli.screen import columns, print_json, say
from gatebell.domain.text.display import cell, inert_line
from gatebell.errors import UsageError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", nargs="?", choices=["list", "show"], default="list")
    parser.add_argument("name", nargs="?", default="", help="of the flow to show, or its path")
    parser.add_argument("--mermaid", action="store_true", help="draw a workflow, for Mermaid")
    parser.add_argument("--json", action="store_true", help="print JSON (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    project = environment.project(os.getcwd())
    if (args.verb == "show") != bool(args.name):
        raise UsageError("gate flows lists them; gate flows show NAME shows one")
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
            "There are no flows here: a flow is a file in .gate/flows/, with @flow or Workflow in it"
        )
    wide = max((len(one.name) for one in flows), default=0)
    for one in flows:
        nothing = "(it cannot be read)" if one.problem else "(no @flow or Workflow in it)"
        about = one.about if one.flows else one.about or nothing
        print(f"{cell(one.name, wide)}  {inert_line(about, columns() - wide - 2)}".rstrip())
        for flow in one.flows if len(one.flows) > 1 else ():
            print(f"  {inert_line(f'{one.name}:{flow}', columns() - 2)}")
    for one in flows:
        if one.problem:
            print(f"gate: {inert_line(one.problem)}", file=sys.stderr)
    return 0


def _show(project: str, args: argparse.Namespace) -> int:
    path, source = project_files.flow_source(project, args.name)
    if args.json:
        print_json({"path": path, "source": source})
    else:
        print(f"# {inert_line(path)}")
        say(source.rstrip("\n"))
    return 0


def _draw(project: str, args: argparse.Namespace) -> int:
    if not args.name or args.json:
        raise UsageError("a picture is of one workflow: gate flows show NAME --mermaid")
    # Its file is run to find what is in it, and may print.
    with set_aside():
        drawn = project_files.flow_object(project, args.name)
    if not hasattr(drawn, "mermaid"):
        raise UsageError(f"{args.name} is plain Python: only a Workflow of phases can be drawn")
    print(drawn.mermaid())
    return 0
