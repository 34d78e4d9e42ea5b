"""Remove the folders of completed runs if no work would be lost; print each kept one and why.

It also removes the session files of settled asks; the store keeps their questions and answers.
Stuck and failed runs keep their folders, because gate resume can continue them. gate delete removes
such a folder.

Example: gate clean --dry-run
Example: gate clean
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from gatebell.app import runtime, wiring
from gatebell.cli.status_line import show_progress
from gatebell.domain.enums import RunState
from gatebell.domain.text.display import inert
from gatebell.services.runs.run_journal import place_of

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store

_MAX_RUNS = 1_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help="only print the changes that it would make"
    )


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    workspace = runtime.workspace(store)
    ended = [one for one in store.runs.newest(_MAX_RUNS) if one.has_ended and one.branch]
    # The same path on another host is another folder.
    here = [one for one in reversed(ended) if one.host in ("", store.machine.host)]
    found = [one for one in here if os.path.isdir(one.root)]
    folders = _list_settled_folders(store)
    done = "Would remove" if args.dry_run else "Removed"
    copies = _drop_copies(store, ended, dry_run=args.dry_run)
    for number, folder in copies:
        print(f"{done} what run {number} left here: {inert(folder)}")
    if not found and not folders and not copies:
        print("Nothing to clean: no ended run has its own folder.")
    for one in found:
        if one.state == RunState.COMPLETED:
            with show_progress(f"Checking the folder of run {one.id}"):
                kept = workspace.remove(place_of(one), one.id, dry_run=args.dry_run)
            kept += f" To delete it anyway: gate delete {one.id} --force" if kept else ""
        else:
            kept = f"it is {one.state} and can go on; gate delete {one.id} removes it."
        if kept:
            print(f"Kept run {one.id}: {inert(kept)}")
        else:
            print(f"{done} run {one.id}: {inert(one.root)}")
    for folder in folders:
        if not args.dry_run:
            shutil.rmtree(folder)
        print(f"{done} the session files of {os.path.basename(folder)}: {inert(folder)}")
    return 0


def _drop_copies(store: Store, ended: list[Run], *, dry_run: bool) -> list[tuple[int, str]]:
    """Remove the folders of runs that went on and completed at another host."""
    elsewhere = [one for one in ended if one.host not in ("", store.machine.host)]
    found = [
        (one.id, runtime.drop_copy(store, one, dry_run=dry_run))
        for one in elsewhere
        if one.state == RunState.COMPLETED
    ]
    return [(number, folder) for number, folder in found if folder]


def _list_settled_folders(store: Store) -> list[str]:
    """Return the folders of settled session asks."""
    around = wiring.session_folder(store.local_path, "")
    names = sorted(os.listdir(around)) if os.path.isdir(around) else []
    asks = [ask for name in names if (ask := store.asks.get(name))]
    return [wiring.session_folder(store.local_path, ask.id) for ask in asks if not ask.pending]
