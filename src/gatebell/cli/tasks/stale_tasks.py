"""List tasks in progress that no process works on any more, or open them again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.screen import print_json
from gatebell.domain.text.display import inert_line
from gatebell.services.tasks import backlog

if TYPE_CHECKING:
    import argparse


def look(args: argparse.Namespace) -> int:
    """List stale tasks, or open them again with `recover`."""
    store = wiring.open_store()
    stale = backlog.stale(store, timedelta(minutes=args.minutes))
    caller = wiring.caller(store, "cli")
    found = [
        (backlog.recover(store, task, caller) if args.verb == "recover" else task, why)
        for task, why in stale
    ]
    if args.json:
        print_json([{"id": task.id, "state": task.state, "why": why} for task, why in found])
        return 0
    for task, why in found:
        print(f"{task.id}  {inert_line(task.title, 60)}")
        print(f"    {inert_line(why)}")
    if not found:
        print("No task in progress is stale.")
    elif args.verb == "recover":
        print("They are open again. To work on them: gate worker")
    else:
        print("To open them again: gate worker recover")
    return 0
