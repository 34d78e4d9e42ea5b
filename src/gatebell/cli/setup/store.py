"""Set up, check or fill a store on PostgreSQL (docs/postgres.md), or fence a restored store.

`migrate` creates or updates the tables of the store that GATE_STORE or GATE_STORE_FILE names. Run
it once before you start a newer version. `check` reports problems of the store and of its server.
`copy` copies a SQLite store into a new PostgreSQL store, and verifies the copy. Stop all programs
that use the old store first.

After a restore from a backup, used approvals look unused. `fence` cancels them, before you start
servers and workers (docs/deployment.md). It works on any store, and only for a person. With the head
that you kept, it says how many events were lost:
gate store fence --kept-head HEAD

Example: gate store migrate
Example: gate store copy ~/.local/share/gatebell/gate.db postgresql://gate@db.example.org/gate
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import settings, wiring
from gatebell.cli.identity import add_identity
from gatebell.cli.screen import print_json
from gatebell.cli.status_line import show_progress
from gatebell.cli.verbs import add_verbs
from gatebell.domain.text.display import inert_line
from gatebell.errors import UsageError
from gatebell.services.asks.attachments import list_faults
from gatebell.services.audit import Checked, check

if TYPE_CHECKING:
    import argparse

_VERBS = {
    "migrate": "create or update the tables",
    "check": "look for problems (exit code 1)",
    "copy FROM TO": "copy a store into a new one, and verify the copy",
    "fence": "cancel what may have been used after the backup that was restored",
}


def configure(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, _VERBS)
    parser.add_argument("stores", nargs="*", metavar="STORE", help="with copy: FROM and TO")
    parser.add_argument(
        "--kept-head", metavar="HEAD", help="with fence: the output of gate audit head, kept before"
    )
    parser.add_argument("--yes", action="store_true", help="with fence: do not ask")
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    if len(args.stores) != (2 if args.verb == "copy" else 0):
        raise UsageError(
            f"usage: gate store {args.verb}{' FROM TO' if args.verb == 'copy' else ''}"
        )
    if args.verb == "migrate":
        return _migrate(args)
    if args.verb == "check":
        return _check(args)
    if args.verb == "fence":
        # Imported here: only this verb needs it.
        from gatebell.cli.setup.store_fence import run_fence

        return run_fence(args)
    return _copy(args)


def _migrate(args: argparse.Namespace) -> int:
    address = settings.store_place(os.environ)
    if not address.startswith(settings.ADDRESSES):
        raise UsageError("a SQLite store updates itself: name a PostgreSQL store in GATE_STORE")
    with show_progress("Updating the tables"):
        done = wiring.migrate_store(address)
    if args.json:
        print_json({"migrations": done})
    else:
        print(f"ran {', '.join(done)}" if done else "the tables are up to date")
    return 0


def _check(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    with show_progress("Checking"):
        sealed = store.audit.seal()
        problems = [*store.problems(), *store.audit.schema_faults(), *list_faults(store)]
    head, standbys = store.audit.head(), store.standbys()
    if args.json:
        counts = {"events": head.seq, "sealed_now": sealed}
        print_json(counts | {"synchronous_standbys": standbys, "problems": problems})
    else:
        for problem in problems:
            print(inert_line(problem))
        if standbys is not None:
            print(_describe_standbys(standbys))
        print(f"{head.seq} events, {sealed} of them sealed just now; {len(problems)} problems")
    return 1 if problems else 0


def _describe_standbys(names: str) -> str:
    if names:
        return f"synchronous standbys: {inert_line(names)}"
    return (
        "no synchronous standby: the last confirmed answers are lost if the server and its disk are "
        "lost (docs/deployment.md)"
    )


def _copy(args: argparse.Namespace) -> int:
    source, target = args.stores
    if not target.startswith(settings.ADDRESSES) or source.startswith(settings.ADDRESSES):
        raise UsageError("expected the path of a SQLite store and an address postgresql://…")
    rows, store, head = wiring.copy_store(source, target, _report)
    checked = Checked()
    with show_progress("Verifying the copy"):
        for _ in check(store, checked, head):
            pass
        checked.faults += list_faults(store)
    if args.json:
        counts = {"rows": rows, "events": checked.events, "head": str(store.audit.head())}
        print_json(counts | {"faults": checked.faults})
    else:
        for fault in checked.faults:
            print(inert_line(fault))
        print(
            f"copied {rows} rows; {checked.events} events verified, {len(checked.faults)} faults; "
            f"the head is {store.audit.head()}"
        )
    return 1 if checked.faults else 0


def _report(table: str, number: int) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{table}: {number} rows", end="", file=sys.stderr)
