"""The report of a task's agent, and the resulting state of the task."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.enums import SignalStatus, TaskState
from gatebell.domain.runs.signals import to_json
from gatebell.domain.text.display import inert_line

if TYPE_CHECKING:
    from gatebell.domain.runs.signals import Signal

_SHOWN = 60
_STATES: dict[str, TaskState] = {
    "COMPLETED": TaskState.CLOSED,
    SignalStatus.DONE: TaskState.CLOSED,
    "FAILED": TaskState.FAILED,
    SignalStatus.ERROR: TaskState.FAILED,
    SignalStatus.BLOCKED: TaskState.BLOCKED,
}
STATUSES = ("completed", "failed", "blocked", "needs_input")
"""The statuses that agents of tasks should report; those of flows are accepted too."""


class Report(NamedTuple):
    """The result of a task's run, which is copied to the task."""

    state: TaskState
    """`closed`, `failed`, `blocked` or `deferred`."""
    summary: str = ""
    details: str = ""
    status: str = ""
    """The reason if it is not closed, or a remark for people."""
    confidence: float | None = None
    branch: str = ""
    commit: str = ""


def read(signal: Signal, unanswered: TaskState) -> Report:
    """Return the report in a signal; `unanswered` is the state after a timeout."""
    state = _STATES.get(signal.status, TaskState.FAILED)
    status = "" if state == TaskState.CLOSED else signal.reason or signal.own_words
    if signal.status == SignalStatus.NEEDS_HUMAN:
        state = unanswered
    elif signal.status not in _STATES:
        given = inert_line(signal.status, 60)
        known = ", ".join(STATUSES)
        status = f"the agent reported {given}, expected {known}. It said: {_dump_signal(signal)}"
    return Report(state, signal.own_words, signal.details, status, signal.confidence)


def doubt(signal: Signal, threshold: float | None) -> str:
    """Return why the agent's confidence is too low, as a sentence; empty if it is enough.

    Only a number from 0 to 1 is a confidence. Any other value, or none, counts as 0.
    """
    sure = signal.confidence
    if threshold is None or (sure or 0.0) >= threshold:
        return ""
    if sure is not None:
        return describe_confidence(sure)
    given = signal.more.get("confidence")
    if given is None:
        return "Its agent gave no confidence."
    return f"Its agent gave no readable confidence: {inert_line(json.dumps(given), _SHOWN)}."


def describe_confidence(sure: float) -> str:
    return f"Its agent is {sure:.0%} sure."


def _dump_signal(signal: Signal) -> str:
    return repr(to_json(signal))[:2_000]
