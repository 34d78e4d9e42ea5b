"""Flows: plain Python that runs agents, stops for people, and goes on after a crash.

Each function here is a call that is recorded in the run's journal. When a flow is taken up
again its code runs from the beginning, and recorded calls return their recorded results.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    cast,
    overload,
)

from gatebell.api.keywords import suggest_keywords
from gatebell.domain.asks.ask_options import read_options
from gatebell.domain.asks.asks import parse_priority
from gatebell.domain.asks.times import as_seconds
from gatebell.domain.enums import AskKind, SignalStatus
from gatebell.domain.lists import as_items, as_list
from gatebell.domain.runs.flow_terms import ErrorAction, FlowTerms, FlowTimeout
from gatebell.errors import StoreError, UsageError
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs import flow_calls, parallel_branches
from gatebell.services.runs.agent_call import run_agent
from gatebell.services.runs.agent_call.turn import AgentRequest
from gatebell.services.runs.parallel_branches import Stuck
from gatebell.services.runs.run_journal import Unwritable, current

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime
    from typing import Unpack

    from gatebell.api.session_options import InteractiveOptions
    from gatebell.domain.asks.ask_options import AskOptions
    from gatebell.domain.asks.outcomes import Approval, Choice, Form, Outcome, Session, Text
    from gatebell.domain.asks.times import Seconds
    from gatebell.domain.runs.signals import Signal
    from gatebell.services.runs.run_journal import Branch

_T = TypeVar("_T")
_R = TypeVar("_R")
_P = ParamSpec("_P")
_A_DAY_SECONDS = 86_400.0


class Flow(Generic[_P, _R]):
    """A function that can be run as a flow; it can be called like the function, too."""

    def __init__(self, work: Callable[_P, _R], terms: FlowTerms) -> None:
        self.gatebell_flow = True
        """By this attribute a flow is found in its module."""
        self.work = work
        self.terms = terms
        self.name = work.__name__
        self.__doc__ = work.__doc__

    def __call__(self, *args: _P.args, **named: _P.kwargs) -> _R:
        return self.work(*args, **named)


class Context(NamedTuple):
    """The run, the folder and the place of a flow's code."""

    run_id: int
    prompt: str
    repo: str
    """The project that the run belongs to."""
    folder: str
    """The folder in which its agents work."""
    iteration: int
    """How many calls this branch has made."""
    key: str
    """Inside a step: the same at every try of this step, for services that want one."""


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
    action = None if on_error is None else _read_error_action(on_error)
    work = None if isinstance(role, str) else role
    name = role if isinstance(role, str) else getattr(role, "__name__", type(role).__name__)
    schema, convert = _read_returns(returns)
    request = AgentRequest(name, prompt or "", session, human, schema, tries, work)
    signal: Signal = _call("run", run_agent.call_agent, request)
    if signal.status == SignalStatus.ERROR:
        run_agent.heed_error(current.get(), name, signal, action)
    elif convert and signal.value is not None:
        signal = signal._replace(value=convert(signal.value))
    return signal


def _read_returns(returns: object) -> tuple[dict[str, Any] | None, Callable[[Any], Any] | None]:
    if returns is None or isinstance(returns, dict):
        return returns, None
    # Imported here: most flows describe no types.
    from gatebell.api.schemas import expect_form

    expected = expect_form(returns)
    return expected.schema, expected.convert


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
    return cast("Approval", _call("approve", flow_calls.pause, prompt, fields))


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
    return cast("Choice", _call("choose", flow_calls.ask, request))


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
    schema, convert = (None, None) if returns is str else _read_returns(returns)
    if schema is None:
        return _call("ask", flow_calls.ask, Request(prompt, AskKind.TEXT, **fields))
    request = Request(prompt, AskKind.FORM, schema=schema, **fields)
    outcome = _call("ask", flow_calls.ask, request)
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
    result = cast("Session", _call("ask_interactive", flow_calls.ask, request))
    return result.convert_by(expected.convert)


def _read_options(call: str, given: AskOptions, *beside: str) -> dict[str, Any]:
    """Return the options of an ask in a form that is the same when the journal is read."""
    if "owner" in given:
        raise UsageError("an ask of a flow is owned by its run: leave owner= out")
    fields = read_options(call, given, *beside)
    if "priority" in fields:
        fields["priority"] = parse_priority(fields["priority"])
    return fields


def stuck(reason: str = "") -> Stuck:
    """End the run as stuck, here: no code after it runs, even without `return`.

    Outside of a flow it only returns the result that would end one.

    Example:
        return flow.stuck("the architecture was rejected")
    """
    result = Stuck(reason or "the flow gave no reason")
    try:
        branch = current.get()
    except LookupError:
        return result
    if not branch.step:
        branch.halt_at(result.reason, f"{branch.prefix}{branch.count}" if branch.prefix else "")
    return result


def step(
    work: Callable[..., Any], *args: Any, name: str = "", dangerous: bool = False, **named: Any
) -> Any:
    """Call a function and record its result.

    An interrupted step runs again, so it must be repeatable. A dangerous step does not run again:
    a person is asked whether it happened.

    Args:
        work: the function; it gets `args` and `named`
        name: the label of the step; by default the name of the function
        dangerous: it must not happen twice

    Returns:
        The result of the function, which must be JSON.

    Raises:
        StepFailedError: The function raised an error, now or before a replay.

    Example:
        version = flow.step(read_version, "pyproject.toml")
    """
    if not callable(work):
        raise UsageError(f"step() takes a function first, not {work!r}: step(work, …)")
    label = name or getattr(work, "__name__", type(work).__name__)
    arguments = [list(args), named]
    return _call(
        "step", flow_calls.step, lambda: work(*args, **named), label, arguments, dangerous=dangerous
    )


def read(path: str) -> str:
    """Return the text of a file in the run's folder, the same at every replay."""
    return _call("read", flow_calls.read, path)


def parallel(
    *works: Callable[[], Any] | Iterable[Callable[[], Any]],
    limit: int | None = None,
    settle: bool = False,
) -> list[Any]:
    """Run branches at once.

    Args:
        works: functions without arguments, or one list of them
        limit: how many run at a time
        settle: return the result of every branch, even if one fails

    Returns:
        Their results, in their order.

    Raises:
        BranchFailedError: A branch failed; the others stop at their next call.

    Example:
        flow.parallel(lambda: flow.run("coder"), lambda: flow.run("writer"))
    """
    is_list = len(works) == 1 and hasattr(works[0], "__iter__") and not callable(works[0])
    given = cast("Iterable[Callable[[], Any]]", works[0] if is_list else works)
    branches = as_items(given, "the branches of parallel()")
    if not all(callable(one) for one in branches):
        raise UsageError("parallel takes functions without arguments: lambda: run('coder', …)")
    if limit is not None and limit < 1:
        raise UsageError("limit: at least one branch at a time")
    return _call("parallel", parallel_branches.parallel, branches, limit, settle=settle)


def sleep(duration: Seconds) -> None:
    """Go on after a time; no process waits during it.

    Args:
        duration: a number of seconds, or a timedelta
    """
    seconds = duration.total_seconds() if hasattr(duration, "total_seconds") else duration
    _call("sleep", flow_calls.sleep, seconds)


def now() -> datetime:
    """Return the time, the same at every replay."""
    return _call("now", flow_calls.now)


def random() -> float:
    """Return a number from 0 to 1, the same at every replay."""
    return _call("random", flow_calls.random)


def log(text: str) -> None:
    """Write a line into the run's record, once."""
    if not isinstance(text, str):
        raise UsageError(f"log() takes text, not {type(text).__name__}")
    _call("log", flow_calls.log, text)


def context() -> Context:
    """Return the run, the folder and the place of this code."""
    branch = _find_branch("context")
    run_now, call = branch.drive.run, branch.step
    return Context(
        run_now.id,
        run_now.prompt,
        run_now.project,
        run_now.folder,
        branch.count,
        call.key if call else "",
    )


class FlowCalls:
    """`@flow`, and the calls of a flow as its attributes.

    Example:
        from gatebell import flow


        @flow
        def feature(prompt: str):
            flow.run("coder", prompt)
            if not flow.approve("Deploy it?"):
                return flow.stuck("deployment rejected")
            flow.run("deployer")
    """

    __name__ = "flow"

    def __init__(self) -> None:
        self.run = suggest_keywords(run)
        self.approve = approve
        self.choose = choose
        self.ask = ask
        self.ask_interactive = ask_interactive
        self.step = step
        self.parallel = suggest_keywords(parallel)
        self.read = read
        self.sleep = sleep
        self.now = now
        self.random = random
        self.log = log
        self.stuck = stuck
        self.context = context

    @overload
    def __call__(self, work: Callable[_P, _R], /) -> Flow[_P, _R]: ...

    @overload
    def __call__(
        self,
        *,
        on_timeout: str = FlowTimeout.STUCK,
        human_timeout: Seconds = _A_DAY_SECONDS,
        remind_every: Seconds | None = None,
        human: bool = True,
        on_error: str = ErrorAction.STUCK,
    ) -> Callable[[Callable[_P, _R]], Flow[_P, _R]]: ...

    def __call__(
        self,
        work: Callable[..., Any] | None = None,
        *,
        on_timeout: str = FlowTimeout.STUCK,
        human_timeout: Seconds = _A_DAY_SECONDS,
        remind_every: Seconds | None = None,
        human: bool = True,
        on_error: str = ErrorAction.STUCK,
    ) -> Any:
        """Make a function a flow.

        Args:
            work: the function; it gets the prompt of the run
            on_timeout: what happens to an ask without an answer. `stuck` ends the run, `fail`
                raises StepFailedError, `return` returns an outcome that is not an approval, and
                `notify_again` reminds people and goes on waiting.
            human_timeout: how long each ask waits, unless it has its own `timeout`
            remind_every: how often people are reminded before that
            human: False returns NEEDS_HUMAN of agents to the flow
            on_error: the effect of an agent's ERROR. `stuck` ends the run with the agent's words,
                and `return` returns the signal.

        Raises:
            UsageError: A word or a time is wrong.

        Example:
            @flow(human_timeout=timedelta(hours=8), on_timeout="notify_again")
            def release(prompt: str): ...
        """
        try:
            way = FlowTimeout(on_timeout)
        except ValueError:
            known = ", ".join(FlowTimeout)
            raise UsageError(f"on_timeout is one of {known}, not {on_timeout!r}") from None
        seconds = as_seconds(human_timeout, "human_timeout")
        reminds = None if remind_every is None else as_seconds(remind_every, "remind_every", 1)
        if way == FlowTimeout.NOTIFY_AGAIN:
            as_seconds(human_timeout, 'human_timeout with on_timeout="notify_again"', 1)
        terms = FlowTerms(way, seconds, human, reminds, on_error=_read_error_action(on_error))
        return Flow(work, terms) if work else lambda made: Flow(made, terms)


FlowCalls.__call__ = suggest_keywords(FlowCalls.__call__, "flow")  # type: ignore[method-assign]
flow = FlowCalls()


def _read_error_action(given: str) -> ErrorAction:
    try:
        return ErrorAction(given)
    except ValueError:
        known = ", ".join(ErrorAction)
        raise UsageError(f"on_error is one of {known}, not {given!r}") from None


def _call(name: str, call: Callable[..., _T], *args: Any, **named: Any) -> _T:
    """Make a call. If it cannot be recorded the flow must not go on, even if it catches errors."""
    branch = _find_branch(name)
    try:
        return call(branch, *args, **named)
    except StoreError as error:
        branch.raise_always(Unwritable(error))


def _find_branch(name: str) -> Branch:
    try:
        return current.get()
    except LookupError:
        raise UsageError(
            f"{name}() works inside a flow only: put it into a function with @flow above it, and "
            "start that with: gate run FILE PROMPT"
        ) from None
