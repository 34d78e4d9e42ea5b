"""List what is waiting, most urgent first; with --answer, go through it one by one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from humangate import wiring
from humangate.cli.identity import add_identity, caller
from humangate.cli.screen import coloured, inbox_lines, print_json
from humangate.domain.documents import ask_document
from humangate.errors import UsageError
from humangate.service.sweeping import sweep

if TYPE_CHECKING:
    import argparse

    from humangate.doors.store import Store


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--answer", action="store_true", help="answer them one by one; Enter skips")
    add("--project", metavar="DIR", help="only those of one project")
    add("--limit", type=int, default=50, metavar="N", help="how many at most (50)")
    add("--ids", action="store_true", help="print ids only")
    add_identity(parser)
    add("--json", action="store_true", help="print a JSON list (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    sweep(store)
    asks = store.asks.pending(args.limit + 1, args.project)
    more, asks = len(asks) > args.limit, asks[: args.limit]
    if args.json:
        print_json([ask_document(ask) for ask in asks])
    elif args.ids:
        for ask in asks:
            print(ask.id)
    elif args.answer:
        return _answer_all(store, args)
    elif not asks:
        print("Nothing is waiting for you. An agent or a script asks with: gate ask QUESTION")
    else:
        for line in inbox_lines(asks, store.now()):
            print(line)
        if more:
            print(f"… and more: gate inbox --limit {args.limit * 4}")
        one_by_one = coloured("gate inbox --answer", "bold")
        print(f"\nAnswer: gate answer {asks[0].id}   One by one: {one_by_one}")
    return 0


def _answer_all(store: Store, args: argparse.Namespace) -> int:
    if not sys.stdin.isatty():
        raise UsageError("gate inbox --answer needs a terminal; in a script: gate answer ID VALUE")
    # Imported here: listing needs no prompts.
    from humangate.cli.prompts import prompt_for

    who, seen = caller(store, args), 0
    skipped: set[str] = set()
    while waiting := [
        a for a in store.asks.pending(args.limit, args.project) if a.id not in skipped
    ]:
        skipped.add(waiting[0].id)
        seen += 1
        print()
        prompt_for(store, who, waiting[0])
    print(f"\nThat was all of them: {seen} looked at." if seen else "Nothing is waiting for you.")
    return 0
