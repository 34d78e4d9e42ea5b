"""The end of a command that drove runs."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def leave(code: int, left: Sequence[int]) -> int:
    """End with this code after driving runs, and list the runs that were interrupted.

    Flow code that does not return must not keep the process alive, neither by its drive nor by
    its own threads, for which Python would wait.
    """
    for number in left:
        print(
            f"gate: run {number} was interrupted, because its code does not return; the next "
            "worker continues it",
            file=sys.stderr,
        )
    if left or any(not one.daemon for one in threading.enumerate()[1:]):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code
