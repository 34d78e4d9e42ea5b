"""Read and verify the audit trail, or print its head to keep it elsewhere.

`verify` checks the chain of events. Then it compares the rows of the store with the events, and
lists each table, row and column that was changed by hand. `verify --json` also lists the columns
that no event records, each with its reason.

Keep a head where agents cannot write. It proves later that no events were cut off at the end:
gate audit verify --head HEAD

Example: gate audit verify
Example: gate audit verify --head HEAD
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.asks.values import parse_count
from gatebell.cli.screen import columns, print_json
from gatebell.cli.status_line import show_progress
from gatebell.cli.verbs import add_verbs
from gatebell.domain.asks.documents import entry_document
from gatebell.domain.audit.events import parse_head
from gatebell.domain.text.display import inert_line
from gatebell.errors import UsageError
from gatebell.services.audit import Checked, check
from gatebell.terminal.local_times import format_stamp

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from gatebell.domain.audit.events import Head
    from gatebell.ports.store import Store

_MAX_COLUMNS = 60

_VERBS = {
    "log": "show the newest events",
    "verify": "check all events and rows (exit code 1 after a change)",
    "head": "print the head",
}


def configure(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, _VERBS)
    parser.add_argument(
        "--limit",
        type=parse_count,
        default=50,
        metavar="N",
        help="with log: show at most N events (50)",
    )
    parser.add_argument(
        "--head", metavar="HEAD", help="with verify: compare with this earlier head"
    )
    parser.add_argument("--json", action="store_true", help="print JSON (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    if args.verb == "head":
        head = store.audit.head()
        print_json(head._asdict()) if args.json else print(head)
        return 0
    if args.verb == "log":
        return _print_log(store, args)
    return _verify(store, args)


def _print_log(store: Store, args: argparse.Namespace) -> int:
    entries = store.audit.newest(args.limit)
    if args.json:
        print_json([entry_document(entry) for entry in entries])
        return 0
    for entry in entries:
        event = entry.event
        how = event.content.get("decision") or event.content.get("reason") or ""
        line = (
            f"{entry.seq:6}  {format_stamp(entry.at)}  {event.kind:16} "
            f"{inert_line(event.subject, 24):10} {inert_line(event.actor, 40)}  "
        )
        line = f"{line}{inert_line(str(how), _MAX_COLUMNS)}".rstrip()
        print(inert_line(line, columns()) if sys.stdout.isatty() else line)
    return 0


def _verify(store: Store, args: argparse.Namespace) -> int:
    checked = Checked()
    with show_progress("Verifying"):
        for _ in check(store, checked, read_kept_head("--head", args.head)):
            pass
    faults = checked.faults
    if args.json:
        counts = {"events": checked.events, "rows": checked.rows, "older": checked.older}
        counts["sealed_now"] = checked.sealed
        print_json(counts | {"faults": faults, "not_compared": store.audit.apart()})
    else:
        for fault in faults:
            print(inert_line(fault))
        for sentence in _format_result(checked, len(faults)):
            print(sentence)
    return 1 if faults else 0


def _format_result(checked: Checked, faults: int) -> Iterator[str]:
    result = f"{faults} faults" if faults else "nothing was changed"
    yield f"{checked.events} events and {checked.rows} rows checked: {result}"
    if checked.sealed:
        yield f"{checked.sealed} of the events were sealed just now"
    if checked.older:
        tables = ", ".join(f"{table} {number}" for table, number in checked.older.items())
        yield f"Older than this check, so compared only in part: {tables}"


def read_kept_head(option: str, text: str | None) -> Head | None:
    """Read a head that was kept; None if none was given."""
    if text is None:
        return None
    if (head := parse_head(text)) is None:
        raise UsageError(f"{option}: expected the output of gate audit head, for example 12:3f…")
    return head
