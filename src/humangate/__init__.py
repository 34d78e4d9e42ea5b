"""humangate: coding agents stop and ask, people answer, the work goes on where it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from humangate.aio import AsyncGate
    from humangate.domain.asks import Ask
    from humangate.domain.outcomes import Approval, Choice, Form, Outcome, Session, Text
    from humangate.errors import (
        AgentRefusedError,
        AlreadySettledError,
        BranchFailedError,
        CancelledError,
        GateError,
        InvalidAnswerError,
        MissingAgentError,
        NotAnsweredError,
        NotFoundError,
        RefusedError,
        StepFailedError,
        StoreTroubleError,
        TimedOutError,
        UnfinishedError,
        UsageError,
    )
    from humangate.flows import (
        ask,
        ask_interactive,
        context,
        flow,
        log,
        now,
        parallel,
        pause,
        random,
        read,
        run,
        sleep,
        step,
        stuck,
    )
    from humangate.gate import Gate
    from humangate.handlers import cli_prompt
    from humangate.human import Human
    from humangate.phases import HumanInput, Phase, Workflow
    from humangate.shapes import Freeform, Selection, Structured

_FLOWS = (
    *("ask", "ask_interactive", "context", "flow", "log", "now", "parallel", "pause", "random"),
    *("read", "run", "sleep", "step", "stuck"),
)
# Given lazily: whoever imports humangate to ask one thing pays for that thing only.
_HOMES = {
    **dict.fromkeys(_FLOWS, "humangate.flows"),
    "Approval": "humangate.domain.outcomes",
    "Ask": "humangate.domain.asks",
    "AsyncGate": "humangate.aio",
    "Choice": "humangate.domain.outcomes",
    "Form": "humangate.domain.outcomes",
    "Freeform": "humangate.shapes",
    "Gate": "humangate.gate",
    "Human": "humangate.human",
    "HumanInput": "humangate.phases",
    "Outcome": "humangate.domain.outcomes",
    "Phase": "humangate.phases",
    "Selection": "humangate.shapes",
    "Session": "humangate.domain.outcomes",
    "Structured": "humangate.shapes",
    "Text": "humangate.domain.outcomes",
    "Workflow": "humangate.phases",
    "cli_prompt": "humangate.handlers",
}

__all__ = [
    "AgentRefusedError",
    "AlreadySettledError",
    "Approval",
    "Ask",
    "AsyncGate",
    "BranchFailedError",
    "CancelledError",
    "Choice",
    "Form",
    "Freeform",
    "Gate",
    "GateError",
    "Human",
    "HumanInput",
    "InvalidAnswerError",
    "MissingAgentError",
    "NotAnsweredError",
    "NotFoundError",
    "Outcome",
    "Phase",
    "RefusedError",
    "Selection",
    "Session",
    "StepFailedError",
    "StoreTroubleError",
    "Structured",
    "Text",
    "TimedOutError",
    "UnfinishedError",
    "UsageError",
    "Workflow",
    "ask",
    "ask_interactive",
    "cli_prompt",
    "context",
    "flow",
    "log",
    "now",
    "parallel",
    "pause",
    "random",
    "read",
    "run",
    "sleep",
    "step",
    "stuck",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"humangate has no {name!r}")
    # Imported here: it is not needed for the command line.
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "humangate.errors")), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
