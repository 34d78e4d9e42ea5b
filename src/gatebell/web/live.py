"""What happens in the store, told to everybody who waits or watches; none of them has a thread."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.owners import run_of
from gatebell.services.watcher import Publisher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gatebell.domain.audit.events import Entry
    from gatebell.ports.store import Store

# Whoever is that far behind starts anew.
MAX_BEHIND = 1_000


class Told(NamedTuple):
    """One message of a stream; drafts and agents at work have no number, for they are no events."""

    seq: int | None
    data: str


class Hub:
    """One publisher for the whole process; streams and waits hang on it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._streams: set[asyncio.Queue[Told | None]] = set()
        self._waits: dict[str, set[asyncio.Event]] = {}
        self._publisher: Publisher | None = None
        self.seq = 0
        """The newest event that streams were told of."""
        self.open = False

    def start(self) -> None:
        """Inside the loop that streams and waits run in."""
        loop = asyncio.get_running_loop()
        self.seq, self.open = self._store.audit.head().seq, True

        def call(then: Callable[..., None], *words: Any) -> None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(then, *words)

        def publish(ids: frozenset[str]) -> None:
            # In the publisher's own thread: one reading for everybody.
            entries = list(self._store.audit.entries(self.seq))
            others = ids - {entry.event.subject for entry in entries}
            call(self._tell, ids, entries, others)

        self._publisher = Publisher(self._store, publish, lambda _: call(self.close))

    def _tell(self, ids: frozenset[str], entries: list[Entry], others: frozenset[str]) -> None:
        fresh = [entry for entry in entries if entry.seq > self.seq]
        told = [Told(entry.seq, event_data(entry)) for entry in fresh if entry.is_news]
        told += [Told(None, _unnumbered(one)) for one in others]
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
        """From outside the loop: wait until the publisher's thread has ended."""
        if self._publisher:
            self._publisher.stop()


def event_data(entry: Entry) -> str:
    """What a stream tells of an event: that it happened, not what stands in it."""
    event = entry.event
    about = {"seq": entry.seq, "at": entry.at, "kind": event.kind, "subject": event.subject}
    return json.dumps({**about, "actor": event.actor})


def _unnumbered(subject: str) -> str:
    """What changed without an event: somebody drafts an answer, or an agent of a run works."""
    kind = "draft" if run_of(subject) is None else "working"
    return json.dumps({"kind": kind, "subject": subject})
