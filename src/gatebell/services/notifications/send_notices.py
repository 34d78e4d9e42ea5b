"""Turn notices into deliveries and send each once; after a crash once more."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.enums import NoticeKind
from gatebell.domain.notifications import routes
from gatebell.domain.notifications.messages import Delivery, compose, compose_test
from gatebell.domain.notifications.notes import Note
from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.notifications.messages import NotificationMessage, Posted
    from gatebell.domain.notifications.routes import Route
    from gatebell.ports.channels import Post, PostSource
    from gatebell.ports.store import Store

LIVES_FOR_SECONDS = 900.0
_AT_ONCE = 100
_NOTES_LOOKED_THROUGH = 500
# A real bell returns much earlier. A fake bell in tests advances the clock.
_FOREVER = 86400.0
_LOOK_AROUND_SECONDS = 1.0
_ENDS_WITHIN_SECONDS = 3.0
# Shorter than a claim, longer than the limits of the channels themselves.
_SENDS_WITHIN_SECONDS = 40.0

_log = logging.getLogger(__name__)


class Tried(NamedTuple):
    """The result of a test message."""

    route: str
    problem: str


def spread(store: Store, post: Post) -> None:
    """Turn all notices of the outbox into deliveries; without routes, keep them."""
    while post.routes and (posted := store.outbox.list_posted(_AT_ONCE)):
        groups, now = store.people.groups(), store.now()
        found = {one: _deliveries(store, post, one, groups) for one in posted}
        late = {
            one: found[one]
            for one in posted
            if routes.is_late(one.notice.kind, one.written_at, now)
        }
        store.outbox.spread(found | _keep_last(late, post))


def _keep_last(late: dict[Posted, list[Delivery]], post: Post) -> dict[Posted, list[Delivery]]:
    """Keep one delivery per route to people: a new route does not send everything that waited.

    A webhook is for a program, so it gets each event.
    """
    last = {each.route: each for deliveries in late.values() for each in deliveries}
    programs = {route.name for route in post.routes if route.via in routes.FOR_PROGRAMS}
    return {
        one: [each for each in deliveries if each.route in programs or last[each.route] is each]
        for one, deliveries in late.items()
    }


def _deliveries(
    store: Store, post: Post, posted: Posted, groups: dict[str, tuple[str, ...]]
) -> list[Delivery]:
    now = store.now()
    notice = posted.notice
    ask = store.asks.get(notice.ask_id)
    if routes.is_moot(notice.kind, ask) or routes.is_stale(notice.kind, posted.written_at, now):
        return []
    found = []
    for route in routes.routes_for(notice, ask, post.routes, groups):
        earliest = max(now, routes.tell_at(notice.kind, route, ask, posted.written_at))
        due_at = routes.send_at(route, ask, earliest, post.zone)
        # Reminders that were due at night are not sent in the morning.
        if due_at == now or notice.kind != NoticeKind.REMINDER:
            made = (os.urandom(16).hex(), *notice, route.name, posted.written_at, due_at)
            found.append(Delivery(*made))
    return found


def send_next(store: Store, post: Post, route: Route) -> bool:
    """Send the first due delivery of a route; False if there is none, or sending failed."""
    delivery = store.outbox.claim(route.name)
    if delivery is None:
        return False
    ask = store.asks.get(delivery.ask_id)
    now = store.now()
    may_go_at = routes.send_at(route, ask, now, post.zone)
    missed = delivery.kind == NoticeKind.REMINDER and may_go_at > now
    if missed or routes.is_moot(delivery.kind, ask):
        store.outbox.drop(delivery)
        return True
    if may_go_at > now:
        store.outbox.put_off(delivery, may_go_at)
        return True
    if routes.is_exhausted(delivery.attempts):
        store.outbox.record_failure(delivery, "every sender process ended before it was sent", None)
        return True
    waiting = sum(number for _, number in store.asks.waiting_counts())
    message = compose(delivery, post.url, ask, _words(store, delivery), waiting)
    problem = _try(post, route, message)
    if not problem:
        store.outbox.sent(delivery)
        return True
    again_at = routes.retry_at(delivery.attempts, store.now())
    if again_at:
        again_at = routes.send_at(route, ask, again_at, post.zone)
    store.outbox.record_failure(delivery, problem, again_at)
    return False


def _words(store: Store, delivery: Delivery) -> Note | None:
    """Return the note or reply of a delivery, found by its time."""
    if delivery.kind == NoticeKind.NOTE:
        notes = store.notes.newest(_NOTES_LOOKED_THROUGH)
        return next((note for note in notes if note.sent_at == delivery.written_at), None)
    if delivery.kind == NoticeKind.REPLIED:
        replies = [one for one in store.asks.messages(delivery.ask_id) if one.by_asker]
        said = [one for one in replies if one.sent_at <= delivery.written_at]
        return Note(said[-1].author, "", said[-1].text, said[-1].sent_at) if said else None
    return None


def _try(post: Post, route: Route, message: NotificationMessage) -> str:
    """Send a message; return the problem, or an empty text. Do not wait for a slow channel."""
    problems: list[str] = []
    thread = threading.Thread(
        target=lambda: problems.append(_send(post, route, message)), daemon=True
    )
    thread.start()
    thread.join(_SENDS_WITHIN_SECONDS)
    return problems[0] if problems else f"it took longer than {_SENDS_WITHIN_SECONDS:g} seconds"


def _send(post: Post, route: Route, message: NotificationMessage) -> str:
    try:
        post.channels.open(route).send(message)
    except DeliveryError as error:
        return str(error)
    except Exception as error:
        # A channel may raise anything. The text may contain the address, so only the type is shown.
        return f"unexpected error ({type(error).__name__})"
    return ""


def send_test(store: Store, post: Post, chosen: Sequence[Route]) -> list[Tried]:
    """Send one message over each route, at any hour."""
    tried = []
    for route in chosen:
        now = store.now()
        delivery = Delivery(os.urandom(16).hex(), NoticeKind.TEST, "", "", route.name, now, now)
        tried.append(Tried(route.name, _try(post, route, compose_test(delivery, post.url))))
    return tried


def due_in(store: Store, post: Post, otherwise: float) -> float:
    """Return the seconds until something can be sent; `otherwise` if nothing waits."""
    if post.routes and store.outbox.list_posted(1):
        return 0.0
    times = [at for route in post.routes if (at := store.outbox.next_due(route.name))]
    return max(0.0, (min(times) - store.now()).total_seconds()) if times else otherwise


class Sender:
    """Sends due deliveries, each route in its own thread while it has something to send."""

    def __init__(self, store: Store, post: Post, source: PostSource | None = None) -> None:
        """Take a `source` that returns a new post when its settings have changed."""
        self._store = store
        self._post = post
        self._source = source
        # Daemon threads, so that a route that hangs cannot keep the process alive.
        self._threads: dict[str, threading.Thread] = {}
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._problem = ""

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="gatebell-sender", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Give running deliveries a moment; the store keeps the rest.

        A slower delivery is sent once more when its claim has ended, as after a crash.
        """
        self._stopped.set()
        until = self._store.monotonic() + _ENDS_WITHIN_SECONDS
        for thread in (self._thread, *list(self._threads.values())):
            if thread:
                thread.join(max(0.0, until - self._store.monotonic()))

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self.drain(_FOREVER)
            except Exception as error:
                # This thread has the lock that keeps other processes from sending, so it must
                # continue.
                self._complain(error)
            self._stopped.wait(_LOOK_AROUND_SECONDS)

    def _complain(self, error: Exception) -> None:
        """Log an error; the same error in a row is logged once."""
        problem = repr(error)
        if problem != self._problem:
            self._problem = problem
            _log.warning("sending failed and will be tried again", exc_info=error)

    def drain(self, lives_for_seconds: float = LIVES_FOR_SECONDS) -> None:
        """Send until stopped, or until nothing will be due for this long."""
        bell = self._store.bell()
        try:
            while not self._stopped.is_set():
                if self._source:
                    self._post = self._source.renew() or self._post
                spread(self._store, self._post)
                self._send_due()
                # Before the check for due deliveries, which then includes a route that just
                # finished.
                busy = any(thread.is_alive() for thread in self._threads.values())
                left = due_in(self._store, self._post, otherwise=lives_for_seconds)
                if left >= lives_for_seconds < _FOREVER and not busy:
                    return
                # A delivery that is due but not sent here belongs to another sender.
                pause = max(left, _LOOK_AROUND_SECONDS)
                bell.wait(_LOOK_AROUND_SECONDS if busy else pause)
        finally:
            bell.close()

    def _send_due(self) -> None:
        now = self._store.now()
        for route in self._post.routes:
            due_at = self._store.outbox.next_due(route.name)
            if due_at and due_at <= now and not self._is_busy(route):
                thread = threading.Thread(target=self._send_all, args=(route,), daemon=True)
                thread.start()
                self._threads[route.name] = thread

    def _is_busy(self, route: Route) -> bool:
        return route.name in self._threads and self._threads[route.name].is_alive()

    def _send_all(self, route: Route) -> None:
        try:
            while not self._stopped.is_set() and send_next(self._store, self._post, route):
                pass
        except Exception as error:
            self._complain(error)
