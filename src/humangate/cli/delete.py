"""Forget a run that has ended, with its folder and its agents' words; the audit trail stays.

Where work would be lost it refuses. With --force it says what goes, and drops it.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from humangate import crewing, wiring
from humangate.cli import runs_screen
from humangate.cli.diff import stat_lines
from humangate.cli.identity import add_identity, caller
from humangate.domain.changes import changed
from humangate.domain.display import inert
from humangate.domain.principals import must_be_a_person
from humangate.domain.runs import must_be_ended
from humangate.errors import RefusedError
from humangate.service import running
from humangate.service.journalling import place_of

if TYPE_CHECKING:
    import argparse

    from humangate.domain.principals import Caller
    from humangate.domain.runs import Run
    from humangate.doors.workspace import Workspace


def configure(parser: argparse.ArgumentParser) -> None:
    # Not by a task: whoever says so may mean the task itself.
    parser.add_argument("id", type=runs_screen.run_id, help="the number of the run")
    parser.add_argument("--force", action="store_true", help="drop work that nobody else has")
    add_identity(parser)


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    who = caller(store, args)
    found = running.get(store, args.id)
    must_be_ended(found)
    if found.branch and (kept := crewing.workspace(store).remove(place_of(found), found.id)):
        if not args.force:
            raise RefusedError(
                f"run {found.id} was not deleted, for its work would be lost: {kept} "
                f"To drop it: gate delete {found.id} --force"
            )
        _drop(crewing.workspace(store), found, who)
    running.delete(store, found.id, who)
    with suppress(FileNotFoundError):
        os.unlink(crewing.Papers(store.path).path(found))
    print(f"Deleted run {found.id}")
    return 0


def _drop(workspace: Workspace, run: Run, who: Caller) -> None:
    must_be_a_person(who, "drops the work of a run")
    files = changed(workspace.diff(place_of(run))) if os.path.isdir(run.root) else []
    print(f"This goes, with the branch {inert(run.branch)}: {inert(run.root)}")
    if files:
        print("\n".join(stat_lines(files)))
    sys.stdout.flush()
    if kept := workspace.remove(place_of(run), run.id, force=True):
        raise RefusedError(f"run {run.id} was not deleted: {kept}")
