"""Sending: notices become deliveries, and each goes out once; after a crash once more."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from humangate.domain import roads
from humangate.domain.letters import Delivery, compose, compose_test
from humangate.domain.notes import Note
from humangate.errors import DeliveryError, StoreTroubleError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo

    from humangate.domain.letters import Letter, Posted
    from humangate.domain.roads import Road
    from humangate.doors.channel import Channel
    from humangate.doors.store import Store

LIVES_FOR_SECONDS = 900.0
_AT_ONCE = 100
_NOTES_LOOKED_THROUGH = 500
_MOST_THREADS = 8
# A bell comes back by itself much earlier; a fake one lets time fly.
_FOREVER = 86400.0
_LOOK_AROUND_SECONDS = 1.0


class Post(NamedTuple):
    """All that a sender must know beside the store."""

    roads: tuple[Road, ...]
    open_channel: Callable[[Road], Channel]
    url: str = ""
    """Where the web inbox is reached; letters link there."""
    zone: tzinfo | None = None
    """Of the quiet hours; none: this machine's."""


class Tried(NamedTuple):
    """What came of a test letter."""

    road: str
    trouble: str


def spread(store: Store, post: Post) -> None:
    """Make deliveries of all notices in the outbox; without roads they stay for when there is one."""
    while post.roads and (posted := store.outbox.posted(_AT_ONCE)):
        groups = store.people.groups()
        store.outbox.spread({one: _deliveries(store, post, one, groups) for one in posted})


def _deliveries(
    store: Store, post: Post, posted: Posted, groups: dict[str, tuple[str, ...]]
) -> list[Delivery]:
    now = store.now()
    notice = posted.notice
    ask = store.asks.get(notice.ask_id)
    if roads.is_moot(notice.kind, ask) or roads.is_stale(notice.kind, posted.written_at, now):
        return []
    found = []
    for road in roads.roads_for(notice, ask, post.roads, groups):
        due_at = roads.send_at(road, ask, now, post.zone)
        # Reminders of a whole night are not made up for in the morning.
        if due_at == now or notice.kind != "reminder":
            made = (os.urandom(16).hex(), *notice, road.name, posted.written_at, due_at)
            found.append(Delivery(*made))
    return found


def send_next(store: Store, post: Post, road: Road) -> bool:
    """Send what is due first on a road; False when there is nothing, or the road gives trouble."""
    delivery = store.outbox.claim(road.name)
    if delivery is None:
        return False
    ask = store.asks.get(delivery.ask_id)
    now = store.now()
    may_go_at = roads.send_at(road, ask, now, post.zone)
    missed = delivery.kind == "reminder" and may_go_at > now
    if missed or roads.is_moot(delivery.kind, ask):
        store.outbox.drop(delivery)
        return True
    if may_go_at > now:
        store.outbox.put_off(delivery, may_go_at)
        return True
    if roads.is_exhausted(delivery.attempts):
        store.outbox.failed(delivery, "every sender ended before it was sent", None)
        return True
    trouble = _try(post, road, compose(delivery, post.url, ask, _words(store, delivery)))
    if not trouble:
        store.outbox.sent(delivery)
        return True
    again_at = roads.retry_at(delivery.attempts, store.now())
    if again_at:
        again_at = roads.send_at(road, ask, again_at, post.zone)
    store.outbox.failed(delivery, trouble, again_at)
    return False


def _words(store: Store, delivery: Delivery) -> Note | None:
    """The note or reply that a delivery tells of. It was written at the same time."""
    if delivery.kind == "note":
        notes = store.notes.newest(_NOTES_LOOKED_THROUGH)
        return next((note for note in notes if note.sent_at == delivery.written_at), None)
    if delivery.kind == "replied":
        replies = [one for one in store.asks.messages(delivery.ask_id) if one.by_asker]
        said = [one for one in replies if one.sent_at <= delivery.written_at]
        return Note(said[-1].author, "", said[-1].text, said[-1].sent_at) if said else None
    return None


def _try(post: Post, road: Road, letter: Letter) -> str:
    """Send a letter; what went wrong, or nothing."""
    try:
        post.open_channel(road).send(letter)
    except DeliveryError as error:
        return str(error)
    except Exception as error:
        # A channel is other people's code; its words may hold the address, so only their kind is told.
        return f"something unexpected went wrong ({type(error).__name__})"
    return ""


def send_test(store: Store, post: Post, chosen: Sequence[Road]) -> list[Tried]:
    """Send one letter over each road, whatever the hour."""
    tried = []
    for road in chosen:
        now = store.now()
        delivery = Delivery(os.urandom(16).hex(), "test", "", "", road.name, now, now)
        tried.append(Tried(road.name, _try(post, road, compose_test(delivery, post.url))))
    return tried


def due_in(store: Store, post: Post, otherwise: float) -> float:
    """In how many seconds something can be sent; `otherwise` when nothing waits."""
    if post.roads and store.outbox.posted(1):
        return 0.0
    times = [at for road in post.roads if (at := store.outbox.next_due(road.name))]
    return max(0.0, (min(times) - store.now()).total_seconds()) if times else otherwise


class Sender:
    """Sends whatever falls due, each road in a thread of its own while there is something."""

    def __init__(self, store: Store, post: Post) -> None:
        self._store = store
        self._post = post
        self._busy: set[str] = set()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="humangate-sender", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends once what is being sent is sent; the store keeps the rest."""
        self._stopped.set()
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            # A store that gives trouble for a while is looked at again.
            with suppress(StoreTroubleError):
                self.drain(_FOREVER)
            self._stopped.wait(_LOOK_AROUND_SECONDS)

    def drain(self, lives_for_seconds: float = LIVES_FOR_SECONDS) -> None:
        """Send until stopped, or until nothing will be due for so long."""
        bell = self._store.bell()
        try:
            with ThreadPoolExecutor(_MOST_THREADS, "humangate-road") as crew:
                while not self._stopped.is_set():
                    spread(self._store, self._post)
                    self._send_due(crew)
                    # Before the look at what is due: a road that comes back meanwhile is seen there.
                    busy = bool(self._busy)
                    left = due_in(self._store, self._post, otherwise=lives_for_seconds)
                    if left >= lives_for_seconds < _FOREVER and not busy:
                        return
                    # What is due and not being sent is another sender's.
                    pause = max(left, _LOOK_AROUND_SECONDS)
                    bell.wait(_LOOK_AROUND_SECONDS if busy else pause)
        finally:
            bell.close()

    def _send_due(self, crew: ThreadPoolExecutor) -> None:
        now = self._store.now()
        for road in self._post.roads:
            due_at = self._store.outbox.next_due(road.name)
            if due_at and due_at <= now and road.name not in self._busy:
                self._busy.add(road.name)
                crew.submit(self._send_all, road)

    def _send_all(self, road: Road) -> None:
        try:
            with suppress(StoreTroubleError):
                while not self._stopped.is_set() and send_next(self._store, self._post, road):
                    pass
        finally:
            self._busy.discard(road.name)
