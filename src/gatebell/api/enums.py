"""The words of statuses, kinds, states, decisions, outcomes and priorities, for users' code.

Each member is a text, or for a priority a number: `ask.status == AskStatus.PENDING`.
"""

from __future__ import annotations

from gatebell.api.human import HandleStatus
from gatebell.domain.asks.outcomes import SessionOutcome
from gatebell.domain.enums import (
    AnswerOutcome,
    AskKind,
    AskStatus,
    CallName,
    CallState,
    Decision,
    Priority,
    RunState,
    SignalStatus,
    TaskState,
)
from gatebell.domain.runs.flow_terms import ErrorAction, FlowTimeout
from gatebell.domain.tasks.tasks import TaskSize, TaskTimeout, TaskType

__all__ = [
    "AnswerOutcome",
    "AskKind",
    "AskStatus",
    "CallName",
    "CallState",
    "Decision",
    "ErrorAction",
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
