"""A program's own run of a workflow: it is driven here until it ends, and a handler answers."""

from __future__ import annotations

import copy
import logging
import os
import threading
from contextlib import closing, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.api.handlers import (
    Handovers,
    build_answer,
    call_handler,
    check_handler,
    find_caller,
    must_be_a_person,
)
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
from gatebell.services import freezes
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.apply_deadlines import fall_due
from gatebell.services.runs import manage_runs
from gatebell.services.runs.claims import Abandoned, Keeper, is_kept
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
    """Gets each event of a run, once."""
    Settle = Callable[[Awaitable[Any]], Any]
    """Waits for the answer of an async handler."""

STARTED, ENDED = "workflow:started", "workflow:ended"
_POLL_SECONDS = 1.0
_A_DAY_SECONDS = 86_400.0

_log = logging.getLogger("gatebell.workflow")

watching: ContextVar[Observer] = ContextVar("watching")
"""Gets the events of the run that this thread drives."""


class WorkflowSpec(NamedTuple):
    """A workflow as its run needs it."""

    flow: str
    """Its name in its file."""
    source: str
    """The file in which other processes find it; empty for a store in memory."""
    work: Callable[[str], Any]
    terms: FlowTerms
    in_place: bool
    has_roles: bool
    """It has agents that could edit its file, if they work in place."""


class WorkflowRun:
    """One run, from its beginning, or from where another program left it, to its end."""

    def __init__(
        self,
        spec: WorkflowSpec,
        store: Store | str | None,
        handler: HumanInputHandler | None,
        observer: Observer | None,
    ) -> None:
        self._spec, self._handler, self._observer = spec, handler, observer
        self._is_ours = store is None or isinstance(store, str)
        self.store: Store = (
            wiring.open_store(store) if store is None or isinstance(store, str) else store
        )
        self._reported: set[tuple[str, str, str]] = set()
        self._named: set[str] = set()
        """Asks in the inbox that were named in the log."""
        self._handovers = Handovers(self.store.monotonic)
        self._stopped = threading.Event()
        self._keeper = Keeper(self.store)
        self._driver: Driver | None = None
        try:
            if handler is not None:
                check_handler(handler)
                find_caller(handler, self.store)
            _must_be_found_again(spec, self.store)
            self._digest = project_files.read_flow_digest(spec.source) if spec.source else ""
        except BaseException:
            self._close()
            raise

    def perform(self, begin: Callable[[], Run], settle: Settle) -> Run:
        """Stay with a run until it ends.

        Args:
            begin: `start` or `attach`, with its argument
            settle: waits for the answer of an async handler
        """
        driver = self._driver = runtime.build_driver(self.store, OneFlow(self._flow()))
        try:
            run = begin()
            self._report(PhaseEvent(STARTED, "", run.created_at, {"run": run.id}))
            try:
                run = self._stay(run.id, settle, driver)
            except KeyboardInterrupt:
                self._warn(f"run {run.id} is left as it is: gate status {run.id}")
                raise
            if run.has_ended:
                data = {"state": run.state, "reason": run.reason, "result": run.result}
                at = run.ended_at or self.store.now()
                self._report(PhaseEvent(ENDED, "", at, {"run": run.id, **data}))
            return run
        finally:
            driver.close()
            self._let_go()
            self._close()

    def stop(self) -> None:
        """Begin nothing more, so that another process can go on; call it from another thread."""
        self._stopped.set()
        if self._driver:
            self._driver.close()
            # At once, because a handler may never return.
            self._let_go()

    def _let_go(self) -> None:
        # If the store cannot be written, the lock of this process shows it: see Keeper.
        with suppress(GateError):
            self._keeper.let_go()

    def _close(self) -> None:
        if self._is_ours:
            self.store.close()

    def _flow(self) -> LoadedFlow:
        return LoadedFlow(self._spec.work, self._spec.terms, self._digest)

    def start(self, prompt: str) -> Run:
        """Make a new run, which this process keeps."""
        spec, project = self._spec, environment.project(os.getcwd())
        watched = spec.in_place and spec.has_roles and spec.source
        seen = project_files.read_digests(project, spec.source) if watched else None
        request = RunRequest(
            spec.flow, spec.source, self._digest, prompt, project, in_place=spec.in_place, seen=seen,
            project_key=environment.project_key(project),
        )  # fmt: skip
        caller = wiring.caller(self.store, "python")
        workspace = runtime.workspace(self.store)
        run, place = manage_runs.start(self.store, workspace, request, caller, self._keeper)
        for remark in place.remarks:
            self._warn(remark)
        return run

    def attach(self, run_id: int) -> Run:
        """Take up a run that an earlier program left; this process keeps it from now on.

        Raises:
            NotFoundError: The run does not exist.
            UsageError: It is a run of another workflow.
            RefusedError: A living process keeps the run.
        """
        run = manage_runs.get(self.store, run_id)
        mine = (self._spec.flow, self._spec.source)
        if (run.flow, run.source) != mine:
            other = " of ".join(filter(None, [run.flow, run.source]))
            raise UsageError(
                f"run {run_id} is a run of {other}, not of {' of '.join(filter(None, mine))}: "
                "attach it to that workflow"
            )
        if is_kept(self.store, run):
            raise RefusedError(
                f"run {run_id} is kept by a program that is alive: end that program first "
                f"(gate status {run_id} names it), or watch the run: gate watch {run_id}"
            )
        return self._keeper.keep(run) or manage_runs.get(self.store, run_id)

    def _stay(self, run_id: int, settle: Settle, driver: Driver) -> Run:
        abandoned = Abandoned(self.store, driver.driven)
        with closing(self.store.bell()) as bell:
            while (
                not (run := manage_runs.get(self.store, run_id)).has_ended
                and not self._stopped.is_set()
            ):
                left = any(one.id == run_id for one in abandoned.find())
                if left or self._keeper.can_drive(run):
                    token = watching.set(self._report)
                    try:
                        driver.drive(run, keeper=self._keeper)
                    finally:
                        watching.reset(token)
                elif ask := self._next_ask(run):
                    self._hand_over(ask, settle)
                else:
                    bell.wait(self._patience(run))
                self._report_missed(run_id)
        self._report_missed(run_id)
        return run

    def _next_ask(self, run: Run) -> Ask | None:
        """Return the next ask for the handler; asks of agents are only named in the log."""
        for ask in self._asks(run):
            if not fall_due(self.store, ask).pending:
                continue
            # Checked each time: another driver writes the ask before the call that asks it.
            if self._handler and self._is_of_a_phase(run, ask):
                if self._handovers.is_due(ask.id):
                    return ask
            elif ask.id not in self._named:
                self._named.add(ask.id)
                self._warn(f"{_describe_wait(ask)}: {inert_line(ask.question.prompt, 80)}")
        return None

    def _asks(self, run: Run) -> list[Ask]:
        return self.store.asks.pending_of_run(run.id)

    def _is_of_a_phase(self, run: Run, ask: Ask) -> bool:
        calls = self.store.runs.calls(run.id)
        return any(
            call.ask_id == ask.id and call.name in (CallName.PAUSE, CallName.ASK) for call in calls
        )

    def _hand_over(self, ask: Ask, settle: Settle) -> None:
        """Let the handler answer; if that fails, the ask is still in the inbox."""
        if self._is_decided(ask, settle):
            self._handovers.end(ask.id)
        else:
            self._handovers.put_off(ask.id)

    def _is_decided(self, ask: Ask, settle: Settle) -> bool:
        """Let the handler answer; tell whether it need not get the ask again."""
        try:
            if answer_ask.answer(self.store, ask.id, *self._call_handler(ask, settle))[1].pending:
                self._warn(f"other people must decide, too. {_describe_wait(ask)}")
        except AlreadySettledError as error:
            self._warn(str(error))
        except GateError as error:
            self._warn(f"{error}. {_describe_wait(self._look_again(ask))}")
            # A refused caller is refused each time; a value that does not fit may be better later.
            return isinstance(error, RefusedError) and not isinstance(error, InvalidAnswerError)
        except Exception as error:
            # A handler is the user's code: its error must not end the run.
            where = _describe_wait(self._look_again(ask))
            self._warn(f"the handler raised {type(error).__name__}: {error}. {where}")
            # Ctrl+D at a prompt raises EOFError: the person leaves it to the inbox.
            return isinstance(error, EOFError)
        return True

    def _call_handler(self, ask: Ask, settle: Settle) -> tuple[Caller, Given]:
        """Return the person for whom the handler answers, and the answer."""
        handler = self._handler
        assert handler, "only asks for a handler are handed over"
        reply = call_handler(handler, ask)
        if hasattr(reply, "__await__"):
            reply = settle(self._first(ask, reply))
        answer = build_answer(ask, reply)
        caller = find_caller(handler, self.store)
        must_be_a_person(caller, ask)
        return caller, answer

    async def _first(self, ask: Ask, reply: Awaitable[Any]) -> Any:
        """Return the handler's answer, unless another answer is faster.

        Raises:
            AlreadySettledError: Another answer was faster; the run goes on at once.
        """
        import asyncio

        answering = asyncio.ensure_future(reply)
        try:
            while not (await asyncio.wait({answering}, timeout=_POLL_SECONDS))[0]:
                now = await asyncio.to_thread(self._look_again, ask)
                if not now.pending:
                    raise AlreadySettledError(settled_sentence(now))
            return answering.result()
        finally:
            answering.cancel()

    def _look_again(self, ask: Ask) -> Ask:
        return fall_due(self.store, create_ask.get(self.store, ask.id))

    def _patience(self, run: Run) -> float:
        """Return the seconds for which only a ring of the bell can change something."""
        if not self._keeper.has(run) or freezes.find(self.store):
            return _POLL_SECONDS
        asks = self._asks(run)
        due = [at for at in (*(ask.deadlines.due_at for ask in asks), run.ready_at) if at]
        left = [(at - self.store.now()).total_seconds() for at in due]
        again = [self._handovers.seconds_left(ask.id) for ask in asks]
        return max(0.005, min([_A_DAY_SECONDS, *left, *again]))

    def _report_missed(self, run_id: int) -> None:
        """Report events of the time when another process drove the run."""
        if self._observer:
            calls = self.store.runs.calls(run_id)
            asks = {ask.id: ask for ask in self.store.asks.of_run(run_id)}
            for event in events(calls, asks):
                self._report(event)

    def _report(self, event: PhaseEvent) -> None:
        if self._observer is None or event.key in self._reported:
            return
        self._reported.add(event.key)
        try:
            # A copy: an observer may change it, and the run has its own.
            self._observer(copy.deepcopy(event))
        except Exception as error:
            self._warn(f"the observer raised {type(error).__name__}: {error}")

    def _warn(self, words: str) -> None:
        if not self._stopped.is_set():
            # Without a handler of the program Python prints warnings on stderr. That may be closed,
            # which must not end the run.
            with suppress(OSError, ValueError):
                _log.warning("%s", inert_line(words))


def _must_be_found_again(spec: WorkflowSpec, store: Store) -> None:
    if not spec.source and store.local_path:
        raise UsageError(
            "a process that takes a run over loads its workflow from a file: define the workflow "
            "at the top of a Python file, under a name of its own"
        )
    if store.local_path and project_files.needs_package(spec.source):
        raise UsageError(
            f"{spec.source} has a relative import, and a worker loads it as a file of its own: "
            "import by whole names"
        )


def _describe_wait(ask: Ask) -> str:
    if not ask.pending:
        return settled_sentence(ask)
    return f"{ask.id} waits in the inbox (gate answer {ask.id})"


def must_be_completed(run: Run) -> None:
    if run.state == RunState.COMPLETED:
        return
    way = f"gate resume {run.id}" if run.has_ended else f"gate status {run.id}"
    raise UnfinishedError(f"run {run.id} is {run.state}: {run.reason}. Go on with: {way}", run.id)
