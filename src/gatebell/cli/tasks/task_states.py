"""Change the state of tasks by hand: gate task claim, release, close, reopen, defer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.identity import open_backend
from gatebell.cli.screen import print_json
from gatebell.cli.tasks.tasks_screen import tell
from gatebell.domain.asks.documents import task_document

if TYPE_CHECKING:
    import argparse


def claim_(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    tell(backend.claim_task(args.id, who), "Claimed", as_json=args.json)
    return 0


def release_(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    tell(backend.release_task(args.id, who), "Released", as_json=args.json)
    return 0


def close_(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    # Find all of them first, so that a wrong id does not leave only some of them closed.
    ids = dict.fromkeys(backend.task(name).id for name in args.ids)
    closed = []
    for name in ids:
        closed.append(backend.close_task(name, who, args.reason))
        if not args.json:
            tell(closed[-1], "Closed", as_json=False)
    if args.json:
        print_json([task_document(task) for task in closed])
    return 0


def reopen_(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    task = backend.reopen_task(args.id, who, fresh=args.fresh)
    tell(task, "Reopened", as_json=args.json)
    return 0


def defer_(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    tell(backend.defer_task(args.id, who, args.reason), "Deferred", as_json=args.json)
    return 0
