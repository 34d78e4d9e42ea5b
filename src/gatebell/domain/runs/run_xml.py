"""A run as JSON or XML: its calls, its nested branches, and its asks to people."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import iso
from gatebell.domain.asks.outcomes import Session, answer_text, sum_up
from gatebell.domain.enums import AskStatus
from gatebell.domain.sessions.visits import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import FlowCall, Run, Turn
    from gatebell.domain.sessions.visits import Terms, Visit

# Characters that XML does not allow, not even escaped.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES: dict[str, str | int | None] = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
_IN_ATTRIBUTES = _ESCAPES | {'"': "&quot;", "\n": "&#10;", "\t": "&#9;"}

_OF_RUN = ("id", "flow", "state", "created_at", "ended_at", "parent")
_OF_CALL = ("path", "name", "label", "state", "started_at", "ended_at")
_OF_TURN = ("number", "role", "session", "by", "status", "started_at", "ended_at")
_OF_INTERACTION = ("type", "status", "id", "decision", "by", "via")
_OUTCOME_TYPES = {answer: outcome for outcome, answer in ANSWERS.items()}
_WAITING = "Waiting for interactive session to complete..."


def plan(
    run: Run,
    calls: Sequence[FlowCall],
    turns: Sequence[Turn],
    asks: Sequence[Ask],
    visits: Sequence[Visit] = (),
) -> dict[str, Any]:
    """Return a run as JSON, with the `asks` of its calls and the `visits` to their sessions."""
    made: dict[str, dict[str, Any]] = {}
    for call in calls:
        made[call.path] = _build_call(call, turns, asks, visits)
    top = []
    for path, one in made.items():
        parts = path.split(".")
        inside = made.get(".".join(parts[:-2]))
        if inside is None:
            top.append(one)
        else:
            inside["branches"].setdefault(parts[-2], []).append(one)
    return {
        "id": run.id,
        "flow": run.flow,
        "state": run.state,
        "reason": run.reason,
        "created_at": iso(run.created_at),
        "ended_at": iso(run.ended_at),
        "parent": run.parent,
        "prompt": run.prompt,
        "calls": top,
        "result": run.result,
    }


def _build_call(
    call: FlowCall, turns: Sequence[Turn], asks: Sequence[Ask], visits: Sequence[Visit]
) -> dict[str, Any]:
    return {
        "path": call.path,
        "name": call.name,
        "label": call.label,
        "state": call.state,
        "started_at": iso(call.started_at),
        "ended_at": iso(call.ended_at),
        "turns": [_build_turn(turn) for turn in turns if turn.path == call.path],
        "interactions": [
            _build_interaction(ask, visits)
            for ask in asks
            if ask.origin.owner.partition("/")[2] == call.path
        ],
        "value": call.value,
        "error": call.error,
        "branches": {},
    }


def _build_turn(turn: Turn) -> dict[str, Any]:
    signal = turn.signal or {}
    return {
        "number": turn.number,
        "role": turn.role,
        "session": f"{turn.cli}/{turn.session}",
        "by": turn.by,
        "status": signal.get("status", ""),
        "summary": signal.get("summary") or signal.get("reason") or signal.get("question") or "",
        "started_at": iso(turn.started_at),
        "ended_at": iso(turn.ended_at),
    }


def _build_interaction(ask: Ask, visits: Sequence[Visit]) -> dict[str, Any]:
    waited = ask.settled_at and (ask.settled_at - ask.opened_at).total_seconds()
    terms = ask.question.session
    session = terms and _build_session(ask, terms, [one for one in visits if one.ask_id == ask.id])
    return {
        "id": ask.id,
        "kind": ask.question.kind,
        "status": ask.status,
        "decision": ask.decision,
        "by": ask.settled_by,
        "via": ask.settled_via,
        "prompt": ask.question.prompt,
        "answer": None if ask.value is None else answer_text(ask, ask.value),
        "note": ask.note,
        "seconds": waited,
        "session": session,
    }


def _build_session(ask: Ask, terms: Terms, visits: Sequence[Visit]) -> dict[str, Any]:
    came = Session(ask, ask.value, sum_up(ask, visits))
    seconds = terms.session_seconds
    return {
        "outcome": came.outcome,
        "response": came.response,
        "duration_ms": came.duration_ms,
        "attempts": came.attempts,
        "model": terms.model,
        "timeout_ms": None if seconds is None else round(seconds * 1000),
        "outcome_type": _OUTCOME_TYPES[terms.answer],
    }


def to_xml(document: Mapping[str, Any]) -> str:
    """Return the JSON of a run as valid XML, for any texts."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(_format_start("run", document, _OF_RUN))
    lines += _format_texts(1, document, ("prompt", "reason"))
    for call in document["calls"]:
        lines += _format_call(1, call)
    lines += _format_json(1, "result", document["result"])
    return "\n".join([*lines, "</run>"])


def _format_call(depth: int, call: Mapping[str, Any]) -> Iterator[str]:
    pad = "  " * depth
    yield pad + _format_start("call", call, _OF_CALL)
    for turn in call["turns"]:
        summary = _escape_text(turn["summary"])
        yield f"{pad}  {_format_start('turn', turn, _OF_TURN)}{summary}</turn>"
    for one in call["interactions"]:
        yield from _format_interaction(depth + 1, one)
    for number, inner in call["branches"].items():
        yield f'{pad}  <branch number="{number}">'
        for one in inner:
            yield from _format_call(depth + 2, one)
        yield f"{pad}  </branch>"
    yield from _format_json(depth + 1, "value", call["value"])
    yield from _format_json(depth + 1, "error", call["error"])
    yield f"{pad}</call>"


def _format_interaction(depth: int, one: Mapping[str, Any]) -> Iterator[str]:
    pad = "  " * depth
    if one["session"]:
        yield from _format_session(depth, one, one["session"])
        return
    named = {**one, "type": one["kind"]}
    yield pad + _format_start("human-interaction", named, _OF_INTERACTION)
    yield from _format_texts(depth + 1, one, ("prompt", "answer", "note"))
    if one["seconds"] is not None:
        yield f"{pad}  <seconds>{one['seconds']:g}</seconds>"
    yield f"{pad}</human-interaction>"


def _format_session(
    depth: int, one: Mapping[str, Any], session: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a session in a special format, which other programs read.

    There the status is the end of the session, and the outcome is its decision.
    """
    pad = "  " * depth
    named = {"type": "interactive_session", "status": session["outcome"]}
    yield pad + _format_start("human-interaction", named, ("type", "status"))
    yield from _format_texts(depth + 1, one, ("prompt",))
    if one["status"] == AskStatus.PENDING:
        yield f"{pad}  <config>"
        config = {
            "model": session["model"],
            "timeout": session["timeout_ms"] and str(session["timeout_ms"]),
            "outcome-type": session["outcome_type"],
        }
        yield from _format_texts(depth + 2, config, config)
        yield f"{pad}  </config>"
        yield f"{pad}  <message>{_WAITING}</message>"
    else:
        decided = one["decision"] or (
            session["outcome"] if one["status"] == AskStatus.ANSWERED else ""
        )
        yield from _format_texts(depth + 1, {"outcome": decided}, ("outcome",))
        yield f"{pad}  <duration>{session['duration_ms']}</duration>"
        yield from _format_json(depth + 1, "response", session["response"])
        yield from _format_texts(depth + 1, one, ("note",))
    yield f"{pad}</human-interaction>"


def _format_start(tag: str, values: Mapping[str, Any], names: Iterable[str]) -> str:
    given = [(name, values[name]) for name in names if values[name] not in (None, "")]
    words = [tag, *(f'{name}="{_escape_attribute(str(value))}"' for name, value in given)]
    return f"<{' '.join(words)}>"


def _format_texts(depth: int, values: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if values[name]:
            yield f"{'  ' * depth}<{name}>{_escape_text(values[name])}</{name}>"


def _format_json(depth: int, tag: str, value: Any) -> Iterator[str]:
    if value is not None:
        yield f"{'  ' * depth}<{tag}>{_escape_text(json.dumps(value, ensure_ascii=False))}</{tag}>"


def _escape_text(text: str) -> str:
    return _escape(text, _ESCAPES)


def _escape_attribute(text: str) -> str:
    return _escape(text, _IN_ATTRIBUTES)


def _escape(text: str, escapes: dict[str, str | int | None]) -> str:
    return _ILLEGAL.sub("\ufffd", text).translate(str.maketrans(escapes))
