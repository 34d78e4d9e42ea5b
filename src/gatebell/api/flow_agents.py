"""The call of a flow that lets an agent work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from gatebell.api.flow_journal import make_call
from gatebell.domain.arguments import must_be_count, must_be_flag, must_be_text
from gatebell.domain.enums import SignalStatus
from gatebell.domain.runs.flow_terms import ErrorAction
from gatebell.errors import UsageError
from gatebell.services.runs.agent_call import run_agent
from gatebell.services.runs.agent_call.turn import AgentRequest
from gatebell.services.runs.run_journal import current

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.runs.signals import Signal

_T = TypeVar("_T")


@overload
def run(
    role: str | Callable[..., Any],
    prompt: str | None = None,
    *,
    session: str = "role",
    human: bool = True,
    returns: type[_T],
    tries: int = 3,
    on_error: str | None = None,
) -> Signal[_T]: ...


@overload
def run(
    role: str | Callable[..., Any],
    prompt: str | None = None,
    *,
    session: str = "role",
    human: bool = True,
    returns: object = None,
    tries: int = 3,
    on_error: str | None = None,
) -> Signal: ...


def run(
    role: str | Callable[..., Any],
    prompt: str | None = None,
    *,
    session: str = "role",
    human: bool = True,
    returns: object = None,
    tries: int = 3,
    on_error: str | None = None,
) -> Signal:
    """Let an agent work until it reports; people that it needs are asked in between.

    Args:
        role: the name of a role, or a Python function in the place of an agent
        prompt: the task of this turn
        session: `role` (the session of this role in this run), `new`, or the id of one
        human: False returns NEEDS_HUMAN to the flow instead of asking a person
        returns: a type, dataclass, TypedDict, pydantic model or JSON Schema for the signal's value
        tries: how often the agent may report a value that does not fit
        on_error: `return` returns an agent's ERROR; `stuck` ends the run. By default the word of
            `@flow` counts.

    Returns:
        The agent's signal: `.status`, `.summary`, `.value` and so on.

    Example:
        review = flow.run("reviewer", "Check the diff.", returns=Review)
        print(review.value.approved)
    """
    action = None if on_error is None else read_error_action(on_error)
    if not callable(role):
        must_be_text(role, "the role of flow.run()", "its name, or a function")
        if not role.strip():
            raise UsageError('flow.run() needs the name of a role: flow.run("coder")')
    if prompt is not None:
        must_be_text(prompt, "the prompt of flow.run()")
    must_be_text(session, "session")
    must_be_flag(human, "human")
    must_be_count(tries, "tries")
    work = None if isinstance(role, str) else role
    name = role if isinstance(role, str) else getattr(role, "__name__", type(role).__name__)
    schema, convert = read_returns(returns)
    request = AgentRequest(name, prompt or "", session, human, schema, tries, work)
    signal: Signal = make_call("run", run_agent.call_agent, request)
    if signal.status == SignalStatus.ERROR:
        run_agent.heed_error(current.get(), name, signal, action)
    elif convert and signal.value is not None:
        signal = signal._replace(value=convert(signal.value))
    return signal


def read_returns(returns: object) -> tuple[dict[str, Any] | None, Callable[[Any], Any] | None]:
    if returns is None or isinstance(returns, dict):
        return returns, None
    # Imported here: most flows describe no types.
    from gatebell.api.schemas import expect_form

    expected = expect_form(returns)
    return expected.schema, expected.convert


def read_error_action(given: str) -> ErrorAction:
    try:
        return ErrorAction(given)
    except ValueError:
        known = ", ".join(ErrorAction)
        raise UsageError(f"on_error is one of {known}, not {given!r}") from None
