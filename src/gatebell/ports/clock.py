"""The port to time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime


class Clock(Protocol):
    """Tells the time. Stores get one; all other code asks the store."""

    def now(self) -> datetime:
        """Return the time of day, aware and in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never jump, for measuring waits."""
        ...
