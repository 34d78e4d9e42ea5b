"""Waiting in tests for changes without a notice."""

from __future__ import annotations

import threading
import time


def eventually(true, seconds=60, what="it"):
    """Call the function until its result is true, and return that; for changes without a notice.

    Many calls start a program, so the pauses grow with the time.
    """
    began, pause = time.monotonic(), threading.Event()
    while not (seen := true()):
        waited = time.monotonic() - began
        assert waited < seconds, f"{what} never came about in {seconds} s"
        pause.wait(min(0.1, max(0.01, waited / 20)))
    return seen
