"""Reports to a client that its call is alive while it waits for a person."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gatebell.mcp.server import Progress

_EVERY_SECONDS = 20.0


@contextmanager
def heartbeat(progress: Progress, asks: Sequence[str]) -> Iterator[None]:
    """Report `asks` to the client until the block ends, and not after it."""
    if progress.token is None:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_tell, args=(progress, asks, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _tell(progress: Progress, asks: Sequence[str], over: threading.Event) -> None:
    began = time.monotonic()
    # If the client is gone, the wait continues: the answer is kept.
    with suppress(OSError, ValueError):
        while not over.wait(_EVERY_SECONDS):
            waits = ", ".join(asks)
            progress.tell(time.monotonic() - began, f"waiting for a person: gate answer {waits}")
