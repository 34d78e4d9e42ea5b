"""Keep the output of a flow apart from ours while the command line drives it."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from gatebell.cli.runs.run_view import LiveView, show_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gatebell.cli.runs.run_view import Show


@contextmanager
def show_run(number: int, show: Show, *, from_now: bool) -> Iterator[None]:
    """Show a run while this block drives it."""
    if show is not show_line:
        with set_aside() as out, LiveView(number, show, out, from_now=from_now):
            yield
        return
    view = LiveView(number, show, sys.stdout, from_now=from_now)
    printed = Printed(sys.stdout, view.print_above)
    with view:
        try:
            with redirect_stdout(cast("TextIO", printed)):
                yield
        finally:
            printed.end()


@contextmanager
def set_aside() -> Iterator[TextIO]:
    """Send all output of this block to stderr, even that of programs which a step starts.

    Yield the real standard output, for our own output.
    """
    real = sys.stdout
    real.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    out = os.fdopen(kept, "w", encoding=real.encoding, errors=real.errors, closefd=False)
    try:
        with out, redirect_stdout(sys.stderr):
            yield out
    finally:
        with suppress(OSError):
            real.flush()
        os.dup2(kept, 1)
        os.close(kept)


class Printed:
    """Passes printed text on as whole lines; otherwise it behaves like the real stream."""

    def __init__(self, real: TextIO, take: Callable[[str], None]) -> None:
        self._real, self._take = real, take
        self._begun: list[str] = []
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        whole, end, rest = text.rpartition("\n")
        with self._lock:
            if end:
                self._take("".join([*self._begun, whole]))
                self._begun.clear()
            if rest:
                self._begun.append(rest)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def end(self) -> None:
        if self._begun:
            self.write("\n")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)
