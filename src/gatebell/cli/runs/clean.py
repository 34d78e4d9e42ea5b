"""Remove the folders of completed runs, where no work is lost; says what it keeps and why.

The papers of sessions that are settled go, too: what was asked and answered stands in the store.
Runs that are stuck or failed keep theirs, for they can be taken up again; gate delete removes it.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from gatebell.app import runtime, wiring
from gatebell.domain.enums import RunState
from gatebell.domain.text.display import inert
from gatebell.services.runs.run_journal import place_of

if TYPE_CHECKING:
    import argparse

    from gatebell.ports.store import Store

_MAX_RUNS = 1_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    workspace = runtime.workspace(store)
    ended = [one for one in store.runs.newest(_MAX_RUNS) if one.has_ended and one.branch]
    found = [one for one in reversed(ended) if os.path.isdir(one.root)]
    folders = _list_settled_folders(store)
    if not found and not folders:
        print("There is nothing to clean: no run that has ended has a folder of its own.")
    done = "Would remove" if args.dry_run else "Removed"
    for one in found:
        if one.state == RunState.COMPLETED:
            kept = workspace.remove(place_of(one), one.id, dry_run=args.dry_run)
            kept += f" To drop it: gate delete {one.id} --force" if kept else ""
        else:
            kept = f"it is {one.state} and can be taken up again; gate delete {one.id} removes it."
        if kept:
            print(f"Kept run {one.id}: {inert(kept)}")
        else:
            print(f"{done} run {one.id}: {inert(one.root)}")
    for folder in folders:
        if not args.dry_run:
            shutil.rmtree(folder)
        print(f"{done} the papers of {os.path.basename(folder)}: {inert(folder)}")
    return 0


def _list_settled_folders(store: Store) -> list[str]:
    """The folders of session asks that nobody opens any more."""
    around = wiring.session_folder(store.path, "")
    names = sorted(os.listdir(around)) if os.path.isdir(around) else []
    asks = [ask for name in names if (ask := store.asks.get(name))]
    return [wiring.session_folder(store.path, ask.id) for ask in asks if not ask.pending]
