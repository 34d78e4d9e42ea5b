"""gatebell: coding agents stop and ask, people answer, the work goes on where it stopped.

from gatebell import Gate

if Gate().approve("Deploy build 42?", timeout=3600):
    print("deploying")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gatebell import errors
    from gatebell.api.async_gate import AsyncGate
    from gatebell.api.flows import Flow, flow
    from gatebell.api.gate import Gate
    from gatebell.api.handlers import Reply, cli_prompt
    from gatebell.api.human import Human
    from gatebell.api.phases import HumanInput, Phase, Workflow
    from gatebell.api.schemas import Selection
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.outcomes import Approval, Choice, Form, Outcome, Session, Text
    from gatebell.errors import GateError

__all__ = [
    "Approval",
    "Ask",
    "AsyncGate",
    "Choice",
    "Flow",
    "Form",
    "Gate",
    "GateError",
    "Human",
    "HumanInput",
    "Outcome",
    "Phase",
    "Reply",
    "Selection",
    "Session",
    "Text",
    "Workflow",
    "cli_prompt",
    "errors",
    "flow",
]

# Imported lazily: a program that asks one thing pays for that thing only.
_MODULES = {
    **dict.fromkeys(("Flow", "flow"), "gatebell.api.flows"),
    **dict.fromkeys(("HumanInput", "Phase", "Workflow"), "gatebell.api.phases"),
    **dict.fromkeys(("Reply", "cli_prompt"), "gatebell.api.handlers"),
    **dict.fromkeys(
        ("Approval", "Choice", "Form", "Outcome", "Session", "Text"),
        "gatebell.domain.asks.outcomes",
    ),
    "Ask": "gatebell.domain.asks.asks",
    "AsyncGate": "gatebell.api.async_gate",
    "Gate": "gatebell.api.gate",
    "GateError": "gatebell.errors",
    "Human": "gatebell.api.human",
    "Selection": "gatebell.api.schemas",
    # Words of the specifications that this system grew from. They are not in `__all__`, because
    # each has another spelling: flow.run, flow.approve, returns=str and so on.
    **dict.fromkeys(("ask", "ask_interactive", "pause", "run", "stuck"), "gatebell.api.flows"),
    **dict.fromkeys(("Freeform", "Structured"), "gatebell.api.schemas"),
    "auto_approve": "gatebell.testing",
}


# Calls of a flow that are attributes of `flow` only.
_CALLS = [
    "approve",
    "choose",
    "context",
    "log",
    "now",
    "parallel",
    "random",
    "read",
    "sleep",
    "step",
]


def __getattr__(name: str) -> Any:
    # Imported here: the command line does not need it.
    from importlib import import_module

    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    errors = import_module("gatebell.errors")
    if name == "errors":
        return errors
    hint = ""
    if name in _CALLS:
        hint = f": use flow.{name}"
    elif name.endswith("Error") and hasattr(errors, name):
        hint = ": import it from gatebell.errors"
    raise AttributeError(f"gatebell has no {name!r}{hint}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
