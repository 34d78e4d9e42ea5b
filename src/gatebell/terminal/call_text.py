"""One call of a run as lines: its arguments, turns, signals, asks and result."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.runs import journals
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.text.display import SHOWN_CHARACTERS, frame, inert_line
from gatebell.domain.text.redaction import hide_secrets
from gatebell.terminal.asks import ask_lines
from gatebell.terminal.local_times import format_local

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import FlowCall, Turn
    from gatebell.ports.backends.backend import Backend

    Paint = Callable[[str, str], str]


class ShownCall(NamedTuple):
    """A call with its turns and its asks."""

    backend: Backend
    call: FlowCall
    turns: Sequence[Turn]
    asks: Sequence[Ask]


def list_call_lines(
    shown: ShownCall, width: int, paint: Paint, *, whole: bool = False
) -> list[str]:
    """Return the lines of a call; without `whole`, long texts are cut."""
    call, most = shown.call, None if whole else SHOWN_CHARACTERS
    head = f"Run {call.run}, call {call.path}: {journals.describe_call(call.name, call.label)}"
    lines = [paint(head, "bold")]
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
    lines += _format_table(about, width)
    for turn in shown.turns:
        lines += ["", *_format_turn(turn, width, paint, most)]
    for ask in shown.asks:
        lines += ["", *ask_lines(shown.backend, ask, width, paint, whole=whole)]
    lines += _format_json("Result", call.value, width, most)
    lines += _format_json("Error", call.error, width, most)
    if not whole and any("more characters on" in line for line in lines):
        lines.append(f"In full: gate show {call.run} --call {call.path} --all")
    return lines


def _format_turn(turn: Turn, width: int, paint: Paint, most: int | None) -> list[str]:
    who = f"{inert_line(turn.by, 60)} in the session" if turn.by else "the agent"
    lines = [paint(f"Turn {turn.number} of {inert_line(turn.role, 40)}: {who}", "bold")]
    lines += _format_table(
        [
            ("Id", turn.id),
            ("Session", f"{turn.cli}/{turn.session}"),
            ("Forked from", turn.fork_of),
            ("Process", _format_process(turn.process)),
            ("Ask", turn.ask_id),
            ("Started", _format_time(turn.started_at)),
            ("Ended", _format_time(turn.ended_at) or "not yet"),
        ],
        width,
    )
    for name, text in (("Sent", turn.sent), ("Last words", turn.words)):
        if text:
            lines += [name, *frame(hide_secrets(text), width, most=most)]
    return lines + _format_json(
        "Signal", turn.signal if turn.ended_at else turn.offered, width, most
    )


def _format_process(process: str) -> str:
    if not process:
        return ""
    found = parse_identity(process)
    return f"{found.pid} on host {found.host}" if found.host else str(found.pid)


def _format_table(rows: list[tuple[str, str]], width: int) -> list[str]:
    return [f"  {name:11} {inert_line(text, width - 14)}" for name, text in rows if text]


def _format_json(name: str, value: Any, width: int, most: int | None) -> list[str]:
    if value is None:
        return []
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return [name, *frame(text, width, most=most)]


def _format_time(at: datetime | None) -> str:
    return format_local(at) if at else ""
