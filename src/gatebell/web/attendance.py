"""Reports which people have a page of the inbox in front of them.

The page closes its stream while it is hidden, so an open stream is a sign of presence.
"""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gatebell.domain.notifications.timing import PRESENT_FOR
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.ports.store import Store

_BEAT_SECONDS = PRESENT_FOR.total_seconds() / 3


class Attendance:
    """Counts the streams of each person, and reports all of them in one write."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._streams: Counter[str] = Counter()
        self._reported: list[str] = []
        self._changed = threading.Condition()
        self._is_open = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._is_open = True
        self._thread = threading.Thread(target=self._beat, name="attendance", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._is_open = False
            self._changed.notify()
        if self._thread:
            self._thread.join()

    @contextmanager
    def attend(self, person: str) -> Iterator[None]:
        """Count a person as here while this lasts; an empty name is not a person."""
        if not person:
            yield
            return
        with self._changed:
            self._streams[person] += 1
            # A person who goes from page to page is reported with the next beat.
            if person not in self._reported:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._streams[person] -= 1
                self._streams += Counter()

    def _beat(self) -> None:
        while self._wait_for_people():
            # After an error of the store, the next beat tries again.
            with suppress(GateError):
                self._store.presence.see(self._reported)
            with self._changed:
                if self._is_open and self._streams.keys() <= set(self._reported):
                    self._changed.wait(_BEAT_SECONDS)
                self._reported = []

    def _wait_for_people(self) -> bool:
        """Return as soon as a person is here; False when it ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._streams or not self._is_open)
            self._reported = list(self._streams)
            return self._is_open
