"""The local engine: drives ready runs of one store on this machine, a few at once."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.errors import GateError
from gatebell.ports.engines import DriveReport
from gatebell.services.asks import apply_deadlines
from gatebell.services.runs.claims import Abandoned

if TYPE_CHECKING:
    from queue import SimpleQueue

    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store
    from gatebell.services.runs.drive_run import Driver
    from gatebell.services.tasks.scheduler import TaskScheduler

    Reports = SimpleQueue[DriveReport | None]

_POLL_SECONDS = 1.0
_log = logging.getLogger("gatebell.worker")


class Worker:
    """Looks for runs that are ready or abandoned, and drives them."""

    def __init__(
        self,
        store: Store,
        driver: Driver,
        scheduler: TaskScheduler,
        slots: int,
        reports: Reports | None = None,
    ) -> None:
        """`scheduler` makes a run for the next task, if no existing run can go on.

        `reports` gets one report when a drive begins, and one when it ends.
        """
        self._store, self._driver, self.scheduler = store, driver, scheduler
        self._abandoned = Abandoned(store, driver.driven)
        self._reports = reports
        self._slots = slots
        self._busy: set[int] = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._looked_at = -_POLL_SECONDS

    def work(self) -> None:
        """Drive runs until `stop` is called."""
        bell = self._store.bell()
        try:
            while not self._stopped.is_set():
                patience = _POLL_SECONDS
                try:
                    self._look()
                    self._start_ready()
                    patience = self._patience()
                except GateError as error:
                    _log.error("%s", error)
                bell.wait(patience)
        finally:
            bell.close()

    def stop(self) -> None:
        self._stopped.set()

    def _patience(self) -> float:
        asleep = self._store.runs.next_ready_at()
        # With every slot taken, the next free one looks for due runs.
        if asleep is None or len(self._busy) >= self._slots:
            return _POLL_SECONDS
        left = (asleep - self._store.now()).total_seconds()
        return min(_POLL_SECONDS, max(0.005, left))

    def _look(self) -> None:
        """Look for abandoned runs and deadlines, for which no bell rings."""
        now = self._store.monotonic()
        if now - self._looked_at < _POLL_SECONDS:
            return
        self._looked_at = now
        apply_deadlines.sweep(self._store)
        for run in self._abandoned.find():
            self._take_over(run)

    def _start_ready(self) -> None:
        while run := self._next():
            thread = threading.Thread(target=self._work, args=(run,), daemon=True)
            thread.start()

    def _next(self) -> Run | None:
        """Return a ready or a new run, marked as busy, if a slot is free."""
        with self._lock:
            if len(self._busy) >= self._slots or self._stopped.is_set():
                return None
            # Runs that are just being claimed are still listed as ready.
            for run_id in self._store.runs.ready(len(self._busy) + 1):
                run = self._store.runs.get(run_id)
                if run and run_id not in self._busy:
                    self._busy.add(run_id)
                    return run
            for run in self._abandoned.find_ready():
                if run.id not in self._busy:
                    self._busy.add(run.id)
                    return run
            if new := self.scheduler.take_up():
                self._busy.add(new.id)
            return new

    def _take_over(self, run: Run) -> None:
        with self._lock:
            if run.id in self._busy or len(self._busy) >= self._slots:
                return
            self._busy.add(run.id)
        threading.Thread(target=self._work, args=(run,), daemon=True).start()

    def _work(self, run: Run | None) -> None:
        """Drive one run, then the next ready one, without waiting for a bell."""
        while run:
            try:
                self._drive(run)
            except GateError as error:
                # The run is taken up again once the store can be written.
                _log.error("run %d: %s", run.id, error)
            finally:
                with self._lock:
                    self._busy.discard(run.id)
                run = None
            with suppress(GateError):
                run = self._next()

    def _drive(self, run: Run) -> None:
        claimed = self._driver.claim(run)
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
        task = self._store.tasks.get(run.task) if run.task else None
        asks = self._store.asks.pending_of_run(task.run) if task and is_over else []
        self._reports.put(DriveReport(run, is_over, task, asks))

    def wait_idle(self, seconds: float) -> bool:
        """Wait for the end of all drives, at most so long; return whether all have ended."""
        until = self._store.monotonic() + seconds
        while self._busy and self._store.monotonic() < until:
            threading.Event().wait(0.01)
        return not self._busy

    def busy(self) -> list[int]:
        """Return the runs that are being driven."""
        with self._lock:
            return sorted(self._busy)
