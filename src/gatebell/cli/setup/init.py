"""Set up a project: the agents' instructions, the backlog's settings, and questions in files.

It never overwrites existing text. In your own files its lines are between two marks.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.app import environment
from gatebell.cli.identity import add_identity
from gatebell.cli.screen import print_json
from gatebell.cli.setup.install import check_person, describe_plan, show, tell
from gatebell.domain.text.display import inert
from gatebell.file_protocol import setup
from gatebell.install import plans, project_start
from gatebell.install.places import Place

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gatebell.file_protocol.setup import FolderChange
    from gatebell.install.plans import Plan


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--undo", action="store_true", help="remove everything that is still unchanged"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the changes, write nothing")
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    project = environment.project(os.getcwd())
    place = Place(project, os.environ)
    if args.undo:
        plan = project_start.take_back(place)
        folders = setup.removable(project, project_start.folders(place))
    else:
        wanted, folders = project_start.first_files(project), setup.plan_folders(project)
        made = [folder.path for folder in folders if folder.word == "made"]
        plan = project_start.put(place, wanted, made)
    if args.dry_run and not args.json:
        show(plan)
    if not args.dry_run:
        check_person(args, "changes the agents' instructions")
        folders = _carry_out(plan, folders, undo=args.undo)
    if args.json:
        listed = [{"path": one.path, "change": one.word} for one in folders]
        print_json({"project": project, **describe_plan(plan), "folders": listed})
    else:
        _tell(plan, folders, args)
    return 0


def _carry_out(plan: Plan, folders: list[FolderChange], *, undo: bool) -> list[FolderChange]:
    """Make the changes and return those of the folders.

    The record is written first and removed last.
    """
    if undo:
        folders = setup.take_away(plan.project, folders)
    plans.carry_out(plan)
    if not undo:
        setup.set_up(plan.project)
    return folders


def _tell(plan: Plan, folders: Sequence[FolderChange], args: argparse.Namespace) -> None:
    would = "would be " if args.dry_run else ""
    changed = [folder for folder in folders if folder.word != "same"]
    for folder in changed:
        detail = f" ({folder.detail})" if folder.detail else ""
        print(inert(f"{would}{folder.word}: {folder.path}{detail}"))
    nothing = "There is nothing to remove" if args.undo else "Everything exists already"
    tell(plan, "" if changed else f"{nothing}; nothing was changed.", dry=args.dry_run)
