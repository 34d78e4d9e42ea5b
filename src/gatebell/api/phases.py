"""Workflows of phases: an agent works, a person may be asked, the answer leads on.

A workflow is a flow: it is found in flow files, its calls are recorded and replayed, and another
process goes on with it after a crash.
"""

from __future__ import annotations

import inspect
import os
import queue
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.api import keywords
from gatebell.api.handlers import HumanInputHandler, Reply, cli_prompt
from gatebell.api.keywords import suggest_options
from gatebell.api.phase_executor import PhaseExecutor, await_reply, wait_for
from gatebell.api.phase_plan import Plan
from gatebell.api.schemas import convert
from gatebell.api.unawaited import refuse_unawaited
from gatebell.api.workflow_runner import WorkflowRun, WorkflowSpec, must_be_completed
from gatebell.domain.arguments import must_be_count
from gatebell.domain.asks.times import as_seconds
from gatebell.domain.phases import diagrams
from gatebell.domain.phases.phases import HumanInput, Phase, Response, State
from gatebell.domain.phases.records import PhaseEvent
from gatebell.domain.phases.validation import check_phases
from gatebell.domain.runs.flow_terms import FlowTerms, FlowTimeout
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from gatebell.api.workflow_runner import Observer
    from gatebell.domain.asks.times import Seconds
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store

    Begin = Callable[[], Run]

__all__ = [
    "HumanInput",
    "HumanInputHandler",
    "Phase",
    "PhaseEvent",
    "Reply",
    "Response",
    "Result",
    "State",
    "Workflow",
    "cli_prompt",
]

_LOADED = "_gate_flow_"


class Result(NamedTuple):
    """The result of a workflow."""

    run_id: int
    phase: str
    """The terminal phase."""
    state: Any
    """The last state, of the same type as the first."""
    output: Any
    """The output of the last agent, as JSON."""
    approved: bool | None
    """Whether the terminal phase was approved; None where no approval was asked for."""
    history: list[dict[str, Any]]
    """Every answer: `phase`, `id`, `type`, `value`, `approved`, `reason`, `is_other`, `actor`, `at`."""


@refuse_unawaited("workflow")
@suggest_options
class Workflow:
    """Phases with a state: a flow that `gate run`, workers and programs can run.

    Args:
        name: the name for people
        state: the first state, or a function that makes it: a dict, dataclass or pydantic model
        start: a function of (state, input) that puts the input into the state
        phases: the phases; the first one begins
        human_timeout: how long each ask waits, in seconds or as a timedelta

    Raises:
        UsageError: The workflow cannot work; the text says why, and in which phase.

    Example:
        release = Workflow(
            "release",
            phases=[Phase("go", human=HumanInput("Release it?", "approval"), terminal=True)],
        )
        if __name__ == "__main__":
            print(release.run("now", human_input=cli_prompt()).approved)
    """

    def __init__(
        self,
        name: str,
        state: Any = None,
        start: Callable[[Any, str], Any] | None = None,
        phases: Sequence[Phase] = (),
        *,
        human_timeout: Seconds = 86_400.0,
    ) -> None:
        self.gatebell_flow = True
        """By this attribute a flow is found in its module."""
        if not isinstance(name, str) or not name.strip():
            raise UsageError("a workflow needs a name")
        self.name = name
        self.terms = FlowTerms(FlowTimeout.STUCK, as_seconds(human_timeout, "human_timeout"))
        self._plan = Plan(name, check_phases(phases), state, start)
        self._shape: Any = type(self._plan.make_state())
        self._module = _find_module()

    # As a flow

    def work(self, prompt: str) -> Any:
        """Work from the first phase to a terminal one; drivers of runs call this."""
        return PhaseExecutor(self._plan).go(prompt)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases, each with its name."""
        return self._plan.phases

    # As a picture

    def mermaid(self) -> str:
        """Return the workflow as a Mermaid flowchart."""
        return diagrams.mermaid(self.name, self.phases)

    # In a program

    def run(
        self,
        input: str,  # noqa: A002 - the word of the docs
        human_input: HumanInputHandler | None = None,
        *,
        observer: Observer | None = None,
        store: Store | str | None = None,
        in_place: bool | None = None,
    ) -> Result:
        """Start a run, and drive it here until it ends.

        Args:
            input: the text that `start=` gets
            human_input: answers the asks of phases; without it they wait in the inbox
            observer: gets each PhaseEvent, once
            store: a store, or the path of one; without it, that of the user
            in_place: agents work in the project itself. By default roles work in a worktree of the
                run, and functions need none.

        Returns:
            The result: `run_id`, `phase`, `state`, `output`, `approved`, `history`.

        Raises:
            UnfinishedError: The run is stuck or failed; its `run_id` says which run.
            UsageError: It is called inside of an event loop; use `arun` there.
        """
        _must_be_outside_of_a_loop("run", "arun")
        _must_be_text(input)
        run = self._prepare(human_input, observer, store, in_place)
        return self._result(run.perform(partial(run.start, input), wait_for))

    async def arun(
        self,
        input: str,  # noqa: A002 - the word of the docs
        human_input: HumanInputHandler | None = None,
        *,
        observer: Observer | None = None,
        store: Store | str | None = None,
        in_place: bool | None = None,
    ) -> Result:
        """Start a run, and await its end; as `run`, and async handlers run in this loop."""
        _must_be_text(input)
        run = self._prepare(human_input, observer, store, in_place)
        return self._result(await _await_run(run, partial(run.start, input)))

    def attach(
        self,
        run_id: int,
        human_input: HumanInputHandler | None = None,
        *,
        observer: Observer | None = None,
        store: Store | str | None = None,
    ) -> Result:
        """Take up a run of this workflow whose program has died, and drive it here until it ends.

        Recorded work is not done again. A run that has ended already only gives its result.

        Args:
            run_id: the number of the run, from `gate list` or from the event `workflow:started`
            human_input: answers the asks of phases, the one that waits now included
            observer: gets each PhaseEvent of the run, those from before the crash included
            store: a store, or the path of one; without it, that of the user

        Returns:
            The result, as `run` returns it.

        Raises:
            NotFoundError: The run does not exist.
            RefusedError: The program of the run is alive.
            UnfinishedError: The run is stuck or failed; `gate resume` takes up such a run.
            UsageError: It is a run of another workflow.

        Example:
            result = release.attach(42, cli_prompt())
        """
        _must_be_outside_of_a_loop("attach", "aattach")
        must_be_count(run_id, "run_id")
        run = self._prepare(human_input, observer, store, None)
        return self._result(run.perform(partial(run.attach, run_id), wait_for))

    async def aattach(
        self,
        run_id: int,
        human_input: HumanInputHandler | None = None,
        *,
        observer: Observer | None = None,
        store: Store | str | None = None,
    ) -> Result:
        """Take up a run whose program has died, and await its end; as `attach`."""
        must_be_count(run_id, "run_id")
        run = self._prepare(human_input, observer, store, None)
        return self._result(await _await_run(run, partial(run.attach, run_id)))

    def execute(
        self,
        input: str,  # noqa: A002 - the word of the docs
        human_input: HumanInputHandler | None = None,
        *,
        store: Store | str | None = None,
        in_place: bool | None = None,
    ) -> Iterator[PhaseEvent]:
        """Start a run, and yield each event as it comes; the last one says how the run ended.

        Args:
            input: the text that `start=` gets
            human_input: answers the asks of phases
            store: a store, or the path of one
            in_place: agents work in the project itself

        Example:
            for event in release.execute("now"):
                print(event.name, event.phase, event.data)
        """
        _must_be_outside_of_a_loop("execute", "arun")
        _must_be_text(input)
        events: queue.SimpleQueue[PhaseEvent | BaseException | None] = queue.SimpleQueue()
        run = self._prepare(human_input, events.put, store, in_place)
        return _yield_events(run, partial(run.start, input), events)

    def _prepare(
        self,
        handler: HumanInputHandler | None,
        observer: Observer | None,
        store: Store | str | None,
        in_place: bool | None,
    ) -> WorkflowRun:
        if str(self._module.get("__name__", "")).startswith(_LOADED):
            raise UsageError(
                f"the file of {self.name!r} runs it while it is being loaded: put that under "
                'if __name__ == "__main__":'
            )
        roles = any(isinstance(phase.agent, str) for phase in self.phases)
        flow, source = self._place()
        here = not roles if in_place is None else in_place
        spec = WorkflowSpec(flow, source, self.work, self.terms, in_place=here, has_roles=roles)
        return WorkflowRun(spec, store, handler, observer)

    def _place(self) -> tuple[str, str]:
        """Return the name and the file by which other processes find this workflow."""
        names = [name for name, one in self._module.items() if one is self]
        file = str(self._module.get("__file__") or "")
        if not names or not file.endswith(".py"):
            return self.name, ""
        return names[0], os.path.abspath(file)

    def _result(self, run: Run) -> Result:
        must_be_completed(run)
        stored = run.result
        state = stored["state"] if self._shape is dict else convert(self._shape, stored["state"])
        return Result(
            run.id, stored["phase"], state, stored["output"], stored["approved"], stored["history"]
        )


def _must_be_text(given: object) -> None:
    if not isinstance(given, str):
        raise UsageError("the input of a workflow is a text; start= may read JSON from it")


async def _await_run(run: WorkflowRun, begin: Begin) -> Run:
    """Drive a run on a thread of its own; return it when it has ended."""
    import asyncio

    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Run] = loop.create_future()
    replies: list[Any] = []

    def settle(reply: Awaitable[Any]) -> Any:
        replies[:] = [asyncio.run_coroutine_threadsafe(await_reply(reply), loop)]
        return replies[0].result()

    def report(way: Callable[[Any], None], result: Any) -> None:
        if not ended.done():
            way(result)

    def perform() -> None:
        call: tuple[Callable[[Any], None], Any]
        try:
            call = ended.set_result, run.perform(begin, settle)
        except BaseException as error:
            call = ended.set_exception, error
        # The caller may have gone with its loop.
        if not loop.is_closed():
            loop.call_soon_threadsafe(report, *call)

    # Not a thread of a pool: a wait may last for days.
    threading.Thread(target=perform, name="workflow", daemon=True).start()
    try:
        return await ended
    except asyncio.CancelledError:
        # On another thread, because the end of an agent may take a while.
        threading.Thread(target=run.stop, daemon=True).start()
        for reply in replies:
            reply.cancel()
        raise


def _yield_events(
    run: WorkflowRun,
    begin: Begin,
    events: queue.SimpleQueue[PhaseEvent | BaseException | None],
) -> Iterator[PhaseEvent]:
    def perform() -> None:
        try:
            run.perform(begin, wait_for)
            events.put(None)
        except BaseException as error:
            events.put(error)

    threading.Thread(target=perform, name="workflow", daemon=True).start()
    try:
        while (event := events.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event
    finally:
        run.stop()


def _find_module() -> dict[str, Any]:
    """Return the names of the module that defines a workflow."""
    frame = inspect.currentframe()
    # The constructor, and the function around it that suggests keywords.
    ours = (__name__, keywords.__name__)
    while frame and frame.f_globals.get("__name__") in ours:
        frame = frame.f_back
    return frame.f_globals if frame else {}


def _must_be_outside_of_a_loop(verb: str, instead: str) -> None:
    # Looked up, not imported: where it was never imported, no loop runs.
    asyncio = sys.modules.get("asyncio")
    if asyncio and asyncio._get_running_loop():  # noqa: SLF001 - documented, and raises nothing
        raise UsageError(f"{verb}() would hold up the event loop: await {instead}()")
