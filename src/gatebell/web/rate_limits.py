"""Limits how often a client may send requests, with buckets that refill."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatebell.web.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_BUCKETS = 50_000


class Rate(NamedTuple):
    """A number of requests at once, and then a number per minute."""

    at_once: int
    a_minute: int


RATES = {
    "login": Rate(10, 10),
    "ask": Rate(2000, 2000),
    "session": Rate(60, 60),
    "unnamed session": Rate(500, 300),
    "wait": Rate(60, 60),
    "missed wait": Rate(60, 60),
    "change": Rate(300, 300),
    "read": Rate(2000, 3000),
}


class Limits:
    """The buckets of recent clients."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}

    def count(self, kind: str, whose: str) -> None:
        """Count a request; raise a Problem if there were too many."""
        left, now = self.check(kind, whose)
        if len(self._buckets) > _MAX_BUCKETS:
            # A client with so many addresses is only slowed down less.
            self._buckets.clear()
        self._buckets[kind, whose] = (left - 1, now)

    def check(self, kind: str, whose: str) -> tuple[float, float]:
        """Raise a Problem if there were too many requests; this one is not counted."""
        rate, now = RATES[kind], self._monotonic()
        left, since = self._buckets.get((kind, whose), (float(rate.at_once), now))
        left = min(rate.at_once, left + (now - since) * rate.a_minute / 60)
        if left < 1:
            wait = str(int((1 - left) * 60 / rate.a_minute) + 1)
            raise Problem(429, f"too many requests: try again in {wait} s", {"retry-after": wait})
        return left, now
