"""A clock that a test sets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class FakeClock:
    """A clock that moves only when a test moves it.

    Example:
        clock = FakeClock()
        clock.advance(60)
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start
        self._monotonic = 0.0

    def now(self) -> datetime:
        """Return the time of day."""
        return self._now

    def monotonic(self) -> float:
        """Return the seconds that have passed."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        """Set the time of day forwards or back; no time passes."""
        self._now += timedelta(seconds=seconds)
