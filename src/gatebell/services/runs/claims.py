"""Claims and leases of runs: which process drives a run, and when another may take over."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from gatebell.domain.enums import RunState
from gatebell.domain.runs import runs
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.runs.runs import RunChange
from gatebell.errors import GateError
from gatebell.services import freezes
from gatebell.services.runs.placement import locate

if TYPE_CHECKING:
    from collections.abc import Container
    from datetime import datetime

    from gatebell.domain.runs.runs import Run
    from gatebell.errors import StoreError
    from gatebell.ports.store import Store

LEASE = timedelta(seconds=30)
_BEAT_SECONDS = LEASE.total_seconds() / 3
# After sleep, all leases of a machine have expired although their owners live. In this time every
# living owner extends its lease once.
_GRACE_SECONDS = _BEAT_SECONDS * 1.5


# An error of the store may come again at once, for example in a step with a store of its own.
_PAUSE = timedelta(seconds=5)


def claim(store: Store, run: Run, keeper: Keeper | None = None, checkout: str = "") -> Run | None:
    """Claim a run for this process; None if another process has it, or everything is frozen.

    With a keeper this process keeps it from then on, also between two drives. `checkout` is the
    folder of its project on this host; a run without a folder is claimed only with it.
    """
    run = locate(store, run)
    if run.has_ended or not _is_free(store, run, keeper) or (run.is_unplaced and not checkout):
        return None
    if freezes.find(store):
        return None
    # A run without a host gets its folder here, even if making it is interrupted.
    settled = run._replace(host=run.host or store.machine.host)
    if run.is_unplaced:
        settled = settled._replace(project=checkout)
    if keeper:
        return keeper.claim(settled)
    change = runs.claim(settled, str(store.machine.me()), store.now() + LEASE)
    return change.run if store.runs.change(change, run) else None


def renew(until: datetime | None, now: datetime) -> datetime:
    """Return the end of a lease that is used now.

    It stays if the next beat comes in time: a row without a change costs the store less.
    """
    return until if until and until - now > LEASE * 2 / 3 else now + LEASE


def is_due(run: Run, now: datetime) -> bool:
    """Return whether the run can continue at once."""
    if run.state == RunState.READY:
        return run.ready_at is None or run.ready_at <= now
    return run.state == RunState.WAITING_HUMAN and run.ready_at is not None and run.ready_at <= now


def _is_free(store: Store, run: Run, keeper: Keeper | None) -> bool:
    if run.host not in ("", store.machine.host):
        # Its folder is there.
        return False
    if keeper and not run.host and run.pool:
        # A worker of its pool makes its folder.
        return False
    if run.is_kept:
        return bool(keeper and keeper.has(run)) or not is_kept(store, run)
    if run.state != RunState.RUNNING:
        return True
    owner = parse_identity(run.owner)
    if store.machine.is_of_other_host(owner):
        # A lease that ended proves nothing: that host may only be cut off (law 5). Its own
        # workers take the run again, or a person stops it.
        return False
    late = run.lease_until is None or run.lease_until <= store.now()
    return late or not store.machine.lives(owner)


def is_kept(store: Store, run: Run) -> bool:
    """Return whether a living process keeps a run for itself, so that no other may drive it."""
    if not run.is_kept:
        return False
    owner = parse_identity(run.owner)
    if store.machine.is_of_other_host(owner):
        return True
    # A process that let go but could not write it has released its lock. For processes in other
    # containers, only the lock tells.
    if store.machine.lives(owner) and store.machine.is_run_kept(run):
        return True
    # Its keeper may have claimed it again since it was read.
    now = store.runs.get(run.id)
    return bool(now and now.claim != run.claim and is_kept(store, now))


class Keeper:
    """Keeps runs for a program or a command that drives them while its process lives."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._mine: dict[int, Run] = {}
        """Each run with the claim of this keeper."""
        self._lock = threading.Lock()

    def has(self, run: Run) -> bool:
        mine = self._mine.get(run.id)
        # A child process has a copy of the parent's runs.
        return bool(
            mine
            and run.is_kept
            and run.claim == mine.claim
            and run.owner == str(self._store.machine.me())
        )

    def can_drive(self, run: Run) -> bool:
        """Return whether the run can continue at once and no other process has it."""
        is_free = _is_free(self._store, run, self) and not run.is_unplaced
        return is_due(run, self._store.now()) and is_free and not freezes.find(self._store)

    def claim(self, run: Run) -> Run | None:
        return self.write(runs.claim(run, str(self._store.machine.me()), None), run)

    def keep(self, run: Run) -> Run | None:
        """Keep a waiting run that no other process has; None if another was faster."""
        if run.has_ended or run.state == RunState.RUNNING or not _is_free(self._store, run, self):
            return None
        if self.has(run):
            return run
        # The claim number rises, so that a claim based on the older state of the run fails.
        return self.write(RunChange(run._replace(claim=run.claim + 1)), run)

    def write(self, change: RunChange, run: Run) -> Run | None:
        """Write a change by which this process keeps the run; None if another was faster."""
        kept = runs.keep(change.run, str(self._store.machine.me()))
        # Lock before the write: no process may see the claim without its lock.
        self._store.machine.keep_run(kept)
        stale: Run | None = kept
        try:
            if self._store.runs.change(change._replace(run=kept), run):
                stale, self._mine[run.id] = self._mine.get(run.id), kept
                return kept
        finally:
            # If the write failed, the lock of the earlier claim stays.
            self._step_back(stale)
        return None

    def let_go(self) -> None:
        """Let other processes drive the runs that this process kept."""
        # Another thread may stop a program just as it ends.
        with self._lock:
            for run_id in list(self._mine):
                try:
                    self._let_go(run_id)
                finally:
                    self._step_back(self._mine.pop(run_id))

    def _let_go(self, run_id: int) -> None:
        while (
            (run := self._store.runs.get(run_id))
            and self.has(run)
            and run.state != RunState.RUNNING
        ):
            if self._store.runs.change(runs.let_go(run), run):
                return

    def _step_back(self, run: Run | None) -> None:
        if run:
            self._store.machine.leave_run(run)


class Abandoned:
    """Finds runs whose owners are dead, or have been silent for too long."""

    def __init__(self, store: Store, driven: Container[int] = ()) -> None:
        """Take `driven`, which always contains the runs that this process drives now."""
        self._store, self._driven = store, driven
        self._late: dict[tuple[int, int], float] = {}
        """When the lease of a living owner was first seen expired."""

    def find(self) -> list[Run]:
        """Return them, or none while everything is frozen.

        Of the runs whose owners live and have fresh leases, none is read.
        """
        if freezes.find(self._store):
            return []
        found, late = self._find_left(), {}
        known = {run.id for run in found}
        monotonic = self._store.monotonic()
        for run in self._store.runs.running(late_before=self._store.now()):
            if run.id in self._driven or run.id in known or self._is_elsewhere(run.owner):
                continue
            if run.is_kept:
                found += [] if is_kept(self._store, run) else [run]
                continue
            claimed = (run.id, run.claim)
            late[claimed] = self._late.get(claimed, monotonic)
            if monotonic - late[claimed] >= _GRACE_SECONDS:
                found.append(run)
        self._late = late
        return found

    def _find_left(self) -> list[Run]:
        """Return the runs of processes that are proven gone."""
        return [
            run
            for owner in self._store.runs.owners()
            if not self._store.machine.lives(parse_identity(owner))
            for run in self._store.runs.list_driven_by(owner)
            if run.id not in self._driven and not is_kept(self._store, run)
        ]

    def _is_elsewhere(self, owner: str) -> bool:
        return self._store.machine.is_of_other_host(parse_identity(owner))

    def find_ready(self) -> list[Run]:
        """Return the kept runs that could continue at once and whose keepers are gone."""
        return [run for run in self._store.runs.list_kept() if not is_kept(self._store, run)]


class Interrupted:
    """The runs whose drives in this process have lost the store.

    Its process lives, so that is no crash; and it need not wait for the end of its lease.
    """

    def __init__(self, store: Store, driven: Container[int] = ()) -> None:
        """Take `driven`, which always contains the runs that this process drives now."""
        self._store, self._driven = store, driven
        self._found: dict[int, tuple[Run, StoreError]] = {}

    def note(self, claimed: Run, problem: StoreError) -> None:
        """Remember a run; a process that keeps its run is told, and decides itself."""
        if not claimed.is_kept:
            self._found[claimed.id] = (claimed, problem)

    def note_claim(self, run: Run, problem: StoreError) -> None:
        """Remember a run whose claim may be recorded, although the reply was lost."""
        self._found[run.id] = (run._replace(claim=run.claim + 1), problem)

    def put_off(self) -> None:
        """Let any process drive these runs again, soon; if the store is still lost, they stay."""
        for run_id, (claimed, problem) in list(self._found.items()):
            # Read again: the last change of the drive may have been recorded.
            run = self._store.runs.get(run_id)
            if run and self._is_left(run, claimed):
                until = self._store.now() + _PAUSE
                self._store.runs.change(runs.put_off(run, str(problem), until), run)
            self._found.pop(run_id, None)

    def _is_left(self, run: Run, claimed: Run) -> bool:
        """Return whether this process has the claim, and does not drive the run."""
        is_mine = run.claim == claimed.claim and run.owner == str(self._store.machine.me())
        return run.state == RunState.RUNNING and is_mine and run.id not in self._driven


class Losing(Protocol):
    """Drives runs, and can lose them to another process."""

    def lose(self, run_id: int) -> None:
        """End the work on a run whose claim was lost."""
        ...


class Heartbeat:
    """Extends the leases of this process while its drives are busy with long calls."""

    def __init__(self, store: Store, driver: Losing | None = None) -> None:
        """Take the driver, which is told about each lost claim."""
        self._store, self._driver = store, driver
        self._held: dict[int, Run] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def hold(self, run: Run) -> None:
        with self._lock:
            self._held[run.id] = run
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
                self._thread.start()

    def let_go(self, run: Run) -> None:
        with self._lock:
            self._held.pop(run.id, None)

    def _beat(self) -> None:
        while not self._stopped.wait(_BEAT_SECONDS):
            with self._lock:
                held = list(self._held.values())
            # After an error of the store, the next beat tries again.
            with suppress(GateError):
                self._extend(held)

    def _extend(self, held: list[Run]) -> None:
        kept = self._store.runs.extend(held, self._store.now() + LEASE) if held else set()
        for run in held:
            if run.id not in kept and self._driver and self._is_lost(run):
                self._driver.lose(run.id)

    def _is_lost(self, run: Run) -> bool:
        """Return whether another process has the run; its drive may also have just ended."""
        now = self._store.runs.get(run.id)
        return self._held.get(run.id) == run and (now is None or now.claim != run.claim)

    def stop(self) -> None:
        self._stopped.set()
        # Another thread may be starting it in `hold`.
        with self._lock:
            thread = self._thread
        if thread:
            thread.join()
