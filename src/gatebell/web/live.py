"""What happens in the store, told to everybody who waits or watches; none of them has a thread."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks.owners import run_of
from gatebell.errors import StoreError
from gatebell.services.watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.domain.audit.events import Entry
    from gatebell.ports.store import Store

# Whoever is that far behind starts anew.
MAX_BEHIND = 1_000


class Told(NamedTuple):
    """One message of a stream; drafts and agents at work have no number, for they are no events."""

    seq: int | None
    data: str


class Hub:
    """One watcher for the whole process; streams and waits hang on it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._streams: set[asyncio.Queue[Told | None]] = set()
        self._waits: dict[str, set[asyncio.Event]] = {}
        self._watcher: Watcher | None = None
        self._thread: threading.Thread | None = None
        self.seq = 0
        """The newest event that streams were told of."""
        self.open = False

    def start(self) -> None:
        """Inside the loop that streams and waits run in."""
        self.seq, self.open = self._store.audit.head().seq, True
        self._watcher = Watcher(self._store)
        watched = (self._watcher, asyncio.get_running_loop())
        self._thread = threading.Thread(target=self._follow, args=watched, daemon=True)
        self._thread.start()

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
            # On this thread: one reading for all streams.
            entries = list(self._store.audit.entries(self.seq))
            others = ids - {entry.event.subject for entry in entries}
            loop.call_soon_threadsafe(self._tell, ids, entries, others)

    def _tell(self, ids: frozenset[str], entries: list[Entry], others: frozenset[str]) -> None:
        fresh = [entry for entry in entries if entry.seq > self.seq]
        told = [Told(entry.seq, event_data(entry)) for entry in fresh if entry.is_news]
        told += [Told(None, _name_unnumbered(one)) for one in others]
        self.seq = max([self.seq, *(entry.seq for entry in fresh)])
        for ask_id in ids & self._waits.keys():
            for changed in self._waits[ask_id]:
                changed.set()
        for queue in list(self._streams):
            if queue.qsize() + len(told) >= MAX_BEHIND:
                self._end(queue)
            else:
                for one in told:
                    queue.put_nowait(one)

    @contextmanager
    def stream(self) -> Iterator[asyncio.Queue[Told | None]]:
        """A queue of what happens from now on; None is its end."""
        queue: asyncio.Queue[Told | None] = asyncio.Queue()
        self._streams.add(queue)
        if not self.open:
            self._end(queue)
        try:
            yield queue
        finally:
            self._streams.discard(queue)

    @contextmanager
    def watch(self, ask_id: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever this ask may have changed."""
        changed = asyncio.Event()
        self._waits.setdefault(ask_id, set()).add(changed)
        try:
            yield changed
        finally:
            self._waits[ask_id].discard(changed)
            if not self._waits[ask_id]:
                del self._waits[ask_id]

    def _end(self, queue: asyncio.Queue[Told | None]) -> None:
        self._streams.discard(queue)
        queue.put_nowait(None)

    def close(self) -> None:
        """Everybody is sent home: the server stops, or the store is gone."""
        self.open = False
        for queue in list(self._streams):
            self._end(queue)
        for waits in self._waits.values():
            for changed in waits:
                changed.set()

    def stop(self) -> None:
        """From outside the loop: wait until the watcher's thread has ended."""
        if self._watcher and self._thread:
            self._watcher.stop()
            self._thread.join()


def event_data(entry: Entry) -> str:
    """What a stream tells of an event: that it happened, not what stands in it."""
    event = entry.event
    about = {"seq": entry.seq, "at": entry.at, "kind": event.kind, "subject": event.subject}
    return json.dumps({**about, "actor": event.actor})


def _name_unnumbered(subject: str) -> str:
    """What changed without an event: somebody drafts an answer, or an agent of a run works."""
    kind = "draft" if run_of(subject) is None else "working"
    return json.dumps({"kind": kind, "subject": subject})
