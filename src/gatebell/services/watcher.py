"""One watcher per process that tells which asks and runs have changed."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.errors import StoreError
from gatebell.services.asks.apply_deadlines import sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store

# A bell comes back by itself much earlier; a fake one lets time fly.
_A_DAY_SECONDS = 86400.0
_TRY_AGAIN_AFTER_SECONDS = 1.0


class Watcher:
    """Finds the names of changed asks and runs, and lets due asks fall due.

    A face iterates over `changes` on a thread of its own.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stopped = threading.Event()
        # Before `changes` begins: what happens from now on is not missed.
        self._seen = store.audit.head().seq
        self._looked_at = store.now()
        self._running: dict[int, Run] = {}

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def stop(self) -> None:
        """From another thread: `changes` ends at its next look."""
        self._stopped.set()

    def changes(self) -> Iterator[frozenset[str]]:
        """Yield names as they change, until `stop`.

        Names whose iteration ended before the next step are given again by the next call.
        """
        while not self.is_stopped:
            # A store that gives trouble for a while is looked at again.
            with suppress(StoreError):
                yield from self._watch()
            self.pause()

    def pause(self) -> None:
        """After trouble: let a moment pass, unless this is stopped."""
        self._stopped.wait(_TRY_AGAIN_AFTER_SECONDS)

    def _watch(self) -> Iterator[frozenset[str]]:
        bell = self._store.bell()
        try:
            while not self.is_stopped:
                sweep(self._store)
                now = self._store.now()
                seen, changed = self._store.audit.changed_since(self._seen)
                # Drafts are no events, but people see that somebody is answering.
                changed |= {ask_id for ask_id, _ in self._store.asks.drafting(self._looked_at)}
                # Nor are turns of agents, but whoever writes one extends the claim of its run.
                running = {run.id: run for run in self._store.runs.running()}
                changed |= _differing(self._running, running)
                if changed:
                    yield changed
                # Only now: what was not told is looked at again after trouble.
                self._seen, self._looked_at, self._running = seen, now, running
                bell.wait(_A_DAY_SECONDS)
        finally:
            bell.close()


def _differing(before: dict[int, Run], after: dict[int, Run]) -> set[str]:
    both = {**before, **after}
    return {run.name for run in both.values() if before.get(run.id) != after.get(run.id)}
