"""List the roles that flows and tasks can use here: the project's, your own, and the built-in ones.

Example: gate agents
Example: gate agents --json
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import environment, project_files
from gatebell.cli.screen import add_colour, columns, print_json
from gatebell.domain.text.display import cell, inert_line

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.runs.roles import Role


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--names", action="store_true", help="print names only")
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    roles, problems = project_files.roles(environment.project(os.getcwd()))
    if args.json:
        print_json({"roles": [role._asdict() for role in roles], "problems": problems})
        return 0
    if args.names:
        print("\n".join(role.name for role in roles))
        return 0
    wide = max((len(role.name) for role in roles), default=0)
    programs = max((len(_program(role)) for role in roles), default=0)
    for role in roles:
        head = f"{cell(role.name, wide)}  {cell(_program(role), programs)}"
        about = inert_line(role.description, max(20, columns() - wide - programs - 4))
        print(f"{head}  {about}".rstrip())
        print(add_colour(f"{'':{wide}}  {inert_line(role.source)}", "dim"))
    for problem in problems:
        print(f"gate: {inert_line(problem)}", file=sys.stderr)
    return 0


def _program(role: Role) -> str:
    program = " ".join(role.command) if role.command else role.cli
    return inert_line(f"{program} {role.model}".rstrip(), 40)
