"""Wait in tests for what rings no bell."""

from __future__ import annotations

import threading
import time


def eventually(true, seconds=30, what="it"):
    """Look until it is so, and give what was seen; for what no bell rings."""
    until, pause = time.monotonic() + seconds, threading.Event()
    while not (seen := true()):
        assert time.monotonic() < until, f"{what} never came about in {seconds} s"
        pause.wait(0.01)
    return seen
