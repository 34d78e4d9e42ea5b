"""Remove the folders of completed runs, where no work is lost; says what it keeps and why.

Runs that are stuck or failed keep theirs, for they can be taken up again; gate delete removes it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from humangate import wiring
from humangate.domain.display import inert
from humangate.service.journalling import place_of

if TYPE_CHECKING:
    import argparse

_MOST_RUNS = 1_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    workspace = wiring.workspace(store)
    ended = [one for one in store.runs.newest(_MOST_RUNS) if one.ended and one.branch]
    found = [one for one in reversed(ended) if os.path.isdir(one.root)]
    if not found:
        print("There is nothing to clean: no run that has ended has a folder of its own.")
    for one in found:
        if one.state == "completed":
            kept = workspace.remove(place_of(one), one.id, dry_run=args.dry_run)
            kept += f" To drop it: gate delete {one.id} --force" if kept else ""
        else:
            kept = f"it is {one.state} and can be taken up again; gate delete {one.id} removes it."
        if kept:
            print(f"Kept run {one.id}: {inert(kept)}")
        else:
            print(
                f"{'Would remove' if args.dry_run else 'Removed'} run {one.id}: {inert(one.root)}"
            )
    return 0
