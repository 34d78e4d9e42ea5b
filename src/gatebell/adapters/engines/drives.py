"""The drives of one process: what every engine does with a run, and once a second."""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.domain.runs.places import pool_place
from gatebell.errors import GateError
from gatebell.ports.engines import DriveReport
from gatebell.services import freezes
from gatebell.services.asks import apply_deadlines
from gatebell.services.runs.claims import Abandoned, is_due

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator
    from queue import SimpleQueue

    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store
    from gatebell.services.runs.checkouts import Checkouts
    from gatebell.services.runs.drive_run import Driver
    from gatebell.services.tasks.scheduler import TaskScheduler

    Reports = SimpleQueue[DriveReport | None]

LOOK_SECONDS = 1.0
# The clocks of an engine and of this process may differ by so much.
_MAX_EARLY = timedelta(seconds=1)
_log = logging.getLogger("gatebell.worker")


class Drives:
    """Drives runs in the slots of this process, each on its own thread."""

    def __init__(
        self,
        store: Store,
        driver: Driver,
        scheduler: TaskScheduler,
        checkouts: Checkouts,
        slots: int,
        reports: Reports | None = None,
    ) -> None:
        """`scheduler` makes a run for the next task, if no existing run can go on.

        `checkouts` are the projects for whose new runs it makes a folder. `reports` gets one
        report when a drive begins, and one when it ends.
        """
        self.store, self._driver, self.scheduler = store, driver, scheduler
        self._abandoned = Abandoned(store, driver.driven)
        self._reports = reports
        self.checkouts = checkouts
        self.slots = slots
        self._busy: set[int] = set()
        self._left = threading.Condition()
        self._stopped = threading.Event()
        self._looked_at = -LOOK_SECONDS
        self.is_overtaken = False
        """Whether another worker was faster to claim the last run."""
        self.pools: Container[str] = ()
        """The places whose runs without a host this process may drive."""
        self.offer: Callable[[], Iterable[Run]] = list
        """Returns runs for a free slot, if the engine looks for them itself."""

    def stop(self) -> None:
        self._stopped.set()

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def wait_stopped(self, seconds: float) -> bool:
        return self._stopped.wait(seconds)

    @property
    def has_room(self) -> bool:
        """Whether another drive may begin."""
        return len(self._busy) < self.slots and not self.is_stopped

    def look(self) -> None:
        """Look for deadlines and abandoned runs, of which nothing else tells; once a second."""
        now = self.store.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        apply_deadlines.sweep(self.store)
        self._driver.put_off_interrupted()
        for run in (*self._abandoned.find(), *self._abandoned.find_ready()):
            self.begin(run)

    def begin(self, given: Run | None = None) -> bool:
        """Drive a run on a new thread, and after its end what `offer` returns, without a bell.

        Returns False if no slot is free, or if no such run is left to be driven.
        """
        run = self._reserve(given)
        if run:
            threading.Thread(target=self._drive_on, args=(run,), daemon=True).start()
        return run is not None

    def _reserve(self, given: Run | None = None) -> Run | None:
        with self._left:
            if self.has_room and not freezes.find(self.store):
                for run in [given] if given else self.offer():
                    if run.id not in self._busy:
                        self._busy.add(run.id)
                        return run
        return None

    def _drive_on(self, run: Run | None) -> None:
        while run:
            with self._leaving(run.id):
                self._try_to_drive(run)
            run = None
            with suppress(GateError):
                run = self._reserve()

    @contextmanager
    def _leaving(self, run_id: int) -> Iterator[None]:
        try:
            yield
        finally:
            with self._left:
                self._busy.discard(run_id)
                self._left.notify_all()

    def drive_job(self, run_id: int) -> None:
        """Drive the run of an engine's job, if it is still to be driven.

        Raises:
            GateError: The store cannot be read.
        """
        with self._left:
            # The drive that made it ready again is about to end.
            self._left.wait_for(lambda: run_id not in self._busy)
            if self.is_stopped:
                return
            self._busy.add(run_id)
        with self._leaving(run_id):
            if run := self._find_due(run_id):
                self._try_to_drive(run)

    def _try_to_drive(self, run: Run) -> None:
        try:
            self._drive(run)
        except GateError as error:
            # The run is taken up again once the store can be written.
            _log.error("run %d: %s", run.id, error)

    def list_unplaced(self) -> list[Run]:
        """Return the runs that wait for a folder in one of the checkouts."""
        keys, limit = self.checkouts.keys, self.slots + 1
        return [run for key in keys for run in self.store.runs.list_unplaced(key, limit)]

    def take_up(self) -> None:
        """Make a run for the next task, if a slot is free and no run of this host is ready."""
        if self.has_room and not self.store.runs.ready(1):
            self.scheduler.take_up()

    def _find_due(self, run_id: int) -> Run | None:
        run = self.store.runs.get(run_id)
        if run is None or run.has_ended or run.owner:
            return None
        if not run.host and pool_place(run.pool, run.project_key) not in self.pools:
            # An old job: since then, the run has left this host.
            return None
        now = self.store.now()
        if run.ready_at and now < run.ready_at < now + _MAX_EARLY:
            self._stopped.wait((run.ready_at - now).total_seconds())
            now = max(run.ready_at, self.store.now())
        return run if is_due(run, now) else None

    def _drive(self, run: Run) -> None:
        checkout = self.checkouts.find(run.project_key) if run.is_unplaced else ""
        claimed = self._driver.claim(run, checkout=checkout)
        self.is_overtaken = claimed is None
        if claimed is None:
            # Another worker claimed it first, so there is nothing to report.
            return
        self._report(claimed, is_over=False)
        driven = self._driver.drive_claimed(claimed)
        self._report(driven, is_over=True)
        self.scheduler.note_end(driven)

    def _report(self, run: Run, *, is_over: bool) -> None:
        if self._reports is None:
            return
        # Read now: it may have changed when the report is read.
        task = self.store.tasks.get(run.task) if run.task else None
        asks = self.store.asks.pending_of_run(task.run) if task and is_over else []
        self._reports.put(DriveReport(run, is_over, task, asks))

    def wait_idle(self, seconds: float) -> bool:
        """Wait for the end of all drives, at most so long; return whether all have ended."""
        with self._left:
            return self._left.wait_for(lambda: not self._busy, max(0.0, seconds))

    def busy(self) -> list[int]:
        """Return the runs that are being driven."""
        with self._left:
            return sorted(self._busy)
