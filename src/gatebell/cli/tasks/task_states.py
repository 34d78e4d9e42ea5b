"""Change the state of tasks by hand: gate task claim, release, close, reopen, defer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.identity import caller
from gatebell.cli.screen import print_json
from gatebell.cli.tasks.tasks_screen import tell
from gatebell.domain.asks.documents import task_document
from gatebell.services.tasks import backlog

if TYPE_CHECKING:
    import argparse


def claim_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    tell(backlog.claim(store, args.id, caller(store, args)), "Claimed", as_json=args.json)
    return 0


def release_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    tell(backlog.release(store, args.id, caller(store, args)), "Released", as_json=args.json)
    return 0


def close_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    who = caller(store, args)
    # Find all of them first, so that a wrong id does not leave only some of them closed.
    ids = dict.fromkeys(backlog.get(store, name).id for name in args.ids)
    closed = []
    for name in ids:
        closed.append(backlog.close(store, name, who, args.reason))
        if not args.json:
            tell(closed[-1], "Closed", as_json=False)
    if args.json:
        print_json([task_document(task) for task in closed])
    return 0


def reopen_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    task = backlog.reopen(store, args.id, caller(store, args), fresh=args.fresh)
    tell(task, "Reopened", as_json=args.json)
    return 0


def defer_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    task = backlog.defer(store, args.id, caller(store, args), args.reason)
    tell(task, "Deferred", as_json=args.json)
    return 0
