"""Show the changes that a run's agents made since it started, with untracked files.

Example: gate diff 3 --stat
Example: gate diff 3 --call 2
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import runtime, wiring
from gatebell.cli.runs.run_lines import add_run_id, find
from gatebell.cli.screen import add_colour, columns, print_json
from gatebell.cli.status_line import show_progress
from gatebell.domain.runs.changes import Changed, list_changed_files
from gatebell.domain.text.display import cell, inert, inert_line
from gatebell.errors import RefusedError
from gatebell.services.runs import manage_runs
from gatebell.services.runs.run_changes import read_changes
from gatebell.terminal.runs import folder_is_gone

if TYPE_CHECKING:
    import argparse

_COLOURS = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}


def configure(parser: argparse.ArgumentParser) -> None:
    add_run_id(parser)
    parser.add_argument(
        "--call", default="", metavar="N", help="only the changes while this call worked"
    )
    parser.add_argument(
        "--stat", action="store_true", help="print only the number of changed lines per file"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    made = find(store, args.id)
    if not made.folder:
        raise RefusedError(f"run {made.id} has no folder yet; see: gate status {made.id}")
    manage_runs.must_be_here(store, made, f"gate diff {made.id}")
    if not os.path.isdir(made.folder):
        raise folder_is_gone(made)
    with show_progress("Comparing files"):
        diff = read_changes(store, runtime.workspace(store), made, args.call)
    files = list_changed_files(diff)
    if args.json:
        listed = [one._asdict() for one in files]
        print_json({"run": made.id, "files": listed, **({} if args.stat else {"diff": diff})})
    elif not diff:
        print(f"Nothing has changed in {inert_line(made.folder)}", file=sys.stderr)
    elif args.stat:
        print("\n".join(stat_lines(files)))
    elif sys.stdout.isatty():
        for line in inert(diff).splitlines():
            print(add_colour(line, _COLOURS[line[0]]) if line[:1] in _COLOURS else line)
    else:
        sys.stdout.write(diff)
    return 0


def stat_lines(files: list[Changed]) -> list[str]:
    """Return one line per file with the numbers of added and removed lines."""
    room = max(20, min(columns() - 20, max(len(one.path) for one in files)))
    lines = [
        f"{cell(one.path, room)}  "
        + (
            "binary"
            if one.binary
            else f"{add_colour(f'+{one.added}', 'green')} {add_colour(f'-{one.removed}', 'red')}"
        )
        for one in files
    ]
    added, removed = sum(one.added for one in files), sum(one.removed for one in files)
    return [*lines, f"{len(files)} changed, +{added} -{removed} lines"]
