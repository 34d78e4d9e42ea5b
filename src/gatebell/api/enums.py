"""The words of statuses, kinds, states, decisions, outcomes and priorities, for users' code.

Each member is a text, or for a priority a number: `ask.status == AskStatus.PENDING`.
"""

from __future__ import annotations

from gatebell.domain.enums import (
    AnswerOutcome,
    AskKind,
    AskStatus,
    CallName,
    CallState,
    Decision,
    FlowTimeout,
    HandleStatus,
    Priority,
    RunState,
    SessionOutcome,
    SignalStatus,
    TaskSize,
    TaskState,
    TaskTimeout,
    TaskType,
)

__all__ = [
    "AnswerOutcome",
    "AskKind",
    "AskStatus",
    "CallName",
    "CallState",
    "Decision",
    "FlowTimeout",
    "HandleStatus",
    "Priority",
    "RunState",
    "SessionOutcome",
    "SignalStatus",
    "TaskSize",
    "TaskState",
    "TaskTimeout",
    "TaskType",
]
