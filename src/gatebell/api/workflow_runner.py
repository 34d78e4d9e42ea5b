"""A program's own run of a workflow: driven here until it ends, with a handler for what it asks."""

from __future__ import annotations

import copy
import os
import threading
from contextlib import closing, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.api import handlers
from gatebell.app import environment, project_files, runtime, wiring
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.enums import CallName, RunState
from gatebell.domain.phases.records import PhaseEvent, events
from gatebell.domain.text.display import inert_line
from gatebell.errors import (
    AlreadySettledError,
    GateError,
    InvalidAnswerError,
    RefusedError,
    UnfinishedError,
    UsageError,
)
from gatebell.ports.flows import LoadedFlow
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.apply_deadlines import fall_due
from gatebell.services.runs import manage_runs
from gatebell.services.runs.claims import Abandoned, Keeper
from gatebell.services.runs.dependencies import OneFlow
from gatebell.services.runs.manage_runs import RunRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gatebell.api.handlers import HumanInputHandler
    from gatebell.domain.asks.answers import Given
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.flow_terms import FlowTerms
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store
    from gatebell.services.runs.drive_run import Driver

    Observer = Callable[[PhaseEvent], object]

STARTED, ENDED = "workflow:started", "workflow:ended"
_POLL_SECONDS = 1.0
_A_DAY_SECONDS = 86_400.0

watching: ContextVar[Observer] = ContextVar("watching")
"""Who is told of what happens in the run that this thread drives."""


class WorkflowSpec(NamedTuple):
    """What a program wants to see performed."""

    flow: str
    """Its name in its file."""
    source: str
    """The file in which whoever takes the run over finds it; nothing in a store in memory."""
    work: Callable[[str], Any]
    terms: FlowTerms
    in_place: bool
    has_roles: bool
    """Agents that could edit its file, if they work in place."""


class WorkflowRun:
    """One run, from its beginning to its end."""

    def __init__(
        self,
        part: WorkflowSpec,
        store: Store | str | None,
        handler: HumanInputHandler | None,
        observer: Observer | None,
    ) -> None:
        self._part, self._handler, self._observer = part, handler, observer
        self._is_ours = store is None or isinstance(store, str)
        self.store: Store = (
            wiring.open_store(store) if store is None or isinstance(store, str) else store
        )
        self._told: set[tuple[str, str, str]] = set()
        self._named: set[str] = set()
        """Asks that wait in the inbox and were named on stderr."""
        self._terminal = wiring.terminal()
        self._handing = handlers.Handing(self.store.monotonic)
        self._stopped = threading.Event()
        self._keeper = Keeper(self.store)
        self._driver: Driver | None = None
        try:
            if handler is not None:
                handlers.check(handler)
                handlers.caller(handler, self.store)
            _must_be_found_again(part, self.store)
            self._digest = project_files.read_flow_digest(part.source) if part.source else ""
        except BaseException:
            self._leave()
            raise

    def perform(self, prompt: str, settle: Callable[[Awaitable[Any]], Any]) -> Run:
        """Start the run and stay with it until it ends; `settle` waits for what a handler awaits."""
        driver = self._driver = runtime.build_driver(self.store, OneFlow(self._flow()))
        try:
            run = self._start(prompt)
            self._tell(PhaseEvent(STARTED, "", run.created_at, {"run": run.id}))
            try:
                run = self._stay(run.id, settle, driver)
            except KeyboardInterrupt:
                self._say(f"run {run.id} is left as it is: gate status {run.id}")
                raise
            if run.has_ended:
                told = {"state": run.state, "reason": run.reason, "result": run.result}
                at = run.ended_at or self.store.now()
                self._tell(PhaseEvent(ENDED, "", at, {"run": run.id, **told}))
            return run
        finally:
            driver.close()
            self._let_go()
            self._leave()

    def stop(self) -> None:
        """From another thread: nothing more is begun, and whoever comes next goes on."""
        self._stopped.set()
        if self._driver:
            self._driver.close()
            # Also while a handler does not come back.
            self._let_go()

    def _let_go(self) -> None:
        # What cannot be written is said by a lock: see Keeper.
        with suppress(GateError):
            self._keeper.let_go()

    def _leave(self) -> None:
        if self._is_ours:
            self.store.close()

    def _flow(self) -> LoadedFlow:
        return LoadedFlow(self._part.work, self._part.terms, self._digest)

    def _start(self, prompt: str) -> Run:
        part, project = self._part, environment.project(os.getcwd())
        watched = part.in_place and part.has_roles and part.source
        seen = project_files.read_digests(project, part.source) if watched else None
        wish = RunRequest(
            part.flow, part.source, self._digest, prompt, project, in_place=part.in_place, seen=seen
        )
        caller = wiring.caller(self.store, "python")
        workspace = runtime.workspace(self.store)
        run, place = manage_runs.start(self.store, workspace, wish, caller, self._keeper)
        for remark in place.remarks:
            self._say(remark)
        return run

    def _stay(self, run_id: int, settle: Callable[[Awaitable[Any]], Any], driver: Driver) -> Run:
        abandoned = Abandoned(self.store, driver.driven)
        with closing(self.store.bell()) as bell:
            while (
                not (run := manage_runs.get(self.store, run_id)).has_ended
                and not self._stopped.is_set()
            ):
                left = any(one.id == run_id for one in abandoned.find())
                if left or self._keeper.can_drive(run):
                    token = watching.set(self._tell)
                    try:
                        driver.drive(run, keeper=self._keeper)
                    finally:
                        watching.reset(token)
                elif ask := self._next_ask(run):
                    self._hand_over(ask, settle)
                else:
                    bell.wait(self._patience(run))
                self._tell_missed(run_id)
        return run

    def _next_ask(self, run: Run) -> Ask | None:
        """The next question for the handler; what is not a phase's is only named."""
        for ask in self._asks(run):
            if not fall_due(self.store, ask).pending:
                continue
            # Looked at each time: another driver writes the ask before the call that asks it.
            if self._handler and self._is_of_a_phase(run, ask):
                if self._handing.is_due(ask.id):
                    return ask
            elif ask.id not in self._named:
                self._named.add(ask.id)
                self._say(f"{_waits(ask)}: {inert_line(ask.question.prompt, 80)}")
        return None

    def _asks(self, run: Run) -> list[Ask]:
        return self.store.asks.pending_of_run(run.id)

    def _is_of_a_phase(self, run: Run, ask: Ask) -> bool:
        calls = self.store.runs.calls(run.id)
        return any(
            call.ask_id == ask.id and call.name in (CallName.PAUSE, CallName.ASK) for call in calls
        )

    def _hand_over(self, ask: Ask, settle: Callable[[Awaitable[Any]], Any]) -> None:
        """Let the handler answer; whatever goes wrong, the ask is still in the inbox."""
        if self._is_judged(ask, settle):
            self._handing.end(ask.id)
        else:
            self._handing.put_off(ask.id)

    def _is_judged(self, ask: Ask, settle: Callable[[Awaitable[Any]], Any]) -> bool:
        """Whether there is nothing to hand over again."""
        try:
            if answer_ask.answer(self.store, ask.id, *self._reply(ask, settle))[1].pending:
                self._say(f"others must decide, too. {_waits(ask)}")
        except AlreadySettledError as error:
            self._say(str(error))
        except GateError as error:
            self._say(f"{error}. {_waits(self._as_it_is(ask))}")
            # Who answers is refused each time; what was answered may be better the next time.
            return isinstance(error, RefusedError) and not isinstance(error, InvalidAnswerError)
        except Exception as error:
            # A handler is anybody's code, and must not take the answer of others away.
            where = _waits(self._as_it_is(ask))
            self._say(f"the handler raised {type(error).__name__}: {error}. {where}")
            # As Ctrl+D at a prompt does: it is left to the inbox.
            return isinstance(error, EOFError)
        return True

    def _reply(self, ask: Ask, settle: Callable[[Awaitable[Any]], Any]) -> tuple[Caller, Given]:
        """What the handler says, and for whom."""
        handler = self._handler
        assert handler, "only asks for a handler are handed over"
        reply = handlers.asked(handler, ask)
        if hasattr(reply, "__await__"):
            reply = settle(self._first(ask, reply))
        given = handlers.given(ask, reply)
        caller = handlers.caller(handler, self.store)
        handlers.must_be_a_person(caller, ask)
        return caller, given

    async def _first(self, ask: Ask, reply: Awaitable[Any]) -> Any:
        """What the handler says, unless somebody else is faster: the run waits for no one then."""
        import asyncio

        saying = asyncio.ensure_future(reply)
        try:
            while not (await asyncio.wait({saying}, timeout=_POLL_SECONDS))[0]:
                now = await asyncio.to_thread(self._as_it_is, ask)
                if not now.pending:
                    raise AlreadySettledError(settled_sentence(now))
            return saying.result()
        finally:
            saying.cancel()

    def _as_it_is(self, ask: Ask) -> Ask:
        return fall_due(self.store, create_ask.get(self.store, ask.id))

    def _patience(self, run: Run) -> float:
        """How long nothing can happen that rings no bell."""
        if not self._keeper.has(run):
            return _POLL_SECONDS
        asks = self._asks(run)
        due = [at for at in (*(ask.deadlines.due_at for ask in asks), run.ready_at) if at]
        left = [(at - self.store.now()).total_seconds() for at in due]
        again = [self._handing.left(ask.id) for ask in asks]
        return max(0.005, min([_A_DAY_SECONDS, *left, *again]))

    def _tell_missed(self, run_id: int) -> None:
        """What happened while somebody else drove the run."""
        if self._observer:
            calls = self.store.runs.calls(run_id)
            asks = {ask.id: ask for ask in self.store.asks.of_run(run_id)}
            for event in events(calls, asks):
                self._tell(event)

    def _tell(self, event: PhaseEvent) -> None:
        if self._observer is None or event.key in self._told:
            return
        self._told.add(event.key)
        try:
            # A copy: whoever looks on may do with it what they like, and the run has its own.
            self._observer(copy.deepcopy(event))
        except Exception as error:
            self._say(f"the observer raised {type(error).__name__}: {error}")

    def _say(self, words: str) -> None:
        if not self._stopped.is_set():
            self._terminal.warn(words)


def _must_be_found_again(part: WorkflowSpec, store: Store) -> None:
    if not part.source and store.path:
        raise UsageError(
            "a workflow that is run must stand at the top of a Python file, under a name of its own: "
            "whoever takes its run over after a crash looks for it there"
        )
    if store.path and project_files.needs_package(part.source):
        raise UsageError(
            f"{part.source} has a relative import, and a worker loads it as a file of its own: "
            "import by whole names"
        )


def _waits(ask: Ask) -> str:
    if not ask.pending:
        return settled_sentence(ask)
    return f"{ask.id} waits in the inbox (gate answer {ask.id})"


def must_be_completed(run: Run) -> None:
    if run.state == RunState.COMPLETED:
        return
    way = f"gate resume {run.id}" if run.has_ended else f"gate status {run.id}"
    raise UnfinishedError(f"run {run.id} is {run.state}: {run.reason}. Go on with: {way}", run.id)
