"""Let a signal end a long command only at safe places.

An exception at any other place may be swallowed, or leave work half done.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Raise signals as one KeyboardInterrupt, and only inside `deliver`.

    Signals are not blocked: a started program would inherit that, and could not be ended.
    """

    def __init__(self) -> None:
        self._came = self._may_raise = False
        for number in _ENDING:
            signal.signal(number, self._note)

    def _note(self, *_: object) -> None:
        self._came = True
        self._raise_once()

    def _raise_once(self) -> None:
        if self._came and self._may_raise:
            self._may_raise = False
            raise KeyboardInterrupt

    @contextmanager
    def deliver(self) -> Iterator[None]:
        """Let signals interrupt this block; raise at once if one came before."""
        try:
            self._may_raise = True
            self._raise_once()
            yield
        finally:
            self._may_raise = False

    def end(self) -> None:
        """Ignore further signals, so that they do not disturb an orderly end."""
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
