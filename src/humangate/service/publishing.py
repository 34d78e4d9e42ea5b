"""One watcher per process that tells which asks have changed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from humangate.service.sweeping import sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from humangate.doors.store import Store

_LOOK_EVERY_SECONDS = 1.0


class Publisher:
    """A thread that hands on the ids of changed asks, and lets due ones fall due."""

    def __init__(
        self,
        store: Store,
        publish: Callable[[frozenset[str]], object],
        fail: Callable[[BaseException], object],
    ) -> None:
        self._store = store
        self._publish = publish
        self._fail = fail
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="humangate-publisher", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._watch()
        except BaseException as error:
            # Whoever waits must hear of it: nobody will wake them any more.
            self._fail(error)

    def _watch(self) -> None:
        bell = self._store.bell()
        seen = self._store.audit.head().seq
        while not self._stopped.is_set():
            sweep(self._store)
            seen, changed = self._store.audit.changed_since(seen)
            if changed:
                self._publish(changed)
            bell.wait(_LOOK_EVERY_SECONDS)
        bell.close()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
