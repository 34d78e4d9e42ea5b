"""humangate: coding agents stop and ask, people answer, the work goes on where it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from humangate.api.async_gate import AsyncGate
    from humangate.domain.asks.asks import Ask
    from humangate.domain.asks.outcomes import Approval, Choice, Form, Outcome, Session, Text
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
    from humangate.api.flows import (
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
    from humangate.api.gate import Gate
    from humangate.api.handlers import cli_prompt
    from humangate.api.human import Human
    from humangate.api.phases import HumanInput, Phase, Workflow
    from humangate.api.schemas import Freeform, Selection, Structured

_FLOWS = (
    *("ask", "ask_interactive", "context", "flow", "log", "now", "parallel", "pause", "random"),
    *("read", "run", "sleep", "step", "stuck"),
)
# Given lazily: whoever imports humangate to ask one thing pays for that thing only.
_HOMES = {
    **dict.fromkeys(_FLOWS, "humangate.api.flows"),
    "Approval": "humangate.domain.asks.outcomes",
    "Ask": "humangate.domain.asks.asks",
    "AsyncGate": "humangate.api.async_gate",
    "Choice": "humangate.domain.asks.outcomes",
    "Form": "humangate.domain.asks.outcomes",
    "Freeform": "humangate.api.schemas",
    "Gate": "humangate.api.gate",
    "Human": "humangate.api.human",
    "HumanInput": "humangate.api.phases",
    "Outcome": "humangate.domain.asks.outcomes",
    "Phase": "humangate.api.phases",
    "Selection": "humangate.api.schemas",
    "Session": "humangate.domain.asks.outcomes",
    "Structured": "humangate.api.schemas",
    "Text": "humangate.domain.asks.outcomes",
    "Workflow": "humangate.api.phases",
    "cli_prompt": "humangate.api.handlers",
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
