"""gatebell: coding agents stop and ask, people answer, the work goes on where it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gatebell.api.async_gate import AsyncGate
    from gatebell.api.flows import (
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
    from gatebell.api.gate import Gate
    from gatebell.api.handlers import cli_prompt
    from gatebell.api.human import Human
    from gatebell.api.phases import HumanInput, Phase, Workflow
    from gatebell.api.schemas import Freeform, Selection, Structured
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.outcomes import Approval, Choice, Form, Outcome, Session, Text
    from gatebell.errors import (
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

_FLOWS = (
    *("ask", "ask_interactive", "context", "flow", "log", "now", "parallel", "pause", "random"),
    *("read", "run", "sleep", "step", "stuck"),
)
# Given lazily: whoever imports gatebell to ask one thing pays for that thing only.
_HOMES = {
    **dict.fromkeys(_FLOWS, "gatebell.api.flows"),
    "Approval": "gatebell.domain.asks.outcomes",
    "Ask": "gatebell.domain.asks.asks",
    "AsyncGate": "gatebell.api.async_gate",
    "Choice": "gatebell.domain.asks.outcomes",
    "Form": "gatebell.domain.asks.outcomes",
    "Freeform": "gatebell.api.schemas",
    "Gate": "gatebell.api.gate",
    "Human": "gatebell.api.human",
    "HumanInput": "gatebell.api.phases",
    "Outcome": "gatebell.domain.asks.outcomes",
    "Phase": "gatebell.api.phases",
    "Selection": "gatebell.api.schemas",
    "Session": "gatebell.domain.asks.outcomes",
    "Structured": "gatebell.api.schemas",
    "Text": "gatebell.domain.asks.outcomes",
    "Workflow": "gatebell.api.phases",
    "cli_prompt": "gatebell.api.handlers",
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
        raise AttributeError(f"gatebell has no {name!r}")
    # Imported here: it is not needed for the command line.
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "gatebell.errors")), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
