"""The local engine: drives ready runs of one store on this machine, a few at once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from gatebell.adapters.engines.drives import LOOK_SECONDS
from gatebell.errors import GateError
from gatebell.services import freezes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.adapters.engines.drives import Drives
    from gatebell.domain.runs.runs import Run

_CHOICES = 8
_log = logging.getLogger("gatebell.worker")


class LocalEngine:
    """Looks for runs that are ready or abandoned, and drives them."""

    def __init__(self, drives: Drives) -> None:
        self._drives, self._store = drives, drives.store
        drives.offer = self._list_next

    def work(self) -> None:
        bell = self._store.bell()
        try:
            while not self._drives.is_stopped:
                patience = LOOK_SECONDS
                try:
                    self._drives.look()
                    while self._drives.begin():
                        pass
                    patience = self._patience()
                except GateError as error:
                    _log.error("%s", error)
                bell.wait(patience)
        finally:
            bell.close()

    def _patience(self) -> float:
        asleep = self._store.runs.next_ready_at()
        # With every slot taken, the next free one looks for due runs.
        if asleep is None or not self._drives.has_room or freezes.find(self._store):
            return LOOK_SECONDS
        left = (asleep - self._store.now()).total_seconds()
        return min(LOOK_SECONDS, max(0.005, left))

    def _list_next(self) -> Iterator[Run]:
        # Runs that are just being claimed are still listed as ready.
        limit, is_overtaken = self._drives.slots + 1, self._drives.is_overtaken
        if is_overtaken:
            # If all workers tried the same runs, each would wait for the claims of the others.
            limit *= _CHOICES
        for run_id in self._store.runs.ready(limit, shuffled=is_overtaken):
            if run := self._store.runs.get(run_id):
                yield run
        yield from self._drives.list_unplaced()
        if new := self._drives.scheduler.take_up():
            yield new

    def stop(self) -> None:
        self._drives.stop()

    def busy(self) -> list[int]:
        return self._drives.busy()

    def wait_idle(self, seconds: float) -> bool:
        return self._drives.wait_idle(seconds)
