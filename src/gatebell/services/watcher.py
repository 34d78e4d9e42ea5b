"""One watcher per process that finds changed asks and runs."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.domain.asks.owners import name_of_run
from gatebell.errors import StoreError
from gatebell.services.asks.apply_deadlines import sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.ports.store import Store

# A real bell returns much earlier. A fake bell in tests advances the clock.
_A_DAY_SECONDS = 86400.0
_TRY_AGAIN_AFTER_SECONDS = 1.0
# A write may be committed a while after its time, and hosts' clocks differ.
_LATE_WRITES = timedelta(seconds=10)
_log = logging.getLogger(__name__)


class Watcher:
    """Finds the names of changed asks and runs, and applies due deadlines.

    A face iterates over `changes` on its own thread.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stopped = threading.Event()
        # Read before `changes` begins, so that no change after this point is missed.
        self._seen = store.audit.position()
        self._looked_until = store.now()
        self.looked_at = store.monotonic()
        """When all changes until then were read: a store that fails or hangs makes it old."""
        self._runs = store.runs.changed_since(self._looked_until - _LATE_WRITES)
        self._problem = ""

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def stop(self) -> None:
        """Make `changes` end at its next look; may be called from another thread."""
        self._stopped.set()

    def changes(self) -> Iterator[frozenset[str]]:
        """Yield names as they change, until `stop`.

        If the iteration ends early, the next call yields the unprocessed names again.
        """
        while not self.is_stopped:
            # The store may fail for a short time only: try again.
            try:
                yield from self._watch()
            except StoreError as error:
                self._report(str(error))
            self.pause()

    def _report(self, problem: str) -> None:
        """Log a problem of the store when it begins, and when it is over."""
        if problem != self._problem:
            self._problem = problem
            _log.warning("%s", problem or "the store can be read again")

    def pause(self) -> None:
        """Wait a moment after an error, unless stopped."""
        self._stopped.wait(_TRY_AGAIN_AFTER_SECONDS)

    def _watch(self) -> Iterator[frozenset[str]]:
        bell = self._store.bell()
        try:
            while not self.is_stopped:
                sweep(self._store)
                now = self._store.now()
                seen, changed = self._store.audit.changed_since(self._seen)
                # A draft writes no event, but people must see that a person is answering.
                changed |= {ask_id for ask_id, _ in self._store.asks.drafting(self._looked_until)}
                # A turn of an agent writes no event either, but it changes its run.
                found = self._store.runs.changed_since(self._looked_until - _LATE_WRITES)
                changed |= {name_of_run(one) for one in found if found[one] != self._runs.get(one)}
                if changed:
                    yield changed
                # Only after the yield: names that were not processed are found again after an
                # error.
                self._seen, self._looked_until, self._runs = seen, now, found
                self.looked_at = self._store.monotonic()
                self._report("")
                bell.wait(_A_DAY_SECONDS)
        finally:
            bell.close()
