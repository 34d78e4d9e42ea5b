"""A store in memory, with a door per noun like every other."""

from __future__ import annotations

import time
from datetime import timedelta
from threading import RLock
from typing import TYPE_CHECKING

from gatebell.adapters.system.machine import LocalMachine
from gatebell.testing.asks import MemoryAsks
from gatebell.testing.audit import MemoryAudit
from gatebell.testing.clock import FakeClock
from gatebell.testing.outbox import MemoryOutbox
from gatebell.testing.people import MemoryLogins, MemoryPeople
from gatebell.testing.rules import MemoryNotes, MemoryRules
from gatebell.testing.runs import MemoryRuns
from gatebell.testing.tasks import MemoryTasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from gatebell.domain.asks.asks import Notice
    from gatebell.domain.audit.events import Event
    from gatebell.ports.machine import Machine

_LONGEST_WAIT = timedelta(days=400)


class MemoryStore:
    """Behaves like every other store, and forgets everything when it goes."""

    throwaway = True
    path = ""

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.lock = RLock()
        self.visitors: list[Callable[[], bool]] = []
        """Called while somebody waits; each says whether it did something."""
        self.audit = MemoryAudit(self)
        self.outbox = MemoryOutbox(self)
        self.asks = MemoryAsks(self)
        self.runs = MemoryRuns(self)
        self.tasks = MemoryTasks(self)
        self.people = MemoryPeople(self)
        self.logins = MemoryLogins(self)
        self.rules = MemoryRules(self)
        self.notes = MemoryNotes(self)

    def now(self) -> datetime:
        return self.clock.now()

    @property
    def machine(self) -> Machine:
        return LocalMachine("")

    def monotonic(self) -> float:
        return self.clock.monotonic()

    def bell(self) -> MemoryBell:
        return MemoryBell(self)

    def problems(self) -> list[str]:
        return []

    def close(self) -> None:
        """Nothing is held open."""

    def record(self, events: Iterable[Event], notices: Iterable[Notice] = ()) -> None:
        self.audit.append(events)
        self.outbox.put(notices)


class MemoryBell:
    """Nobody sleeps in a test: whoever has something to do does it, or time flies."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._give_up_at = store.now() + _LONGEST_WAIT

    def wait(self, seconds: float) -> None:
        if any(visit() for visit in self._store.visitors):
            return
        pending = self._store.asks.pending(1000)
        if not pending:
            # Nobody waits for anything: let the others run.
            time.sleep(0.001)
            return
        due = [ask.deadlines.due_at for ask in pending if ask.deadlines.due_at]
        left = [max(0.0, (at - self._store.now()).total_seconds()) for at in due]
        self._store.clock.advance(min([seconds, *left]))
        if self._store.now() > self._give_up_at:
            raise AssertionError("nobody will ever answer this: give a ScriptedPerson the words")

    def close(self) -> None:
        """Nothing is held open."""
