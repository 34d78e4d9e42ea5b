"""`parallel`: branches of one flow that run at once, each with its own calls."""

from __future__ import annotations

import contextvars
import queue
import threading
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from gatebell.domain.enums import CallName
from gatebell.errors import BranchFailedError, StepFailedError
from gatebell.services.asks import wait_for_ask
from gatebell.services.permissions import permit_call
from gatebell.services.runs.error_lines import describe, find_line
from gatebell.services.runs.journal_values import pack, unpack
from gatebell.services.runs.run_journal import (
    Branch,
    Halted,
    Parked,
    current,
    result_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.runs.runs import FlowCall
    from gatebell.ports.flows import StepWork
    from gatebell.services.runs.run_journal import Drive

_POLL_SECONDS = 0.5


class _End(NamedTuple):
    """How a branch's thread ended."""

    number: int
    value: Any = None
    error: BaseException | None = None


class Stuck(NamedTuple):
    """The result of a flow that cannot continue."""

    reason: str


def parallel(
    branch: Branch,
    works: Sequence[StepWork],
    limit: int | None,
    *,
    settle: bool,
) -> list[Any]:
    """Run all branches; return their results in order."""
    call = branch.begin(CallName.PARALLEL, f"{len(works)} branches", [len(works), settle])
    if call.over:
        return _unpack(branch, call)
    call = branch.drive.put(call)
    return _Parallel(branch, call, works, limit or len(works), settle=settle).run()


def _unpack(branch: Branch, call: FlowCall) -> list[Any]:
    """Return the result of the call for the flow, at the first time and on replay."""
    values = unpack(branch.drive.store, call.value)
    return list(result_of(call._replace(value=values)))


class _Parallel:
    def __init__(
        self,
        branch: Branch,
        call: FlowCall,
        works: Sequence[StepWork],
        limit: int,
        *,
        settle: bool,
    ) -> None:
        self._branch, self._call, self._works = branch, call, works
        self._drive: Drive = branch.drive
        self._limit, self._settle = limit, settle
        self._news: queue.Queue[_End | None] = queue.Queue()
        self._stop = threading.Event()
        self._waiting = list(range(len(works)))
        self._active: set[int] = set()
        self._parked: dict[int, Parked] = {}
        self._outcomes: dict[int, _End] = {}
        self._ended: BaseException | None = None

    def run(self) -> list[Any]:
        watch: threading.Thread | None = None
        watched = threading.Event()
        try:
            while True:
                self._start()
                if not self._active:
                    break
                if self._parked and watch is None:
                    watch = threading.Thread(target=self._watch, args=(watched,), daemon=True)
                    watch.start()
                news = self._news.get()
                if news is not None:
                    self._note(news)
                self._wake()
        finally:
            # Not joined: it ends at the next ring of the bell.
            watched.set()
        return self._come_out()

    def _start(self) -> None:
        while self._waiting and len(self._active) < self._limit and not self._stop.is_set():
            index = self._waiting.pop(0)
            self._active.add(index)
            context = contextvars.copy_context()
            threading.Thread(target=context.run, args=(self._work, index), daemon=True).start()

    def _work(self, index: int) -> None:
        prefix = f"{self._call.path}.{index + 1}."
        inner = Branch(self._drive, prefix, [*self._branch.stops, self._stop])
        current.set(inner)
        try:
            value = self._works[index]()
            if isinstance(value, Stuck):
                end = _End(index, error=Halted(value.reason, f"{prefix}{inner.count}"))
            else:
                end = _End(index, pack(value), inner.over)
        except BaseException as error:  # the coordinator decides about it
            # An error of the branch's clean-up does not hide why the branch was ended.
            end = _End(index, error=inner.over or error)
        self._news.put(end)

    def _note(self, end: _End) -> None:
        self._active.discard(end.number)
        if isinstance(end.error, Parked):
            self._parked[end.number] = end.error
        elif end.error is None or isinstance(end.error, Exception):
            self._outcomes[end.number] = end
            if end.error and not self._settle:
                self._stop.set()
        else:
            self._ended = self._ended or end.error
            self._stop.set()

    def _watch(self, done: threading.Event) -> None:
        """Signal when a parked branch may have its answer while others work."""
        bell = self._drive.store.bell()
        try:
            while not done.is_set():
                bell.wait(_POLL_SECONDS)
                self._news.put(None)
        finally:
            bell.close()

    def _wake(self) -> None:
        """Continue branches whose answer or time has come, in this same drive."""
        if self._stop.is_set():
            return
        store, now = self._drive.store, self._drive.store.now()
        for index, parked in list(self._parked.items()):
            asks = [store.asks.get(call.ask_id) for call in parked.waiting]
            answered = any(
                ask
                and (
                    wait_for_ask.is_ready(store, ask)
                    or (ask.pending and ask.asked_back > ask.heard and ask.origin.session)
                )
                for ask in asks
            )
            if answered or (parked.wake_at and parked.wake_at <= now):
                del self._parked[index]
                self._waiting.append(index)

    def _come_out(self) -> list[Any]:
        failed = [end for end in self._outcomes.values() if end.error]
        # A branch that was halted by a withdrawn ask does not hide the cause.
        withdrawn = failed and not self._settle and isinstance(self._ended, Halted)
        if self._ended and not withdrawn:
            self._branch.raise_always(self._ended)
        if failed and not self._settle:
            self._withdraw()
        elif self._parked or self._waiting:
            waits = [parked for _, parked in sorted(self._parked.items(), key=lambda one: one[0])]
            times = [parked.wake_at for parked in waits if parked.wake_at]
            calls = tuple(call for parked in waits for call in parked.waiting)
            wake_at: datetime | None = min(times, default=None)
            self._branch.raise_always(Parked(calls, wake_at))
        project = self._drive.run.project
        ends = map(self._outcomes.get, range(len(self._works)))
        outcomes = [_outcome(end, project) for end in ends]
        if failed and not self._settle:
            first = min(failed, key=lambda end: end.number)
            message = f"branch {first.number + 1}: {_describe(first.error, project)}"
            inner = [e.error.path for e in failed if isinstance(e.error, StepFailedError)]
            paths = " ".join([self._call.path, *inner])
            call = self._call._replace(value=outcomes)
            self._drive.fail(call, "BranchFailedError", message, paths)
            self._raise(first.error)
        values = outcomes if self._settle else [one["value"] for one in outcomes]
        self._drive.record(self._call, values)
        return _unpack(self._branch, self._drive.calls[self._call.path])

    def _raise(self, cause: BaseException | None) -> NoReturn:
        """Raise as a replay would, with the branch's own traceback."""
        call = self._drive.calls[self._call.path]
        outcomes = unpack(self._drive.store, call.value)
        raise BranchFailedError(call.error["message"], call.error["paths"], outcomes) from cause

    def _withdraw(self) -> None:
        """Withdraw the asks of the other branches."""
        store, caller = self._drive.store, self._drive.needs.caller
        for parked in self._parked.values():
            for call in parked.waiting:
                ask = store.asks.get(call.ask_id)
                if ask and ask.pending:
                    permit_call.retire(store, ask, caller, "a neighbouring branch failed")


def _describe(error: BaseException | None, project: str) -> str:
    if isinstance(error, StepFailedError):
        return str(error)
    return describe(error, project) if error else ""


def _outcome(end: _End | None, project: str) -> dict[str, Any]:
    if end is None:
        return {"status": "stopped", "value": None, "error": None}
    if end.error is None:
        return {"status": "done", "value": end.value, "error": None}
    error = end.error
    if isinstance(error, StepFailedError):
        kind, message, where = error.kind, error.message, error.where
    else:
        kind, message = type(error).__name__, str(error)
        where = find_line(error, project)
    failed = {"kind": kind, "message": message, "where": where}
    return {"status": "failed", "value": None, "error": failed}
