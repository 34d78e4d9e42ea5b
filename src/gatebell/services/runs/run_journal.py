"""The journal of one drive: the recorded calls, and every fenced write that adds to it."""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.digests import digest
from gatebell.domain.enums import CallName, CallState, RunState
from gatebell.domain.lists import USE_A_LIST
from gatebell.domain.runs import journals, prompts, runs, signals
from gatebell.domain.runs.prompts import Said
from gatebell.domain.runs.runs import FlowCall, Run, RunChange, Turn
from gatebell.domain.text.display import storable
from gatebell.errors import (
    BranchFailedError,
    StepFailedError,
    StoreError,
    UsageError,
)
from gatebell.ports.workspaces import Place
from gatebell.services import freezes
from gatebell.services.runs.claims import renew

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask, Change
    from gatebell.domain.runs.flow_terms import FlowTerms
    from gatebell.domain.runs.roles import Role
    from gatebell.ports.store import Store
    from gatebell.services.runs.dependencies import RunDependencies


_MAX_SWALLOWED = 100
_PAUSE_SECONDS = 1.0
# While everything is frozen no process drives the run, and lifting it rings the bell.
_LOOK_AGAIN = timedelta(seconds=1)


def place_of(run: Run) -> Place:
    return Place(run.folder, run.root, run.branch, run.base)


class Parked(BaseException):
    """The flow waits for a person or a time; every later call raises this again."""

    def __init__(self, waiting: tuple[FlowCall, ...] = (), wake_at: datetime | None = None) -> None:
        super().__init__("this flow waits for a person")
        self.waiting = waiting
        self.wake_at = wake_at


class Halted(BaseException):
    """The run is stuck at a call: its record does not match, or an ask timed out."""

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path


class Overtaken(BaseException):
    """Another process has the run now; nothing more may be done here."""


class Unwritable(BaseException):
    """The store cannot be written, so nothing may be done that must be recorded."""

    def __init__(self, problem: StoreError) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Postponed(BaseException):
    """The folder of the run cannot be made on this host now; it is tried again later."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Closing(BaseException):
    """This process ends; the run continues in another."""


class Drive:
    """One drive of one run. Branches on several threads share it."""

    def __init__(self, store: Store, needs: RunDependencies, run: Run, terms: FlowTerms) -> None:
        self.store = store
        self.needs = needs
        self.run = run
        self.terms = terms
        self.closing = threading.Event()
        self.lost = False
        """Whether the last write was refused: nothing may begin any more."""
        self.is_over = False
        """Whether its driver has left it: threads that are still at work may begin nothing."""
        self.lock = threading.RLock()
        self.agents: dict[str, Turn] = {}
        """Turns whose agents work for this drive now."""
        self.calls = {call.path: call for call in store.runs.calls(run.id)}
        self.turns = {turn.id: turn for turn in store.runs.turns(run.id)}

    def write(self, change: RunChange) -> None:
        """Write a change if the run is still ours; this proves and extends the claim."""
        with self.lock:
            after = change.run
            if after.state == RunState.RUNNING:
                # A recorded call proves progress since the crashes before it.
                crash_count = 0 if change.calls else after.crash_count
                lease = None if after.is_kept else renew(after.lease_until, self.store.now())
                after = after._replace(lease_until=lease, crash_count=crash_count)
            self.lost = not self.store.runs.change(change._replace(run=after), self.run)
            if self.lost:
                raise Overtaken
            self.run = after
            self.calls.update({call.path: call for call in change.calls})
            self.turns.update({turn.id: turn for turn in change.turns})

    def put(self, call: FlowCall, *turns: Turn) -> FlowCall:
        """Write a call and turns of it."""
        with self.lock:
            self.write(RunChange(self.run, (call,), turns))
        return call

    def begin_turn(self, call: FlowCall, turns: list[Turn], role: Role) -> None:
        """Write that an agent is about to start, with its role and prompt."""
        with self.lock:
            run = self.run._replace(agent=role.name)
            told = runs.build_turn_event(run, turns[-1], role.digest)
            change = RunChange(run, (call,), tuple(turns), (told,), unless_frozen=True)
            self.write(change)

    def record(self, call: FlowCall, value: Any, taken: Change | None = None) -> Any:
        """Record the result of a call, and that it took the answer of an ask."""
        with self.lock:
            self.write(runs.record(self.run, call, value, self.store.now(), taken))
        return value

    def fail(
        self, call: FlowCall, kind: str, message: str, paths: str = "", where: str = ""
    ) -> None:
        """Record a failed call.

        `paths`: the failed calls below it, to be tried again with it. `where`: the line of the
        user's code that failed.
        """
        error = {"kind": kind, "message": message, "paths": paths, "where": where}
        with self.lock:
            self.write(runs.fail(self.run, call, error, self.store.now()))

    def look_again(self) -> None:
        """Read the turns again: people who joined a session write turns too."""
        with self.lock:
            self.turns.update({turn.id: turn for turn in self.store.runs.turns(self.run.id)})

    def all_turns(self) -> list[Turn]:
        """Return a copy of the turns: other branches add to them."""
        with self.lock:
            return list(self.turns.values())

    def next_turn_number(self, path: str) -> int:
        return sum(turn.path == path for turn in self.all_turns()) + 1


class Branch:
    """A sequence of calls: the flow itself, or one branch of a `parallel` call."""

    def __init__(
        self, drive: Drive, prefix: str = "", stops: Sequence[threading.Event] = ()
    ) -> None:
        self.drive = drive
        self.prefix = prefix
        self.stops = stops
        """One of these is set when a branch beside this one, or beside an outer one, has failed."""
        self.count = 0
        self.thread = threading.get_ident()
        self.over: BaseException | None = None
        self.swallowed = 0
        """How often the flow's code continued although it was ended."""
        self.step: FlowCall | None = None
        """The running step, or call of an agent's function; it may not make calls of its own."""

    def begin(self, name: CallName, label: str, arguments: Any) -> FlowCall:
        """Return the record of the next call, or a new one that is not written yet."""
        if threading.get_ident() != self.thread:
            raise UsageError(f"{name}() was called on a thread of its own: use parallel()")
        if self.over:
            self._insist(self.over)
        if self.step:
            kind = "step" if self.step.name == CallName.STEP else "call"
            raise UsageError(f"{name}() was called inside {kind} {self.step.path}: call it outside")
        if self.drive.closing.is_set():
            self.raise_always(Closing())
        if any(stop.is_set() for stop in self.stops):
            self.raise_always(Parked())
        if self.drive.lost or self.drive.is_over:
            self.raise_always(Overtaken())
        self.count += 1
        path, label = f"{self.prefix}{self.count}", storable(label)
        wanted = digest(arguments)
        found = self.drive.calls.get(path)
        now = self.drive.store.now()
        if (found is None or not found.over) and freezes.find(self.drive.store):
            self.raise_always(Parked((), now + _LOOK_AGAIN))
        if found is None:
            return FlowCall(self.drive.run.id, path, name, label, wanted, now)
        if why := journals.explain_misfit(found, name, label, wanted):
            self.raise_always(Halted(why, path))
        return found

    def _insist(self, end: BaseException) -> NoReturn:
        """End the flow again; a loop that catches everything must not use all of the CPU."""
        self.swallowed += 1
        if self.swallowed > _MAX_SWALLOWED:
            threading.Event().wait(_PAUSE_SECONDS)
        raise end

    def raise_always(self, end: BaseException) -> NoReturn:
        """Make every later call of this branch raise this: no `finally` may start work."""
        self.over = end
        raise end

    def come_out(self) -> None:
        """Raise the earlier end again if the flow's code swallowed it."""
        if self.over:
            raise self.over

    def park(self, call: FlowCall, wake_at: datetime | None = None) -> NoReturn:
        self.raise_always(Parked((call,) if wake_at is None else (), wake_at))

    def halt(self, reason: str, call: FlowCall) -> NoReturn:
        self.halt_at(reason, call.path)

    def halt_at(self, reason: str, path: str) -> NoReturn:
        self.raise_always(Halted(reason, path))


def folder_of(branch: Branch, path: str) -> str:
    """Return the folder of the run's agents; halt if it is gone or leads elsewhere."""
    run = branch.drive.run
    if os.path.realpath(run.folder) != run.folder or not os.path.isdir(run.folder):
        branch.halt_at(
            f"The folder of this run is gone or is now a link: {run.folder}. Put it back, then: "
            f"gate resume {run.id}",
            path,
        )
    return run.folder


current: ContextVar[Branch] = ContextVar("current")
"""The branch of the current thread, to which the calls of a flow's code belong."""


def result_of(call: FlowCall) -> Any:
    """Return the result of a finished call for the flow, at the first time and on replay."""
    if call.state != CallState.FAILED:
        return call.value
    if call.name == CallName.PARALLEL:
        raise BranchFailedError(call.error["message"], call.error["paths"], call.value)
    # An older journal has no lines.
    where = call.error.get("where", "")
    raise StepFailedError(call.error["kind"], call.error["message"], call.path, where)


def to_json_value(value: Any) -> Any:
    """Return a value as JSON gives it back, so that live and replayed code see the same."""
    import json

    return json.loads(json.dumps(value, allow_nan=False, default=_refuse))


def _refuse(value: Any) -> NoReturn:
    kind = type(value).__name__
    if isinstance(value, set | frozenset):
        raise TypeError(f"expected a list, got {kind}: {USE_A_LIST}")
    raise TypeError(f"{kind} is not JSON")


def waiting_asks(drive: Drive, calls: tuple[FlowCall, ...]) -> list[Ask]:
    found = (drive.store.asks.get(call.ask_id) for call in calls)
    return [ask for ask in found if ask]


def said_before(drive: Drive, path: str, since: str) -> list[Said]:
    """Return the words of agents and people in the calls between two calls."""
    told = []
    for call in sorted(drive.calls.values(), key=lambda call: journals.order(call.path)):
        if call.state != CallState.RECORDED or not journals.is_before(call.path, path):
            continue
        if since and journals.order(call.path) <= journals.order(since):
            continue
        if call.name == CallName.RUN:
            words = prompts.describe_signal(signals.from_json(call.value))
            told.append(Said(call.path, call.label, words))
        elif call.name in (CallName.PAUSE, CallName.ASK) and (
            ask := drive.store.asks.get(call.ask_id)
        ):
            answer = "" if ask.value is None else answer_text(ask, ask.value)
            lines = [ask.question.prompt, ask.decision or answer or ask.status, ask.note]
            told.append(Said(call.path, ask.settled_by or "gate", "\n".join(filter(None, lines))))
    return told
