"""A line at the bottom of the terminal that shows work in progress."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gatebell.cli.screen import add_colour
from gatebell.domain.text.display import age, inert_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAMES_PER_SECOND = 10
_SHOWN_AFTER_SECONDS = 1.0


class StatusLine:
    """One line that is drawn over itself; nothing on an output that is not a terminal."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._drawn = ""
        self.can_redraw = out.isatty() and not (
            os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        )

    def put(self, text: str, *, is_busy: bool) -> None:
        """Draw the line, with a spinner while something works; '' removes it."""
        mark = _FRAMES[int(time.monotonic() * _FRAMES_PER_SECOND) % len(_FRAMES)]
        words = f"{mark if is_busy else '…'} {text}" if text else ""
        if not self.can_redraw or words == self._drawn:
            return
        width = os.get_terminal_size(self._out.fileno()).columns
        line = add_colour(inert_line(words, max(20, width - 1)), "dim") if words else ""
        self._out.write(f"\r\x1b[2K{line}")
        self._out.flush()
        self._drawn = words

    def remove(self) -> None:
        """Remove the line, before something else is printed."""
        self.put("", is_busy=False)


@contextmanager
def show_progress(text: str) -> Iterator[None]:
    """Show on a terminal that a command works, if it takes over a second."""
    line, ended = StatusLine(sys.stderr), threading.Event()
    if not line.can_redraw:
        yield
        return

    def spin() -> None:
        begun = time.monotonic()
        left = _SHOWN_AFTER_SECONDS
        while not ended.wait(left):
            line.put(f"{text}, {age(time.monotonic() - begun)}", is_busy=True)
            left = 1 / _FRAMES_PER_SECOND

    thread = threading.Thread(target=spin, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        line.remove()
