"""Ending a long command by a signal, only where that can do no harm.

An exception that a signal raises anywhere may be swallowed there, or leave things half done.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """From now on a signal is heard inside `heard` only, as one KeyboardInterrupt.

    They are not blocked: a program that is started here would inherit that, and could not be ended.
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
        """Here, and at once if one came before."""
        try:
            self._may_raise = True
            self._raise_once()
            yield
        finally:
            self._may_raise = False

    def end(self) -> None:
        """Once is enough: nobody has to hurry what lets go in good order."""
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
