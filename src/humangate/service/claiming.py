"""Who drives a run: claims, leases, and taking over from the dead."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from humangate import processes
from humangate.domain import runs
from humangate.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from humangate.domain.runs import Run, Turn
    from humangate.domain.sittings import Sitting
    from humangate.doors.store import Store

LEASE = timedelta(seconds=30)
_BEAT_SECONDS = LEASE.total_seconds() / 3
# A machine that slept wakes with every lease run out, and everybody alive: they get so long,
# in which every living owner's heart beats once.
_GRACE_SECONDS = _BEAT_SECONDS * 1.5


def claim(store: Store, run: Run) -> Run | None:
    """Take a run into this process's hands; None when it is not to be had."""
    if run.ended or (run.state == "running" and not _is_left(run, store.now())):
        return None
    change = runs.claim(run, str(processes.me()), store.now() + LEASE)
    return change.run if store.runs.change(change, run) else None


def is_due(run: Run, now: datetime) -> bool:
    """Whether it can go on at once."""
    if run.state == "ready":
        return run.ready_at is None or run.ready_at <= now
    return run.state == "waiting_human" and run.ready_at is not None and run.ready_at <= now


def _is_left(run: Run, now: datetime) -> bool:
    late = run.lease_until is None or run.lease_until <= now
    return late or not processes.lives(processes.parse(run.owner))


def holds(turn: Turn) -> bool:
    """Whether a person's session is still open: by `gate continue`, or by what that left behind."""
    return processes.lives(processes.parse(turn.process)) or bool(left_behind(turn))


def sits_in(store: Store, cli: str, session: str) -> Sitting | None:
    """Whoever has this conversation open through a session ask, unless all of that is gone."""
    found = store.asks.holder(cli, session)
    lives = found and processes.lives(processes.parse(found.process))
    return found if found and (lives or processes.marked(("GATE_TURN", found.id))) else None


def left_behind(turn: Turn) -> list[int]:
    """The processes that were started in a turn and live."""
    return processes.marked(("GATE_TURN", turn.id))


class Abandoned:
    """Finds runs whose owners are dead, or have been silent for too long."""

    def __init__(self, store: Store, drives: Callable[[int], bool]) -> None:
        """`drives` says whether this process is at work on a run."""
        self._store, self._drives = store, drives
        self._late: dict[tuple[int, int], float] = {}
        """When a living owner's lease was first seen to have run out."""

    def find(self) -> list[Run]:
        found, late = [], {}
        now, monotonic = self._store.now(), self._store.monotonic()
        for run in self._store.runs.running():
            if self._drives(run.id):
                continue
            if not processes.lives(processes.parse(run.owner)):
                found.append(run)
            elif run.lease_until is None or run.lease_until <= now:
                claimed = (run.id, run.claim)
                late[claimed] = self._late.get(claimed, monotonic)
                if monotonic - late[claimed] >= _GRACE_SECONDS:
                    found.append(run)
        self._late = late
        return found


class Heart:
    """Keeps the claims of this process while their drives are busy with long calls."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[int, Run] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def hold(self, run: Run) -> None:
        with self._lock:
            self._held[run.id] = run
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, name="heart", daemon=True)
                self._thread.start()

    def let_go(self, run: Run) -> None:
        with self._lock:
            self._held.pop(run.id, None)

    def _beat(self) -> None:
        while not self._stopped.wait(_BEAT_SECONDS):
            with self._lock:
                held = list(self._held.values())
            for run in held:
                # A claim that is lost shows at the drive's next write, and so does trouble.
                with suppress(GateError):
                    self._store.runs.extend(run, self._store.now() + LEASE)

    def stop(self) -> None:
        self._stopped.set()
        # Where somebody takes hold of a run just now, its thread is first started.
        with self._lock:
            thread = self._thread
        if thread:
            thread.join()
