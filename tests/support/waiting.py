"""Wait in tests for what rings no bell."""

from __future__ import annotations

import threading
import time


def eventually(true, seconds=30, what="it"):
    """Look until it is so, and give what was seen; for what no bell rings.

    Many a look starts a program. So the longer it takes, the longer are the pauses.
    """
    began, pause = time.monotonic(), threading.Event()
    while not (seen := true()):
        waited = time.monotonic() - began
        assert waited < seconds, f"{what} never came about in {seconds} s"
        pause.wait(min(0.1, max(0.01, waited / 20)))
    return seen
