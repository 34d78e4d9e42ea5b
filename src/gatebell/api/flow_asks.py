"""The calls of a flow that ask people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from gatebell.api.flow_agents import read_returns
from gatebell.api.flow_journal import make_call
from gatebell.domain.asks.ask_options import read_options
from gatebell.domain.asks.asks import parse_priority
from gatebell.domain.enums import AskKind
from gatebell.domain.lists import as_list
from gatebell.domain.text.display import plain
from gatebell.errors import UsageError
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs import flow_calls

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from gatebell.api.session_options import InteractiveOptions
    from gatebell.domain.asks.ask_options import AskOptions
    from gatebell.domain.asks.outcomes import Approval, Choice, Form, Outcome, Session, Text

_T = TypeVar("_T")


def approve(prompt: str, **options: Unpack[AskOptions]) -> Approval:
    """Stop until a person has decided.

    Args:
        prompt: the question
        options: `context`, `timeout` and all others of `AskOptions`, without `owner`

    Returns:
        The approval: true when, and only when, a person approves.

    Example:
        gate = flow.approve("Deploy to production?")
        if not gate:
            return flow.stuck(gate.reason)
    """
    fields = _read_options("approve", options)
    return cast("Approval", make_call("approve", flow_calls.pause, prompt, fields))


# The word of the run's journal for this call, and of `gate show`.
pause = approve


@overload
def choose(
    prompt: str,
    options: Sequence[str],
    *,
    multiple: Literal[False] = False,
    **more: Unpack[AskOptions],
) -> Choice[str]: ...


@overload
def choose(
    prompt: str, options: Sequence[str], *, multiple: Literal[True], **more: Unpack[AskOptions]
) -> Choice[list[str]]: ...


@overload
def choose(
    prompt: str, options: Sequence[str], *, multiple: bool, **more: Unpack[AskOptions]
) -> Choice: ...


def choose(
    prompt: str, options: Sequence[str], *, multiple: bool = False, **more: Unpack[AskOptions]
) -> Choice:
    """Stop until a person has chosen among options.

    Args:
        prompt: the question
        options: the options; a last one `Other…` lets people write their own
        multiple: let them choose several; the value is then a list
        more: `context`, `timeout` and all others of `AskOptions`, without `owner`

    Example:
        database = flow.choose("Which database?", ["PostgreSQL", "SQLite"]).value
    """
    fields = _read_options("choose", more, "multiple")
    if multiple:
        fields["multiple"] = True
    request = Request(prompt, AskKind.CHOICE, as_list(options, "options"), **fields)
    return cast("Choice", make_call("choose", flow_calls.ask, request))


@overload
def ask(prompt: str, **options: Unpack[AskOptions]) -> Text: ...


@overload
def ask(prompt: str, *, returns: type[_T], **options: Unpack[AskOptions]) -> Form[_T]: ...


@overload
def ask(prompt: str, *, returns: object, **options: Unpack[AskOptions]) -> Form: ...


def ask(prompt: str, *, returns: object = None, **options: Unpack[AskOptions]) -> Outcome:
    """Stop until a person has answered with a text, or with a value of some type.

    Args:
        prompt: the question
        returns: a type, dataclass, TypedDict, pydantic model or JSON Schema; without it, text
        options: `context`, `timeout` and all others of `AskOptions`, without `owner` and `secret`

    Example:
        name = flow.ask("Which name?").value
    """
    fields = _read_options("ask", options, "returns")
    schema, convert = (None, None) if returns is str else read_returns(returns)
    if schema is None:
        return make_call("ask", flow_calls.ask, Request(prompt, AskKind.TEXT, **fields))
    request = Request(prompt, AskKind.FORM, schema=schema, **fields)
    outcome = make_call("ask", flow_calls.ask, request)
    return outcome.convert_by(convert) if convert else outcome


def ask_interactive(prompt: str, **options: Unpack[InteractiveOptions]) -> Session:
    """Stop until a person has worked a question out with an agent, in the agent's own program.

    Args:
        prompt: the question
        options: `returns`, `context`, `timeout` and all others of `InteractiveOptions`

    Returns:
        The session: `.outcome` says how it ended, and `.response` is of the type of `returns`.

    Example:
        review = flow.ask_interactive("Is this release ready?", returns=Approval)
        if review.response != "approved":
            return flow.stuck(review.note or review.outcome)
    """
    # Imported here: most flows open no sessions.
    from gatebell.api.session_options import build_request

    request, expected = build_request(prompt, options)
    result = cast("Session", make_call("ask_interactive", flow_calls.ask, request))
    return result.convert_by(expected.convert)


def _read_options(call: str, given: AskOptions, *beside: str) -> dict[str, Any]:
    """Return the options of an ask in a form that is the same when the journal is read."""
    if "owner" in given:
        raise UsageError("an ask of a flow is owned by its run: leave owner= out")
    if given.get("attachments"):
        raise UsageError("an ask of a flow takes no attachments: name the file in its context")
    fields = read_options(call, given, *beside)
    if "context" in fields:
        try:
            plain(fields["context"])
        except UsageError as error:
            raise UsageError(
                "context must be JSON (texts, numbers, True, False, None, lists and dicts): "
                f"{error}"
            ) from None
    if "priority" in fields:
        fields["priority"] = parse_priority(fields["priority"])
    return fields
