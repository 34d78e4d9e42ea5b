"""Delete a run that has ended, with its folder and its log; the audit trail stays.

It refuses if work would be lost. With --force it lists that work and deletes it.

Example: gate delete 3
Example: gate delete 3 --force
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.app import runtime, wiring
from gatebell.cli.identity import add_identity, caller
from gatebell.cli.runs import run_lines
from gatebell.cli.runs.diff import stat_lines
from gatebell.cli.status_line import show_progress
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.runs.changes import list_changed_files
from gatebell.domain.runs.runs import must_be_ended
from gatebell.domain.text.display import inert
from gatebell.errors import RefusedError
from gatebell.services.runs import manage_runs
from gatebell.services.runs.run_journal import place_of

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.workspaces import Workspace


def configure(parser: argparse.ArgumentParser) -> None:
    # Not by a task: a person who names a task may mean the task itself.
    parser.add_argument("id", type=run_lines.run_id, help="the number of the run")
    parser.add_argument("--force", action="store_true", help="delete work that exists nowhere else")
    add_identity(parser)


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    who = caller(store, args)
    found = manage_runs.get(store, args.id)
    must_be_ended(found)
    is_here = found.host in ("", store.machine.host)
    if not is_here and not args.force:
        raise RefusedError(
            f"the folder of run {found.id} is on host {found.host}: run gate delete {found.id} there. "
            f"To delete only its record: gate delete {found.id} --force"
        )
    if is_here and found.branch:
        workspace = runtime.workspace(store)
        with show_progress("Removing the folder of the run"):
            kept = workspace.remove(place_of(found), found.id)
        if kept and not args.force:
            raise RefusedError(
                f"run {found.id} was not deleted, because work would be lost: {kept} "
                f"To delete it anyway: gate delete {found.id} --force"
            )
        if kept:
            _drop(workspace, found, who)
    manage_runs.delete(store, found.id, who)
    with suppress(FileNotFoundError):
        os.unlink(runtime.run_log_path(store, found))
    print(f"Deleted run {found.id}")
    return 0


def _drop(workspace: Workspace, run: Run, who: Caller) -> None:
    must_be_a_person(who, "deletes the work of a run")
    files = list_changed_files(workspace.diff(place_of(run))) if os.path.isdir(run.root) else []
    print(f"Deleting the branch {inert(run.branch)} and the folder {inert(run.root)}")
    if files:
        print("\n".join(stat_lines(files)))
    sys.stdout.flush()
    if kept := workspace.remove(place_of(run), run.id, force=True):
        raise RefusedError(f"run {run.id} was not deleted: {kept}")
