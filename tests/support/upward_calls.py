"""Calls from a lower layer of the package into a higher one."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager

# Services call adapters through ports, so neither is above the other at run time.
RANKS = {
    "errors": 0,
    "domain": 1,
    "ports": 2,
    **dict.fromkeys(["services", "adapters"], 3),
    "app": 4,
    "api": 5,
    **dict.fromkeys(["install", "testing"], 6),
    **dict.fromkeys(["terminal", "file_protocol", "tui", "web", "mcp", "hooks", "cli"], 7),
}


def rank(module):
    parts = module.split(".")
    return RANKS.get(parts[1]) if parts[0] == "gatebell" and len(parts) > 1 else None


@contextmanager
def upward_calls():
    """Yield a set that gets `caller -> callee` for each such call, on every thread."""
    found = set()

    def look(frame, event, _):
        if event != "call" or frame.f_back is None:
            return
        caller, callee = (one.f_globals.get("__name__", "") for one in (frame.f_back, frame))
        below, above = rank(caller), rank(callee)
        # The body of a module runs at import; the import rules check that.
        is_import = frame.f_code.co_name == "<module>"
        if None not in (below, above) and below < above and not is_import:
            found.add(f"{caller} -> {callee}.{frame.f_code.co_qualname}")

    before = sys.getprofile()
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
