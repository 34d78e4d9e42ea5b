"""The time of the server, without a question to it each time."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.adapters.system.clock import SystemClock
from gatebell.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

_VALID_SECONDS = 60.0


class ServerClock(SystemClock):
    """This machine's clock, moved by its difference from the server's, measured each minute."""

    def __init__(self) -> None:
        self._ask: Callable[[], datetime] | None = None
        self._offset = timedelta()
        self._measured_at = float("-inf")

    def follow(self, ask: Callable[[], datetime]) -> None:
        """Use this function to ask the server for its time."""
        self._ask = ask

    def now(self) -> datetime:
        if self._ask and time.monotonic() - self._measured_at > _VALID_SECONDS:
            self._measured_at = time.monotonic()
            self._measure(self._ask)
        return super().now() + self._offset

    def _measure(self, ask: Callable[[], datetime]) -> None:
        before = super().now()
        try:
            server = ask()
        except StoreError:
            # The next statement reports it; the last difference is still about right.
            return
        after = super().now()
        self._offset = server - (before + (after - before) / 2)
