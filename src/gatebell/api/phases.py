"""Workflows of phases: an agent works, a person may be asked, the answer leads on.

A workflow is a flow like every other: found in flow files, journaled, replayed, and driven on by
whoever comes next after anything.
"""

from __future__ import annotations

import inspect
import os
import queue
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.api.handlers import HumanInputHandler, Reply, cli_prompt
from gatebell.api.phase_executor import PhaseExecutor, Plan, awaited, settled
from gatebell.api.schemas import shaped
from gatebell.api.workflow_runner import WorkflowRun, WorkflowSpec, must_be_completed
from gatebell.domain.phases import diagrams
from gatebell.domain.phases.phases import HumanInput, Phase, Response, State
from gatebell.domain.phases.records import PhaseEvent
from gatebell.domain.phases.validation import check_phases
from gatebell.domain.runs.flow_terms import FlowTerms, FlowTimeout
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from gatebell.api.workflow_runner import Observer
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store

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
    """What a workflow came to."""

    run_id: int
    phase: str
    """The terminal one."""
    state: Any
    output: Any
    """Of its agent, as JSON."""
    approved: bool | None
    """Whether the terminal phase was approved; None where no approval was asked for."""
    history: list[dict[str, Any]]
    """Every answer: `phase`, `id`, `type`, `value`, `approved`, `reason`, `is_other`, `actor`, `at`."""


class Workflow:
    """Phases with a state: a flow that `gate run`, workers and programs can run."""

    def __init__(
        self,
        name: str,
        state: Any = None,
        start: Callable[[Any, str], Any] | None = None,
        phases: Sequence[Phase] = (),
        *,
        human_timeout: float = 86_400.0,
    ) -> None:
        """`state` is the first state, or makes it; `start` puts the input into it.

        A UsageError says what cannot work, and in which phase.
        """
        self.gatebell_flow = True
        """By this a flow is known in the module that it stands in."""
        if not isinstance(name, str) or not name.strip():
            raise UsageError("a workflow needs a name")
        if not isinstance(human_timeout, int | float) or not human_timeout > 0:
            raise UsageError(f"human_timeout is a number of seconds above 0, not {human_timeout!r}")
        self.name = name
        self.terms = FlowTerms(FlowTimeout.STUCK, human_timeout)
        self._plan = Plan(name, check_phases(phases), state, start)
        self._shape: Any = type(self._plan.fresh())
        frame = inspect.currentframe()
        self._home: dict[str, Any] = frame.f_back.f_globals if frame and frame.f_back else {}

    # As a flow

    def work(self, prompt: str) -> Any:
        """What a driver calls: from the first phase to a terminal one."""
        return PhaseExecutor(self._plan).go(prompt)

    @property
    def phases(self) -> tuple[Phase, ...]:
        return self._plan.phases

    # As a picture

    def mermaid(self) -> str:
        """The workflow as a Mermaid flowchart."""
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
        """Run it here until it ends, however long people take; UnfinishedError if it cannot.

        What no handler answers waits in the inbox. Roles work in a worktree of the run's own unless
        `in_place`; functions alone need none. `observer` is told of every PhaseEvent, once.
        """
        _must_be_outside_of_a_loop("run")
        made = self._performance(input, human_input, observer, store, in_place)
        return self._result(made.perform(input, settled))

    async def arun(
        self,
        input: str,  # noqa: A002 - likewise
        human_input: HumanInputHandler | None = None,
        *,
        observer: Observer | None = None,
        store: Store | str | None = None,
        in_place: bool | None = None,
    ) -> Result:
        """The async twin of `run`: an async handler is awaited in this loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Run] = loop.create_future()
        made = self._performance(input, human_input, observer, store, in_place)
        asked: list[Any] = []

        def settle(reply: Awaitable[Any]) -> Any:
            asked[:] = [asyncio.run_coroutine_threadsafe(awaited(reply), loop)]
            return asked[0].result()

        def tell(way: Callable[[Any], None], what: Any) -> None:
            if not ended.done():
                way(what)

        def perform() -> None:
            # Whoever awaited it may be gone with their loop.
            told: tuple[Callable[[Any], None], Any]
            try:
                told = ended.set_result, made.perform(input, settle)
            except BaseException as error:
                told = ended.set_exception, error
            if not loop.is_closed():
                loop.call_soon_threadsafe(tell, *told)

        # Of its own: no wait may occupy a thread of a pool.
        threading.Thread(target=perform, name="workflow", daemon=True).start()
        try:
            return self._result(await ended)
        except asyncio.CancelledError:
            # On a thread of its own, too: an agent's end may take a while.
            threading.Thread(target=made.stop, daemon=True).start()
            for reply in asked:
                reply.cancel()
            raise

    def execute(
        self,
        input: str,  # noqa: A002 - likewise
        human_input: HumanInputHandler | None = None,
        *,
        store: Store | str | None = None,
        in_place: bool | None = None,
    ) -> Iterator[PhaseEvent]:
        """Run it, and give each event as it comes; the last one tells how it ended."""
        _must_be_outside_of_a_loop("execute")
        told: queue.SimpleQueue[PhaseEvent | BaseException | None] = queue.SimpleQueue()
        made = self._performance(input, human_input, told.put, store, in_place)
        return self._events(input, made, told)

    def _events(
        self,
        prompt: str,
        made: WorkflowRun,
        told: queue.SimpleQueue[PhaseEvent | BaseException | None],
    ) -> Iterator[PhaseEvent]:
        def perform() -> None:
            try:
                made.perform(prompt, settled)
                told.put(None)
            except BaseException as error:
                told.put(error)

        threading.Thread(target=perform, name="workflow", daemon=True).start()
        try:
            while (event := told.get()) is not None:
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            made.stop()

    def _performance(
        self,
        given: Any,
        handler: HumanInputHandler | None,
        observer: Observer | None,
        store: Store | str | None,
        in_place: bool | None,
    ) -> WorkflowRun:
        if not isinstance(given, str):
            raise UsageError("the input of a workflow is a text; start= may read JSON from it")
        if str(self._home.get("__name__", "")).startswith(_LOADED):
            raise UsageError(
                f"the file of {self.name!r} runs it while it is being loaded: put that under "
                'if __name__ == "__main__":'
            )
        roles = any(isinstance(phase.agent, str) for phase in self.phases)
        flow, source = self._place()
        here = not roles if in_place is None else in_place
        part = WorkflowSpec(flow, source, self.work, self.terms, in_place=here, has_roles=roles)
        return WorkflowRun(part, store, handler, observer)

    def _place(self) -> tuple[str, str]:
        """The name and the file under which others find this workflow."""
        names = [name for name, one in self._home.items() if one is self]
        file = str(self._home.get("__file__") or "")
        if not names or not file.endswith(".py"):
            return self.name, ""
        return names[0], os.path.abspath(file)

    def _result(self, run: Run) -> Result:
        must_be_completed(run)
        told = run.result
        state = told["state"] if self._shape is dict else shaped(self._shape, told["state"])
        return Result(
            run.id, told["phase"], state, told["output"], told["approved"], told["history"]
        )


def _must_be_outside_of_a_loop(verb: str) -> None:
    # Looked up, not imported: where it was never imported, no loop runs.
    asyncio = sys.modules.get("asyncio")
    if asyncio and asyncio._get_running_loop():  # noqa: SLF001 - documented, and raises nothing
        raise UsageError(f"{verb}() would hold up the event loop: await arun()")
