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


def hold_back() -> None:
    """From now on they are heard inside `interruptible` only, as KeyboardInterrupt; also by threads."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    for number in _ENDING:
        signal.signal(number, _interrupt)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[None]:
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)


def hear_no_more() -> None:
    """Once is enough: nobody has to hurry what lets go in good order."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
