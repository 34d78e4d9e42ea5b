"""Set up a project: roles, the backlog's settings, and questions in files.

It shows what it would write, and asks. It never overwrites existing text. In your own files its
lines are between two marks.

Example: gate init
Example: gate init --files --dry-run
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.app import environment
from gatebell.cli.identity import add_identity
from gatebell.cli.screen import can_prompt, print_json
from gatebell.cli.setup.install import ask_agreement, check_person, describe_plan, show, tell
from gatebell.domain.text.display import inert
from gatebell.errors import AskCancelledError, UsageError
from gatebell.file_protocol import setup
from gatebell.install import plans, project_start
from gatebell.install.places import Place
from gatebell.install.project_start import ALL_PARTS, Parts

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gatebell.file_protocol.setup import FolderChange
    from gatebell.install.plans import Plan


_ABOUT = """\
gate init prepares this project for agents. Asking and answering need no init.
  --roles    .gate/agents/: the roles of flows and tasks, for you to change
  --backlog  .gate/backlog.toml: how workers treat the tasks of this project
  --files    .helpers/, scripts/ask-human.sh: agents without gate ask by files
It overwrites nothing. --dry-run shows every line; --undo takes all of it back.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--backlog", action="store_true", help="only the settings of the backlog")
    add("--files", action="store_true", help="only questions in files, with their instructions")
    add("--roles", action="store_true", help="only the roles; these three can be combined")
    add("--undo", action="store_true", help="remove everything that is still unchanged")
    add("--dry-run", action="store_true", help="show the changes, write nothing")
    add("--yes", action="store_true", help="write without a question")
    add_identity(parser)
    add("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    project = environment.project(os.getcwd())
    place, parts = Place(project, os.environ), _choose_parts(args)
    if not args.dry_run:
        check_person(args, "changes the agents' instructions")
    if args.undo:
        plan = project_start.take_back(place)
        folders = setup.removable(project, project_start.folders(place))
    else:
        folders = setup.plan_folders(project) if parts.files else []
        made = [folder.path for folder in folders if folder.word == "made"]
        plan = project_start.put(place, project_start.first_files(project, parts), made)
    if args.dry_run and not args.json:
        show(plan)
    if not args.dry_run:
        if not args.yes and not _changes_nothing(plan, folders):
            _must_agree(plan, folders, args)
        folders = _carry_out(plan, folders, undo=args.undo)
    if args.json:
        listed = [{"path": one.path, "change": one.word} for one in folders]
        print_json({"project": project, **describe_plan(plan), "folders": listed})
    else:
        _tell(plan, folders, args)
    return 0


def _choose_parts(args: argparse.Namespace) -> Parts:
    """Return the chosen parts; without a choice, all."""
    chosen = Parts(args.backlog, args.files, args.roles)
    if any(chosen) and args.undo:
        raise UsageError("--undo takes everything back; use it without the parts")
    return chosen if any(chosen) else ALL_PARTS


def _changes_nothing(plan: Plan, folders: Sequence[FolderChange]) -> bool:
    return plan.changes_nothing and all(folder.word == "same" for folder in folders)


def _must_agree(plan: Plan, folders: Sequence[FolderChange], args: argparse.Namespace) -> None:
    """Say what would be written and why, and go on only after a yes."""
    if args.json or not can_prompt():
        raise UsageError("cannot prompt without a terminal; check --dry-run, then add --yes")
    if not args.undo:
        print(_ABOUT)
    args.dry_run = True
    _tell(plan, folders, args)
    args.dry_run = False
    if not ask_agreement("Remove this?" if args.undo else "Write this?"):
        raise AskCancelledError("nothing was changed")


def _carry_out(plan: Plan, folders: list[FolderChange], *, undo: bool) -> list[FolderChange]:
    """Make the changes and return those of the folders.

    The record is written first and removed last.
    """
    if undo:
        folders = setup.take_away(plan.project, folders)
    plans.carry_out(plan)
    if folders and not undo:
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
