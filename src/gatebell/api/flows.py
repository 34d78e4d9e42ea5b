"""Flows: plain Python that runs agents, stops for people, and goes on after anything.

Every function here is a call that is recorded in the run's journal. When a flow is taken up
again its code runs from the beginning, and recorded calls give back what they gave before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from gatebell.domain.asks.asks import parse_priority
from gatebell.domain.asks.deadlines import make_escalations
from gatebell.domain.enums import AskKind, SignalStatus
from gatebell.domain.lists import as_items, as_list
from gatebell.domain.runs.flow_terms import ErrorAction, FlowTerms, FlowTimeout
from gatebell.errors import StoreTroubleError, UsageError
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

    from gatebell.api.gate import AskOptions
    from gatebell.api.session_options import InteractiveOptions
    from gatebell.domain.asks.outcomes import Approval, Outcome, Session
    from gatebell.domain.runs.signals import Signal
    from gatebell.services.runs.run_journal import Branch

_T = TypeVar("_T")
_MAX_SECONDS = 1e9


class Flow:
    """A function that can be run as a flow; called like any other it is that function."""

    def __init__(self, work: Callable[..., Any], terms: FlowTerms) -> None:
        self.gatebell_flow = True
        """By this a flow is known in the module that it stands in."""
        self.work = work
        self.terms = terms
        self.name = work.__name__
        self.__doc__ = work.__doc__

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.work(*args, **named)


class Context(NamedTuple):
    """Where a flow stands."""

    run_id: int
    prompt: str
    repo: str
    """The project that the run belongs to."""
    folder: str
    """Where its agents work."""
    iteration: int
    """How many calls this branch has made."""
    key: str
    """Inside a step: the same whenever this step is tried again, for services that want one."""


def flow(
    work: Callable[..., Any] | None = None,
    *,
    on_timeout: str = FlowTimeout.STUCK,
    human_timeout: float = 86_400.0,
    remind_every: float | None = None,
    human: bool = True,
    on_error: str = ErrorAction.STUCK,
) -> Any:
    """Make a function a flow.

    `on_timeout` says what happens when nobody answers within `human_timeout` seconds: the run
    is `stuck`, the call does `fail`, `return` gives a result that is not true, or `notify_again`
    reminds people and goes on waiting. `remind_every` reminds them every so many seconds before.
    `on_error` says what an agent's ERROR does: the run is `stuck` with the agent's words, or `return`
    gives the signal to the flow.
    """
    try:
        way = FlowTimeout(on_timeout)
    except ValueError:
        known = ", ".join(FlowTimeout)
        raise UsageError(f"on_timeout is one of {known}, not {on_timeout!r}") from None
    _must_be_seconds("human_timeout", human_timeout, 0)
    if remind_every is not None:
        _must_be_seconds("remind_every", remind_every, 1)
    if way == FlowTimeout.NOTIFY_AGAIN:
        _must_be_seconds('human_timeout with on_timeout="notify_again"', human_timeout, 1)
    terms = FlowTerms(way, human_timeout, human, remind_every, on_error=_error_action(on_error))
    return Flow(work, terms) if work else lambda made: Flow(made, terms)


def _error_action(given: str) -> ErrorAction:
    try:
        return ErrorAction(given)
    except ValueError:
        known = ", ".join(ErrorAction)
        raise UsageError(f"on_error is one of {known}, not {given!r}") from None


def _must_be_seconds(name: str, given: object, least: int) -> None:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    # A comparison with NaN is never true.
    fits = is_number and given > 0 and least <= given < _MAX_SECONDS  # type: ignore[operator]  # a number by now
    if not fits:
        bound = f"at least {least}" if least else "above 0"
        raise UsageError(f"{name} is a number of seconds {bound}, not {given!r}")


def run(
    role: str | Callable[..., Any],
    prompt: str | None = None,
    *,
    session: str = "role",
    human: bool = True,
    returns: dict[str, Any] | None = None,
    tries: int = 3,
    on_error: str | None = None,
) -> Signal:
    """Have an agent work until it reports; people it needs in between are asked.

    `session`: `role` (the one this role has in this run), `new`, or the id of one. With
    `human=False` NEEDS_HUMAN comes back to the flow. `returns` is a JSON Schema that the reported
    value must fit; the agent may try so many `tries`. With `on_error="return"` an ERROR comes back to
    the flow; otherwise the run is stuck with the agent's words, unless its `@flow` says otherwise.
    """
    action = None if on_error is None else _error_action(on_error)
    work = None if isinstance(role, str) else role
    name = role if isinstance(role, str) else getattr(role, "__name__", type(role).__name__)
    wanted = AgentRequest(name, prompt or "", session, human, returns, tries, work)
    signal: Signal = _made("run", run_agent.call_agent, wanted)
    if signal.status == SignalStatus.ERROR:
        run_agent.heed_error(current.get(), name, signal, action)
    return signal


def pause(message: str, **more: Unpack[AskOptions]) -> Approval:
    """A gate: true when, and only when, a person approves. `.reason` and `.message` say why."""
    return cast("Approval", _made("pause", flow_calls.pause, message, _request(more)))


def ask(
    prompt: str,
    kind: str = AskKind.TEXT,
    *,
    options: Sequence[str] = (),
    **more: Unpack[AskOptions],
) -> Outcome:
    """A question to a person: a text, a choice among options, or a form."""
    offered = as_list(options, "options")
    kind = AskKind.CHOICE if offered and kind == AskKind.TEXT else kind
    request = Request(prompt, kind, offered, **_request(more))
    return _made("ask", flow_calls.ask, request)


def ask_interactive(prompt: str, **options: Unpack[InteractiveOptions]) -> Session:
    """A question that a person works out with an agent, in the agent's own program.

    What came of it, whatever that is: `.outcome` says, and `.response` is what `outcome=` asked for.
    """
    # Imported here: most flows open no sessions.
    from gatebell.api import session_options

    request, wanted = session_options.request(prompt, options)
    result = cast("Session", _made("ask_interactive", flow_calls.ask, request))
    return result.convert_response(wanted.granted)


def _request(more: Any) -> dict[str, Any]:
    """The options of an ask in a form that is the same when it is read back."""
    given = dict(more)
    if "owner" in given:
        raise UsageError("the owner of a flow's ask is its run")
    if "priority" in given:
        given["priority"] = parse_priority(given["priority"])
    if "escalations" in given:
        given["escalations"] = make_escalations(given["escalations"])
    return given


def stuck(reason: str = "") -> Stuck:
    """`return stuck("why")` ends the run as stuck."""
    return Stuck(reason or "the flow gave no reason")


def step(
    work: Callable[..., Any], *args: Any, name: str = "", dangerous: bool = False, **named: Any
) -> Any:
    """Do something and record its result, which must be JSON.

    An interrupted step runs again, so it must be repeatable. A dangerous one never does by
    itself: whether it happened becomes a question to a person.
    """
    label = name or getattr(work, "__name__", type(work).__name__)
    arguments = [list(args), named]
    return _made(
        "step", flow_calls.step, lambda: work(*args, **named), label, arguments, dangerous=dangerous
    )


def read(path: str) -> str:
    """The text of a file in the run's folder, the same at every replay."""
    return _made("read", flow_calls.read, path)


def parallel(
    *works: Callable[[], Any] | Iterable[Callable[[], Any]],
    limit: int | None = None,
    settle: bool = False,
) -> list[Any]:
    """Run branches at once; their results in their order.

    When one fails the others stop at their next call, and BranchFailedError tells what became of
    each; with `settle` that is returned instead. `limit`: so many at a time.
    """
    is_list = len(works) == 1 and hasattr(works[0], "__iter__") and not callable(works[0])
    given = cast("Iterable[Callable[[], Any]]", works[0] if is_list else works)
    branches = as_items(given, "the branches of parallel()")
    if not all(callable(one) for one in branches):
        raise UsageError("parallel takes functions without arguments: lambda: run('coder', …)")
    if limit is not None and limit < 1:
        raise UsageError("limit: at least one branch at a time")
    return _made("parallel", parallel_branches.parallel, branches, limit, settle=settle)


def sleep(seconds: float) -> None:
    """Go on after so long; no process waits meanwhile."""
    _made("sleep", flow_calls.sleep, seconds)


def now() -> datetime:
    """The time, the same at every replay."""
    return _made("now", flow_calls.now)


def random() -> float:
    """A number from 0 to 1, the same at every replay."""
    return _made("random", flow_calls.random)


def log(text: str) -> None:
    """A line in the run's record, written once."""
    if not isinstance(text, str):
        raise UsageError(f"log() takes text, not {type(text).__name__}")
    _made("log", flow_calls.log, text)


def context() -> Context:
    """Where this flow stands."""
    branch = _here("context")
    made, call = branch.drive.run, branch.step
    return Context(
        made.id, made.prompt, made.project, made.folder, branch.count, call.key if call else ""
    )


def _made(name: str, call: Callable[..., _T], *args: Any, **named: Any) -> _T:
    """Make a call. What cannot be recorded must not go on, whatever the flow's code catches."""
    branch = _here(name)
    try:
        return call(branch, *args, **named)
    except StoreTroubleError as problem:
        branch.raise_always(Unwritable(problem))


def _here(name: str) -> Branch:
    try:
        return current.get()
    except LookupError:
        raise UsageError(
            f"{name}() works inside a flow only: put it into a function with @flow above it, and "
            "start that with: gate run FILE PROMPT"
        ) from None
