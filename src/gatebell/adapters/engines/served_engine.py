"""What the engines share whose library is asynchronous: its loop runs on the worker's thread."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.adapters.engines.drives import LOOK_SECONDS
from gatebell.domain.runs.places import host_place
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.engines.drives import Drives
    from gatebell.ports.engines import Dispatches

TASK = "gatebell.drive"
BEAT_SECONDS = 2.0
STALLED_SECONDS = 6.0
"""A worker that was silent for this long has ended; its jobs go to others."""
_SWEEP_SECONDS = 30.0
_LOST_AFTER = timedelta(seconds=60)
_log = logging.getLogger("gatebell.worker")


class ServedEngine:
    """Drives the runs of this host, and those of its pool whose projects it has."""

    def __init__(self, drives: Drives, dispatches: Dispatches, pools: Sequence[str]) -> None:
        """Take the places of the pool, one for each project that this worker has."""
        self.drives, self.dispatches = drives, dispatches
        drives.pools = pools
        self.places = [host_place(drives.store.machine.host), *pools]
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def work(self) -> None:
        looking = threading.Thread(target=self._look, name="looking", daemon=True)
        looking.start()
        asyncio.run(self._serve())
        looking.join()

    def _look(self) -> None:
        """Look each second for what no job tells of, and now and then for lost jobs."""
        swept_at = 0.0
        while not self.drives.wait_stopped(LOOK_SECONDS):
            try:
                self.drives.look()
                self.take_up()
                if self.drives.store.monotonic() - swept_at >= _SWEEP_SECONDS:
                    swept_at = self.drives.store.monotonic()
                    self.dispatches.dispatch_missing(self.drives.store.now() - _LOST_AFTER)
            except GateError as error:
                _log.error("%s", error)

    def take_up(self) -> None:
        """Make a run for the next task, if nothing else is to be done; its job comes as any other."""
        self.drives.take_up()

    async def _serve(self) -> None:
        """Serve; it ends when the connection is lost, and begins again."""
        self._loop = asyncio.get_running_loop()
        while not self.drives.is_stopped:
            self._task = asyncio.create_task(self.serve())
            try:
                await self._task
            except asyncio.CancelledError:
                return
            except Exception as error:  # whatever the library raises, other runs wait for a worker
                _log.error("the engine lost its connection (%s); trying again", _name(error))
            await asyncio.to_thread(self.drives.wait_stopped, LOOK_SECONDS)
            await asyncio.to_thread(self._dispatch_all)

    async def serve(self) -> None:
        """Take jobs, and drive their runs, until this is cancelled or the connection is lost."""
        raise NotImplementedError

    def _dispatch_all(self) -> None:
        """Hand over what was lost with the connection."""
        try:
            self.dispatches.dispatch_missing(self.drives.store.now())
        except GateError as error:
            _log.error("%s", error)

    def begin(self, run_id: int) -> asyncio.Event:
        """Drive the run of a job on a thread of its own; the event tells its end.

        The drive goes on when the job is given up, for example with its connection.
        """
        done, loop = asyncio.Event(), asyncio.get_running_loop()

        def drive() -> None:
            try:
                self.drives.drive_job(run_id)
            except GateError as error:
                # The sweep hands it over again.
                _log.error("run %d: %s", run_id, error)
            finally:
                # The loop may have ended before the drive.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(done.set)

        threading.Thread(target=drive, name=f"run-{run_id}", daemon=True).start()
        return done

    def stop(self) -> None:
        self.drives.stop()
        # The loop may not have begun, or have ended already.
        with suppress(RuntimeError):
            if self._loop:
                self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task:
            self._task.cancel()

    def busy(self) -> list[int]:
        return self.drives.busy()

    def wait_idle(self, seconds: float) -> bool:
        return self.drives.wait_idle(seconds)


def _name(error: BaseException) -> str:
    # Its text may repeat parts of an address with a password.
    inner = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error
    return type(inner).__name__
