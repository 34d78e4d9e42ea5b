"""Flows: plain Python that runs agents, stops for people, and goes on after a crash.

Each function that is exported here is a call that is recorded in the run's journal. When a flow is taken up
again its code runs from the beginning, and recorded calls return their recorded results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from gatebell.api.flow_agents import read_error_action, run
from gatebell.api.flow_asks import approve, ask, ask_interactive, choose, pause
from gatebell.api.flow_steps import (
    Context,
    context,
    log,
    now,
    parallel,
    random,
    read,
    sleep,
    step,
    stuck,
)
from gatebell.api.keywords import suggest_keywords
from gatebell.domain.asks.times import as_seconds
from gatebell.domain.runs.flow_terms import ErrorAction, FlowTerms, FlowTimeout
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.asks.times import Seconds

__all__ = [
    "Context",
    "Flow",
    "FlowCalls",
    "approve",
    "ask",
    "ask_interactive",
    "choose",
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

_R = TypeVar("_R")
_P = ParamSpec("_P")
_A_DAY_SECONDS = 86_400.0
_TAKES_ANY = 0x04
# A generator, a coroutine, or both.
_RETURNS_LATER = 0x20 | 0x80 | 0x200


class Flow(Generic[_P, _R]):
    """A function that can be run as a flow; it can be called like the function, too."""

    def __init__(self, work: Callable[_P, _R], terms: FlowTerms) -> None:
        self.gatebell_flow = True
        """By this attribute a flow is found in its module."""
        self.work = work
        self.terms = terms
        self.name = getattr(work, "__name__", type(work).__name__)
        self.__doc__ = work.__doc__

    def __call__(self, *args: _P.args, **named: _P.kwargs) -> _R:
        return self.work(*args, **named)


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
        terms = FlowTerms(way, seconds, human, reminds, on_error=read_error_action(on_error))
        if work is None:
            return lambda made: Flow(_check_work(made), terms)
        return Flow(_check_work(work), terms)


def _check_work(work: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse what cannot be run as a flow, when it is decorated."""
    if not callable(work) or isinstance(work, type):
        raise UsageError(f"@flow is written above a function: def name(prompt): …, got {work!r}")
    name = getattr(work, "__name__", "flow")
    # Looked up in the code: `inspect` is slow to load.
    code = getattr(work, "__code__", None)
    if code and code.co_flags & _RETURNS_LATER:
        raise UsageError(
            f"the flow {name!r} is async or a generator, and a flow is a plain function: write "
            "def, return a result, and let flow.parallel(…) do things at once"
        )
    if code and not hasattr(work, "__self__") and not _takes_one(work, code):
        raise UsageError(f"the flow {name!r} must take one argument: def {name}(prompt): …")
    return work


def _takes_one(work: Any, code: Any) -> bool:
    needed = code.co_argcount - len(work.__defaults__ or ())
    named = set(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
    takes_any = bool(code.co_flags & _TAKES_ANY)
    return (
        needed <= 1
        and (code.co_argcount >= 1 or takes_any)
        and named <= set(work.__kwdefaults__ or ())
    )


FlowCalls.__call__ = suggest_keywords(FlowCalls.__call__, "flow")  # type: ignore[method-assign]
flow = FlowCalls()
