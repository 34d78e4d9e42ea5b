"""Read and write backlogs in files: gate task import and export."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from gatebell.app import wiring
from gatebell.app.environment import project_key
from gatebell.cli.identity import caller, read_text
from gatebell.cli.screen import print_json
from gatebell.cli.status_line import show_progress
from gatebell.cli.tasks.tasks_screen import find_project
from gatebell.domain.asks.asks import iso
from gatebell.domain.asks.context_text import context_text
from gatebell.domain.enums import AskStatus
from gatebell.domain.tasks import backlog_jsonl
from gatebell.domain.text.display import inert_line
from gatebell.errors import UsageError
from gatebell.install import settings_files
from gatebell.services.tasks import backlog, import_tasks

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store

_ALL = 1_000_000_000


def import_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    who = caller(store, args)
    text, project = read_text(args.file), find_project(wiring.local_backend(store), args.project)
    try:
        lines = backlog_jsonl.read(text)
        with show_progress("Importing"):
            done = import_tasks.bring_in(
                store, project, who, lines, dry=args.dry_run, key=project_key(project)
            )
    except UsageError as error:
        raise UsageError(f"{args.file}, {error}; nothing was imported") from None
    if args.json:
        document = {"imported": [task.id or None for task in done.tasks], "skipped": done.skipped}
        print_json({**document, "remarks": done.remarks, "dry_run": args.dry_run})
        return 0
    for remark in done.remarks:
        print(f"Remark: {inert_line(remark)}", file=sys.stderr)
    word = "Would import" if args.dry_run else "✓ Imported"
    skipped = f", skipped {len(done.skipped)} that exist already" if done.skipped else ""
    print(f"{word} {len(done.tasks)} task{'' if len(done.tasks) == 1 else 's'}{skipped}")
    return 0


def export_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    project = find_project(wiring.local_backend(store), args.project, may_be_gone=True)
    found = store.tasks.page(project, "all", _ALL, project_key(project))
    ordered = sorted(found, key=lambda task: (task.created_at, task.id))
    text = "".join(
        f"{backlog_jsonl.written(task, _describe_agent_session(store, task))}\n" for task in ordered
    )
    if args.file == "-":
        sys.stdout.write(text)
        return 0
    folder = os.path.dirname(os.path.abspath(args.file))
    if not os.path.isdir(folder):
        raise UsageError(f"{inert_line(folder)} is not a folder; create it, or name another")
    settings_files.write(os.path.abspath(args.file), text.encode())
    if args.json:
        print_json({"file": args.file, "exported": len(ordered)})
    else:
        number = f"{len(ordered)} task{'' if len(ordered) == 1 else 's'}"
        print(f"✓ Exported {number} to {inert_line(args.file)}")
    return 0


def _describe_agent_session(store: Store, task: Task) -> dict[str, Any]:
    """Return the session of a task's agent, and its last question."""
    document: dict[str, Any] = {}
    runs = store.runs.of_task(task.id)
    turns = store.runs.turns(runs[-1].id) if runs else []
    if turns and turns[-1].session:
        document["sessionId"] = turns[-1].session
    if asked := backlog.history(store, task)[-1:]:
        document["question"] = asked[0].question
        if context := context_text(asked[0].context):
            document["questionContext"] = context
        if asked[0].status == AskStatus.ANSWERED:
            document["humanResponse"] = asked[0].answer
            document["humanRespondedAt"] = iso(asked[0].answered_at)
    return document
