"""Write what agents are told, and how the backlog is worked on, into your project, to be changed there.

What stands there already is never overwritten; without these files, the same holds unseen.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from humangate import shelves, surroundings
from humangate.cli.identity import add_identity
from humangate.cli.install import check_person, show, tell, told
from humangate.cli.screen import print_json
from humangate.integrations import first_files, plans
from humangate.integrations.places import Place

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--undo", action="store_true", help="remove what nobody has changed since")
    parser.add_argument("--dry-run", action="store_true", help="show the changes, write nothing")
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    project = surroundings.project(os.getcwd())
    place = Place(project, os.environ)
    wanted = shelves.first_files(project)
    plan = first_files.take_back(place) if args.undo else first_files.put(place, wanted)
    if args.dry_run and not args.json:
        show(plan)
    if not args.dry_run:
        check_person(args, "says what agents are told")
        plans.carry_out(plan)
    if args.json:
        print_json({"project": project, **told(plan)})
    else:
        nothing = "There is nothing to remove" if args.undo else "Everything is there already"
        tell(plan, f"{nothing}; nothing was changed.", dry=args.dry_run)
    return 0
