"""The door to time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime


class Clock(Protocol):
    """Tells the time. Stores are given one; everybody else asks the store."""

    def now(self) -> datetime:
        """The time of day, aware and in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump, for measuring waits."""
        ...
