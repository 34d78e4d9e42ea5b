"""Sends changes of the store to all streams and waits, from one watcher thread."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks.owners import run_of
from gatebell.domain.audit.events import EventKind
from gatebell.errors import StoreError
from gatebell.services.watcher import Watcher
from gatebell.web.attendance import Attendance
from gatebell.web.token_cache import TokenCache
from gatebell.web.waits import Waits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gatebell.domain.audit.events import Entry
    from gatebell.errors import GateError
    from gatebell.ports.store import Store
    from gatebell.web.waits import Look

# A stream that is so far behind starts again.
MAX_BEHIND = 1_000
# How asks, runs and tasks are named. After other changes, a token may have ended that waits.
_WORK = ("a-", "run:", "tm-")
ADMISSION_CHANGED = (EventKind.LOGIN_ENDED, EventKind.TOKEN_REVOKED, EventKind.PERSON_REMOVED)


class Told(NamedTuple):
    """One message of a stream; drafts and working agents have no number, because they are no events."""

    seq: int | None
    data: str


class Hub:
    """The one watcher of the process, shared by streams and waits."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._streams: set[asyncio.Queue[Told | None]] = set()
        self.waits = Waits(store)
        self.tokens = TokenCache(store.monotonic)
        self.admissions = 0
        """Changes when a token or a login may have ended, also one of another server."""
        self._watcher: Watcher | None = None
        self._thread: threading.Thread | None = None
        self.seq = 0
        """The newest event that was sent to streams."""
        self.open = False
        self.attendance = Attendance(store)

    def start(self) -> None:
        """Start inside the loop of streams and waits."""
        self.seq, self.open = self._store.audit.head().seq, True
        self.tokens.is_open = True
        self._watcher = Watcher(self._store)
        watched = (self._watcher, asyncio.get_running_loop())
        self._thread = threading.Thread(target=self._follow, args=watched, daemon=True)
        self._thread.start()
        self.attendance.start()

    def _follow(self, watcher: Watcher, loop: asyncio.AbstractEventLoop) -> None:
        # The loop may be closed by then.
        with suppress(RuntimeError):
            try:
                while not watcher.is_stopped:
                    with suppress(StoreError):
                        self._publish(watcher, loop)
                    watcher.pause()
            except BaseException:
                loop.call_soon_threadsafe(self.close)

    def _publish(self, watcher: Watcher, loop: asyncio.AbstractEventLoop) -> None:
        for ids in watcher.changes():
            news = self.waits.read(ids)
            if all(one.startswith(_WORK) for one in ids):
                # Waits first: on PostgreSQL, the entries may have to be sealed before they are read.
                loop.call_soon_threadsafe(self.waits.tell, news)
                news = {}
            # On this thread: one read for all streams.
            entries = list(self._store.audit.entries(self.seq))
            others = ids - {entry.event.subject for entry in entries}
            loop.call_soon_threadsafe(self._tell, entries, others, news)

    def _tell(
        self,
        entries: list[Entry],
        others: frozenset[str],
        news: Mapping[str, Look | GateError] = MappingProxyType({}),
    ) -> None:
        fresh = [entry for entry in entries if entry.seq > self.seq]
        told = [Told(entry.seq, event_data(entry)) for entry in fresh if entry.is_news]
        told += [Told(None, _name_unnumbered(one)) for one in others]
        self.seq = max([self.seq, *(entry.seq for entry in fresh)])
        if any(entry.event.kind in ADMISSION_CHANGED for entry in fresh):
            self.admissions += 1
            self.tokens.clear()
        self.waits.tell(news)
        for queue in list(self._streams):
            if queue.qsize() + len(told) >= MAX_BEHIND:
                self._end(queue)
            else:
                for one in told:
                    queue.put_nowait(one)

    @contextmanager
    def stream(self) -> Iterator[asyncio.Queue[Told | None]]:
        """Return a queue of the changes from now on; None is its end."""
        queue: asyncio.Queue[Told | None] = asyncio.Queue()
        self._streams.add(queue)
        if not self.open:
            self._end(queue)
        try:
            yield queue
        finally:
            self._streams.discard(queue)

    def count_clients(self) -> tuple[int, int]:
        """Return the numbers of waits and streams."""
        return len(self.waits), len(self._streams)

    def feed_age(self) -> float:
        """Return how many seconds ago changes were last read."""
        seen = self._watcher.looked_at if self._watcher else 0.0
        return self._store.monotonic() - seen

    def _end(self, queue: asyncio.Queue[Told | None]) -> None:
        self._streams.discard(queue)
        queue.put_nowait(None)

    def close(self) -> None:
        """End all streams and waits: the server stops, or the store is gone."""
        self.open = self.tokens.is_open = False
        for queue in list(self._streams):
            self._end(queue)
        self.waits.wake_all()

    def stop(self) -> None:
        """Wait, outside of the loop, until the watcher's thread has ended."""
        if self._watcher and self._thread:
            self._watcher.stop()
            self._thread.join()
            self.attendance.stop()


def event_data(entry: Entry) -> str:
    """Describe an event for a stream: that it happened, without its content."""
    event = entry.event
    about = {"seq": entry.seq, "at": entry.at, "kind": event.kind, "subject": event.subject}
    return json.dumps({**about, "actor": event.actor})


def _name_unnumbered(subject: str) -> str:
    """Name a change without an event: a draft of an answer, or a working agent."""
    kind = "draft" if run_of(subject) is None else "working"
    return json.dumps({"kind": kind, "subject": subject})
