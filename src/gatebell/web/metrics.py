"""Figures about this server for Prometheus, in its text format."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from gatebell.services import members

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.ports.store import Store
    from gatebell.web.live import Hub

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# More than so many waiting notifications are not counted: the number is an alarm by then.
_COUNTED_NOTICES = 1_000


class Metric(NamedTuple):
    """One figure with its labels."""

    name: str
    kind: str
    about: str
    values: tuple[tuple[str, float], ...]
    """Pairs of labels, as they are written, and values."""


class Requests:
    """Counts the answered requests by the kind of their route and by status."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, int]] = Counter()

    def count(self, method: str, path: str, status: int) -> None:
        self._counts[classify(method, path), status] += 1

    def values(self) -> tuple[tuple[str, float], ...]:
        return tuple(
            (f'{{class="{kind}",status="{status}"}}', number)
            for (kind, status), number in sorted(self._counts.items())
        )


def classify(method: str, path: str) -> str:
    """Return the kind of a route. The kinds are few, whatever paths clients invent."""
    if not path.startswith("/api/"):
        return "static" if path.startswith("/static/") else "page"
    if path.startswith(("/api/health", "/api/ready")):
        return "health"
    if path.endswith("/wait"):
        return "wait"
    if path == "/api/events/stream":
        return "stream"
    if method in ("GET", "HEAD", "OPTIONS"):
        return "read"
    return "ask" if path == "/api/asks" else "change"


def list_metrics(store: Store, hub: Hub, requests: Requests) -> Iterator[Metric]:
    """Yield all figures; some are read from the store."""
    pending = sum(number for _, number in store.asks.waiting_counts())
    yield Metric("gate_asks_pending", "gauge", "Asks that wait for a person.", (("", pending),))
    waits, streams = hub.count_clients()
    about = "Requests that wait at this server for an answer."
    yield Metric("gate_waits", "gauge", about, (("", waits),))
    yield Metric("gate_streams", "gauge", "Streams of events from this server.", (("", streams),))
    feed = (("", hub.feed_age()),)
    yield Metric("gate_feed_age_seconds", "gauge", "Since this server last read changes.", feed)
    notices = (("", len(store.outbox.waiting(_COUNTED_NOTICES))),)
    about = f"Notifications that are not sent yet, counted up to {_COUNTED_NOTICES}."
    yield Metric("gate_notifications_waiting", "gauge", about, notices)
    living = Counter(one.kind.value for one in members.list_living(store))
    found = tuple((f'{{kind="{kind}"}}', number) for kind, number in sorted(living.items()))
    yield Metric("gate_members", "gauge", "Living processes of the store by kind.", found)
    about = "Answered requests by kind of route and status."
    yield Metric("gate_requests_total", "counter", about, requests.values())


def format_metrics(metrics: Iterator[Metric]) -> str:
    lines = []
    for one in metrics:
        lines += [f"# HELP {one.name} {one.about}", f"# TYPE {one.name} {one.kind}"]
        lines += [f"{one.name}{labels} {value:g}" for labels, value in one.values]
    return "\n".join(lines) + "\n"
