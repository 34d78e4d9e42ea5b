"""List the asks that wait, most urgent first; with --answer, answer them one by one.

Example: gate inbox
Example: gate inbox --answer
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.app.environment import project, project_key
from gatebell.cli.asks.values import parse_count
from gatebell.cli.freezes.freeze_line import print_freeze
from gatebell.cli.identity import add_identity, open_backend, open_reader
from gatebell.cli.screen import (
    add_colour,
    inbox_head,
    inbox_lines,
    make_document,
    print_json,
    short,
)
from gatebell.domain.text.display import age, cell, storable
from gatebell.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from gatebell.ports.backends.backend import Backend


_NOTES_ARE_SHOWN = timedelta(hours=24)
_MAX_NOTES = 5


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--answer", action="store_true", help="answer them one by one; Enter skips, q stops")
    add(
        "--project",
        metavar="DIR",
        help="only asks of the project (the git root) that contains this folder",
    )
    add("--limit", type=parse_count, default=50, metavar="N", help="list at most N (50)")
    add("--ids", action="store_true", help="print ids only")
    add_identity(parser)
    add("--json", action="store_true", help="print a JSON list (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend = open_reader(args)
    where = None if args.project is None else find_asks_project(backend, args.project)
    key = project_key(where) if where else ""
    asks = backend.pending(args.limit + 1, where, key)
    more, asks = len(asks) > args.limit, asks[: args.limit]
    if not args.json and not args.ids:
        print_freeze(backend)
    if args.json:
        print_json([make_document(backend, ask) for ask in asks])
    elif args.ids:
        for ask in asks:
            print(ask.id)
    elif args.answer:
        args.edit = False
        return answer_all(where, args)
    elif not asks:
        print(f"Nothing is waiting{f' in {where}' if where else ' for you'}.")
        print("Agents and scripts ask with: gate ask QUESTION")
        _print_notes(backend)
    else:
        print("\n".join([*inbox_head(), *inbox_lines(backend, asks)]))
        if more:
            print(f"… and more: gate inbox --limit {args.limit * 4}")
        one_by_one = add_colour("gate inbox --answer", "bold")
        first = asks[0]
        inside = f"   With an agent: gate continue {first.id}" if first.question.session else ""
        print(f"\nAnswer: gate answer {first.id}{inside}   One by one: {one_by_one}")
        _print_notes(backend)
    return 0


def find_asks_project(backend: Backend, given: str) -> str:
    """Return the project of a folder; a removed folder may still have asks."""
    path = os.path.abspath(os.path.expanduser(given))
    # Asks store the path as text, even if it is not valid UTF-8.
    found = storable(project(path))
    if not os.path.isdir(path) and not backend.pending(1, found):
        raise UsageError(f"--project: {path} is not a folder; name one that exists")
    return found


def _print_notes(backend: Backend) -> None:
    """Print the recent notes of agents."""
    since = backend.now() - _NOTES_ARE_SHOWN
    notes = [note for note in backend.notes(_MAX_NOTES) if note.sent_at > since]
    if notes:
        print("\nRecent notes from agents (no answer needed):")
    for note in reversed(notes):
        ago = age((backend.now() - note.sent_at).total_seconds())
        print(f"{ago:>4}  {cell(note.author, 14)} {short(note.text)}")


def answer_all(project: str | None, args: argparse.Namespace) -> int:
    """Show the asks that wait, one by one, and prompt for each."""
    if not sys.stdin.isatty():
        raise UsageError("gate inbox --answer needs a terminal; in a script: gate answer ID VALUE")
    # Imported here: a list needs no prompts.
    from gatebell.cli.asks.answer import report_recorded
    from gatebell.cli.asks.prompts import prompt_for
    from gatebell.cli.tasks.respond import STOP, Waiting, edit_one, find_task, is_plain_text

    backend, who = open_backend(args)
    key = project_key(project) if project else ""
    seen: set[str] = set()
    answered = 0
    try:
        while left := [
            ask for ask in backend.pending(args.limit, project, key) if ask.id not in seen
        ]:
            seen.add(left[0].id)
            print(f"\n{add_colour(f'{len(seen)} of {len(seen) + len(left) - 1}', 'dim')}")
            if args.edit and is_plain_text(left[0]):
                waiting = Waiting(left[0], find_task(backend, left[0]))
                answered += edit_one(backend, who, waiting)
            else:
                answered += prompt_for(backend, who, left[0], leave=STOP, tell=report_recorded)
    except KeyboardInterrupt:
        print("Stopped.")
    if seen:
        still = len(backend.pending(args.limit, project, key))
        print(f"\n{answered} answered, {still} still waiting.")
    else:
        print("Nothing is waiting for you.")
    return 0
