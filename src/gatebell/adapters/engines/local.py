"""The local engine: drives ready runs of one store on this machine, a few at once."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store

_LOOK_EVERY_SECONDS = 1.0


class Worker:
    """Looks for runs that somebody should drive, and drives them."""

    def __init__(
        self,
        store: Store,
        drive: Callable[[Run], Run],
        abandoned: Callable[[], list[Run]],
        sweep: Callable[[], object],
        slots: int,
        take_up: Callable[[], Run | None] = lambda: None,
        unkept: Callable[[], list[Run]] = list,
    ) -> None:
        """`abandoned` finds runs whose owners are gone; `sweep` lets deadlines fall due.

        `unkept` finds those that could go on, and whose keepers are gone.
        `take_up` makes a run for the next task, where nothing that was begun can go on.
        """
        self._store, self._drive, self._abandoned, self._sweep = store, drive, abandoned, sweep
        self._take_up, self._unkept = take_up, unkept
        self._slots = slots
        self._busy: set[int] = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._looked_at = -_LOOK_EVERY_SECONDS

    def work(self) -> None:
        """Until `stop` is called."""
        bell = self._store.bell()
        try:
            while not self._stopped.is_set():
                patience = _LOOK_EVERY_SECONDS
                try:
                    self._look()
                    self._start_ready()
                    patience = self._patience()
                except GateError as error:
                    print(f"gate: {error}", file=sys.stderr)
                bell.wait(patience)
        finally:
            bell.close()

    def stop(self) -> None:
        self._stopped.set()

    def _patience(self) -> float:
        asleep = self._store.runs.next_ready_at()
        # With every slot taken, whoever gets free looks for what is due.
        if asleep is None or len(self._busy) >= self._slots:
            return _LOOK_EVERY_SECONDS
        left = (asleep - self._store.now()).total_seconds()
        return min(_LOOK_EVERY_SECONDS, max(0.005, left))

    def _look(self) -> None:
        """What nobody rings a bell for: the dead, and deadlines."""
        now = self._store.monotonic()
        if now - self._looked_at < _LOOK_EVERY_SECONDS:
            return
        self._looked_at = now
        self._sweep()
        for run in self._abandoned():
            self._take_over(run)

    def _start_ready(self) -> None:
        while run := self._next():
            thread = threading.Thread(target=self._work, args=(run,), daemon=True)
            thread.start()

    def _next(self) -> Run | None:
        """A ready run that nobody here drives, or a new one, if there is a slot; it is busy then."""
        with self._lock:
            if len(self._busy) >= self._slots or self._stopped.is_set():
                return None
            # Those just being claimed are still listed as ready.
            for run_id in self._store.runs.ready(len(self._busy) + 1):
                run = self._store.runs.get(run_id)
                if run and run_id not in self._busy:
                    self._busy.add(run_id)
                    return run
            for run in self._unkept():
                if run.id not in self._busy:
                    self._busy.add(run.id)
                    return run
            if new := self._take_up():
                self._busy.add(new.id)
            return new

    def _take_over(self, run: Run) -> None:
        with self._lock:
            if run.id in self._busy or len(self._busy) >= self._slots:
                return
            self._busy.add(run.id)
        threading.Thread(target=self._work, args=(run,), daemon=True).start()

    def _work(self, run: Run | None) -> None:
        """Drive one run, then whatever is ready next: no slot waits for a bell."""
        while run:
            try:
                self._drive(run)
            except GateError as error:
                # The run is taken up again once the store can be written.
                print(f"gate: run {run.id}: {error}", file=sys.stderr)
            finally:
                with self._lock:
                    self._busy.discard(run.id)
                run = None
            with suppress(GateError):
                run = self._next()

    def wait_idle(self, seconds: float) -> bool:
        """Whether nothing is driven any more, within so long."""
        until = self._store.monotonic() + seconds
        while self._busy and self._store.monotonic() < until:
            threading.Event().wait(0.01)
        return not self._busy

    def busy(self) -> list[int]:
        """The runs that are driven."""
        with self._lock:
            return sorted(self._busy)
