"""The end of a command that drove runs."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def leave(code: int, left: Sequence[int]) -> int:
    """End with this code after driving runs, and name those that were left in the middle.

    A flow's code that does not come back keeps nobody: neither its drive nor its own threads,
    which Python would wait for.
    """
    for number in left:
        print(
            f"gate: run {number} was left in the middle, for its code does not come back; whoever "
            "drives runs next takes it up",
            file=sys.stderr,
        )
    if left or any(not one.daemon for one in threading.enumerate()[1:]):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code
