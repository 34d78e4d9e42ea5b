"""Turn notices into deliveries and send each once; after a crash once more."""

from __future__ import annotations

import logging
import os
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.enums import NoticeKind
from gatebell.domain.notifications import routes, timing
from gatebell.domain.notifications.messages import (
    Delivery,
    compose,
    compose_bundle,
    compose_test,
)
from gatebell.domain.notifications.notes import Note
from gatebell.domain.notifications.timing import Facts
from gatebell.errors import GateError
from gatebell.services.notifications import push_devices, withdraw_notices
from gatebell.services.notifications.asking_runs import find_runs
from gatebell.services.notifications.use_channel import send_message

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.notifications.messages import NotificationMessage, Posted
    from gatebell.domain.notifications.routes import Route
    from gatebell.ports.channels import Post, PostSource
    from gatebell.ports.store import Store

LIVES_FOR_SECONDS = 900.0
_AT_ONCE = 100
_MAX_TOGETHER = 1_000
_NOTES_LOOKED_THROUGH = 500
# A real bell returns much earlier. A fake bell in tests advances the clock.
_FOREVER = 86400.0
_LOOK_AROUND_SECONDS = 1.0
_ENDS_WITHIN_SECONDS = 3.0

_log = logging.getLogger(__name__)


class Tried(NamedTuple):
    """The result of a test message."""

    route: str
    problem: str


def spread(store: Store, post: Post) -> None:
    """Turn all notices of the outbox into deliveries; without routes, keep them."""
    while post.routes and (posted := store.outbox.list_posted(_AT_ONCE)):
        groups = store.people.groups()
        facts = {route.name: _find_facts(store, post, route) for route in post.routes}
        store.outbox.spread({one: _deliveries(store, post, one, groups, facts) for one in posted})


def _deliveries(
    store: Store,
    post: Post,
    posted: Posted,
    groups: dict[str, tuple[str, ...]],
    facts: dict[str, Facts],
) -> list[Delivery]:
    notice = posted.notice
    ask = store.asks.get(notice.ask_id)
    if timing.is_stale(notice.kind, posted.written_at, store.now()):
        return []
    found = []
    for route in routes.routes_for(notice, ask, post.routes, groups):
        known = facts[route.name]
        due_at = timing.choose_time(notice.kind, route, ask, posted.written_at, known)
        if due_at:
            made = (os.urandom(16).hex(), *notice, route.name, posted.written_at, due_at)
            found.append(Delivery(*made))
    if notice.kind == NoticeKind.SETTLED:
        found += withdraw_notices.build_deliveries(store, post, posted)
    return found


def send_next(store: Store, post: Post, route: Route) -> bool:
    """Send the first due delivery of a route; False if there is none, or sending failed."""
    delivery = store.outbox.claim(route.name)
    if delivery is None:
        return False
    if delivery.kind == NoticeKind.WITHDRAWN:
        return withdraw_notices.send(store, post, route, delivery)
    facts = _find_facts(store, post, route)
    if not _is_due(store, post, route, delivery, facts):
        return True
    if timing.is_exhausted(delivery.attempts):
        store.outbox.record_failure(delivery, "every sender process ended before it was sent", None)
        return True
    if not timing.is_told_together(delivery.kind, route):
        return _send_message(store, post, route, [delivery])
    gathered = store.outbox.gather(delivery, _MAX_TOGETHER)
    due = [one for one in gathered[1:] if _is_due(store, post, route, one, facts)]
    # Empty if another sender has claimed the first.
    return _send_message(store, post, route, [*gathered[:1], *due]) if gathered else True


def _is_due(store: Store, post: Post, route: Route, delivery: Delivery, facts: Facts) -> bool:
    """Return whether a claimed delivery is sent now; otherwise drop it or put it off."""
    ask = store.asks.get(delivery.ask_id)
    at = timing.choose_time(delivery.kind, route, ask, delivery.written_at, facts)
    if at is None:
        if delivery.may_have_arrived:
            withdraw_notices.try_at_once(store, post, route, delivery)
        store.outbox.drop(delivery)
        return False
    if at > facts.now:
        store.outbox.put_off(delivery, at)
        return False
    return True


def _find_facts(store: Store, post: Post, route: Route) -> Facts:
    seen_at, told_at = _find_presence(store, post, route), store.outbox.last_told(route.name)
    return Facts(store.now(), seen_at, told_at, post.zone)


def _find_presence(store: Store, post: Post, route: Route) -> datetime | None:
    """Return when the person of a route was last seen.

    A route of everybody is that of one person only if the store knows no other people.
    """
    if route.person:
        return store.presence.last_seen(route.person)
    if not post.person or store.people.all():
        return None
    return store.presence.last_seen(post.person)


def _send_message(store: Store, post: Post, route: Route, deliveries: list[Delivery]) -> bool:
    """Send deliveries as one message; return whether it worked."""
    first, *others = deliveries
    used = send_message(post, route, _compose(store, post, route, deliveries))
    if not used.problem:
        store.outbox.sent(*deliveries, receipt=used.receipt)
        withdraw_notices.replace_older(store, post, route, deliveries)
        return True
    if used.is_gone:
        push_devices.remove_gone(store, route.target)
        for one in deliveries:
            store.outbox.drop(one)
        return True
    again_at = timing.retry_at(first.attempts, store.now())
    if again_at:
        again_at = max(again_at, store.now() + timedelta(seconds=used.wait_seconds))
        again_at = timing.send_at(route, store.asks.get(first.ask_id), again_at, post.zone)
    store.outbox.record_failure(first, used.problem, again_at, others)
    return False


def _compose(
    store: Store, post: Post, route: Route, deliveries: list[Delivery]
) -> NotificationMessage:
    asks = {one.ask_id: store.asks.get(one.ask_id) for one in deliveries}
    found = [ask for ask in asks.values() if ask]
    first = deliveries[0]
    if len(found) > 1:
        return compose_bundle(first, post.url, found, find_runs(store, found))
    waiting = sum(number for _, number in store.asks.waiting_counts())
    ask = asks[first.ask_id]
    run = find_runs(store, found).get(first.ask_id)
    message = compose(first, post.url, ask, _words(store, first), waiting, run)
    return message._replace(buttons=push_devices.make_buttons(store, route, first, ask))


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


def send_test(store: Store, post: Post, chosen: Sequence[Route]) -> list[Tried]:
    """Send one message over each route, at any hour."""
    tried = []
    for route in chosen:
        now = store.now()
        delivery = Delivery(os.urandom(16).hex(), NoticeKind.TEST, "", "", route.name, now, now)
        used = send_message(post, route, compose_test(delivery, post.url))
        tried.append(Tried(route.name, used.problem))
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
            # The words of a GateError say what to do; for others the place matters.
            place = None if isinstance(error, GateError) else error
            _log.warning("sending failed and will be tried again: %s", error, exc_info=place)

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
