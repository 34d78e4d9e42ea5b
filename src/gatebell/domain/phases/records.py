"""Events of phases, read from a run's journal, and their values as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.asks import iso
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.enums import AskKind, CallName, CallState, Decision
from gatebell.domain.phases.phases import Response
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import FlowCall

AGENT_COMPLETED = "agent:completed"
INPUT_REQUESTED = "input:requested"
INPUT_RECEIVED = "input:received"
_MARK = "phase "
_WORK = (CallName.RUN, CallName.STEP, CallName.PARALLEL)
_ASKED = (CallName.PAUSE, CallName.ASK)


class PhaseEvent(NamedTuple):
    """One event in a workflow."""

    name: str
    phase: str
    at: datetime
    data: dict[str, Any]
    """JSON: `output`; `id`, `prompt`, `type`, `options`; `id`, `value`, `approved`, `actor` …"""
    path: str = ""
    """The path of the call that it came from."""

    @property
    def key(self) -> tuple[str, str, str]:
        """A key that is equal for the same event."""
        return self.name, self.path, self.data.get("id", "")


def mark(phase: str) -> str:
    """Return the line in a run's log with which a phase begins."""
    return f"{_MARK}{phase}"


def events(calls: Iterable[FlowCall], asks: Mapping[str, Ask]) -> list[PhaseEvent]:
    """Return all events so far, from the calls in order."""
    found: list[PhaseEvent] = []
    phase = ""
    for call in calls:
        if "." in call.path:
            continue
        if call.name == CallName.LOG and call.label.startswith(_MARK):
            phase = call.label.removeprefix(_MARK)
        elif phase:
            found += events_of(phase, call, asks.get(call.ask_id))
    return found


def events_of(phase: str, call: FlowCall, ask: Ask | None) -> list[PhaseEvent]:
    """Return the events of one call of a phase."""
    is_done = call.state == CallState.RECORDED and call.ended_at
    if call.name in _WORK and is_done:
        data = {"output": _read_output(call)}
        return [PhaseEvent(AGENT_COMPLETED, phase, is_done, data, call.path)]
    if call.name not in _ASKED or ask is None:
        return []
    question = ask.question
    asked: dict[str, Any] = {"id": ask.id, "prompt": question.prompt, "type": question.kind}
    if question.kind == AskKind.CHOICE:
        asked["options"] = list(ask.question.option_labels)
    requested = PhaseEvent(INPUT_REQUESTED, phase, ask.opened_at, asked, call.path)
    if not is_done:
        return [requested]
    answer = response(phase, ask)
    received: dict[str, Any] = {"id": ask.id, "value": answer.value}
    if answer.approved is not None:
        received["approved"] = answer.approved
    received |= {"reason": answer.reason, "actor": answer.actor, "at": iso(answer.at)}
    return [requested, PhaseEvent(INPUT_RECEIVED, phase, answer.at, received, call.path)]


def response(phase: str, ask: Ask) -> Response:
    """Return the response of an answered ask."""
    is_approval = ask.question.kind == AskKind.APPROVAL
    approved = ask.decision == Decision.APPROVED
    return Response(
        phase,
        ask.id,
        ask.question.kind,
        ("yes" if approved else "no") if is_approval else answer_text(ask, ask.value),
        approved if is_approval else None,
        ask.note,
        isinstance(ask.value, dict),
        ask.settled_by,
        ask.settled_at or ask.opened_at,
    )


def response_json(answer: Response) -> dict[str, Any]:
    # `id` is the word of stored results and of their readers.
    fields = {"id" if name == "ask_id" else name: one for name, one in answer._asdict().items()}
    return fields | {"at": iso(answer.at)}


def _read_output(call: FlowCall) -> Any:
    if call.name == CallName.RUN:
        return _read_report(call.value)
    if call.name == CallName.PARALLEL:
        return [_remove_mark(one) for one in call.value]
    return call.value


def _read_report(signal: Any) -> Any:
    """Return an agent's value, or its whole signal without a value."""
    value = signal.get("value")
    return signal if value is None else value


def _remove_mark(value: Any) -> Any:
    if isinstance(value, dict) and list(value) == ["$signal"]:
        return _read_report(value["$signal"])
    return value["$plain"] if isinstance(value, dict) and list(value) == ["$plain"] else value


def as_json(value: Any) -> Any:
    """Convert dataclasses, NamedTuples, models, enums and sets to JSON values."""
    # Imported here: only the states of workflows need it.
    import dataclasses
    import enum

    if isinstance(value, enum.Enum):
        return as_json(value.value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: as_json(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return as_json(value._asdict())
    if isinstance(value, dict):
        return {str(name): as_json(one) for name, one in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(as_json, value), key=repr)
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    raise UsageError(f"{value!r} cannot be written as JSON: use texts, numbers, lists or dicts")
