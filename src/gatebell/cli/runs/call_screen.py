"""Show the calls of a run, or one call with its arguments, turns, signals, asks and answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gatebell.app import wiring
from gatebell.cli.runs.run_lines import (
    build_document,
    call_lines,
    find,
    run_id,
    status_lines,
    where_line,
)
from gatebell.cli.screen import add_colour, ask_lines, columns, print_json
from gatebell.domain.asks.documents import ask_document, call_document, turn_document
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.runs import journals
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.text.display import SHOWN_CHARACTERS, frame, inert_line
from gatebell.domain.text.redaction import hide_secrets
from gatebell.errors import NotFoundError
from gatebell.services import members

if TYPE_CHECKING:
    import argparse
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import FlowCall, Turn
    from gatebell.ports.store import Store


def show_calls(store: Store, args: argparse.Namespace) -> int:
    """Show a run with all its calls."""
    run = find(store, run_id(args.id))
    calls = store.runs.calls(run.id)
    if args.json:
        print_json(build_document(store, run) | {"calls": [call_document(call) for call in calls]})
        return 0
    lines = status_lines(store, run, store.now(), members.has_worker(store, run))
    listed = ["", "Calls", *call_lines(store, calls)] if calls else []
    print("\n".join([*lines, *([where_line(run)] if run.folder else []), *listed]))
    if calls:
        print(f"\nOne call: gate show {run.id} --call {calls[-1].path}")
    return 0


def show_call(store: Store, args: argparse.Namespace) -> int:
    run = find(store, run_id(args.id))
    calls = store.runs.calls(run.id)
    call = next((one for one in calls if one.path == args.call), None)
    if call is None:
        there = ", ".join(one.path for one in calls) or "none yet"
        raise NotFoundError(f"run {run.id} has no call {args.call}; its calls: {there}")
    turns = [turn for turn in store.runs.turns(run.id) if turn.path == call.path]
    owner = owner_of(run.id, call.path)
    asks = [ask for ask in store.asks.of_run(run.id) if ask.origin.owner == owner]
    if args.json:
        print_json(
            call_document(call)
            | {
                "turns": [turn_document(turn) for turn in turns],
                "asks": [ask_document(ask) for ask in asks],
            }
        )
        return 0
    print("\n".join(_format_call(store, call, turns, asks, whole=args.all)))
    return 0


def _format_call(
    store: Store, call: FlowCall, turns: list[Turn], asks: list[Ask], *, whole: bool
) -> list[str]:
    most = None if whole else SHOWN_CHARACTERS
    head = f"Run {call.run}, call {call.path}: {journals.describe_call(call.name, call.label)}"
    lines = [add_colour(head, "bold")]
    about = [
        ("State", call.state + (", kept by a person" if call.accepted else "")),
        ("Arguments", call.digest),
        ("Attempt", f"{call.attempt}" + (f", {call.asked} asks settled" if call.asked else "")),
        ("Dangerous", "yes" if call.dangerous else ""),
        ("Started by", call.owner),
        ("Started", _format_time(call.started_at)),
        ("Ended", _format_time(call.ended_at)),
        ("Snapshot", call.snapshot and f"git show {call.snapshot}"),
    ]
    lines += _format_table(about)
    for turn in turns:
        lines += ["", *_format_turn(turn, most)]
    for ask in asks:
        lines += ["", *ask_lines(wiring.local_backend(store), ask, whole=whole)]
    lines += _format_json("Result", call.value, most) + _format_json("Error", call.error, most)
    if not whole and any("more characters on" in line for line in lines):
        lines.append(f"In full: gate show {call.run} --call {call.path} --all")
    return lines


def _format_turn(turn: Turn, most: int | None) -> list[str]:
    who = f"{inert_line(turn.by, 60)} in the session" if turn.by else "the agent"
    lines = [add_colour(f"Turn {turn.number} of {inert_line(turn.role, 40)}: {who}", "bold")]
    lines += _format_table(
        [
            ("Id", turn.id),
            ("Session", f"{turn.cli}/{turn.session}"),
            ("Forked from", turn.fork_of),
            ("Process", _format_process(turn.process)),
            ("Ask", turn.ask_id),
            ("Started", _format_time(turn.started_at)),
            ("Ended", _format_time(turn.ended_at) or "not yet"),
        ]
    )
    for name, text in (("Sent", turn.sent), ("Last words", turn.words)):
        if text:
            lines += [name, *frame(hide_secrets(text), columns(), most=most)]
    return lines + _format_json("Signal", turn.signal if turn.ended_at else turn.offered, most)


def _format_process(process: str) -> str:
    if not process:
        return ""
    found = parse_identity(process)
    return f"{found.pid} on host {found.host}" if found.host else str(found.pid)


def _format_table(rows: list[tuple[str, str]]) -> list[str]:
    return [f"  {name:11} {inert_line(text, columns() - 14)}" for name, text in rows if text]


def _format_json(name: str, value: Any, most: int | None) -> list[str]:
    if value is None:
        return []
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return [name, *frame(text, columns(), most=most)]


def _format_time(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else ""
