"""The steps in the log of an agent's session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import StrEnum
from gatebell.domain.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.permissions.calls import Call


class StepKind(StrEnum):
    """The kind of a step in a session's log; `problem` is an error of the agent's service."""

    PROMPT = "prompt"
    WORDS = "words"
    PROBLEM = "problem"
    CALL = "call"
    RESULT = "result"


class Step(NamedTuple):
    """One entry of the log."""

    kind: StepKind
    text: str
    tool: str = ""
    input: dict[str, Any] | None = None
    call_id: str = ""
    at: str = ""


def open_call(steps: Sequence[Step], call: Call) -> str:
    """Return the id of the same call without a result; empty if there are several or none."""
    done = {step.call_id for step in steps if step.kind == StepKind.RESULT}
    found = set()
    for step in steps:
        if step.kind == StepKind.CALL and step.tool == call.tool and step.call_id not in done:
            given = step.input or {}
            if given == call.input or (call.command and given.get("command") == call.command):
                found.add(step.call_id)
    return found.pop() if len(found) == 1 else ""


def find_result(steps: Sequence[Step], call_id: str) -> Step | None:
    for step in steps:
        if step.kind == StepKind.RESULT and step.call_id == call_id:
            return step
    return None


def has_result(steps: Sequence[Step], call_id: str) -> bool:
    return find_result(steps, call_id) is not None
