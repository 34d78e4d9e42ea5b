"""Check the syncs of a trace: nothing may be confirmed before its commit is on the disk."""

from __future__ import annotations

import re
from collections import Counter

from tracing import Call

_EXTENT = re.compile(r", (\d+), (\d+)\)")
_LOG = "-wal"


def count_syncs(calls: list[Call]) -> tuple[Counter[str], list[str]]:
    """The number of syncs of each kind, and every acknowledgement that came too early."""
    counts: Counter[str] = Counter()
    early: list[str] = []
    # The bytes written to each open log since its last sync.
    unsynced: dict[str, str] = {}
    committed = False
    for place, call in enumerate(calls, 1):
        if call.name == "pwrite64" and call.path.endswith(_LOG):
            unsynced[call.file] = "header" if _offset(call) == 0 else "commit"
        elif call.name in ("fdatasync", "fsync"):
            kind = _kind(call, unsynced.pop(call.file, "checkpoint"))
            counts[kind] += 1
            committed = committed or kind == "commit"
        elif call.acknowledges:
            if unsynced or not committed:
                early.append(f"call {place} acknowledges before the log is synced")
            committed = False
    return counts, early


def _offset(call: Call) -> int:
    found = _EXTENT.search(call.rest)
    assert found, call
    return int(found[2])


def _kind(call: Call, of_log: str) -> str:
    if call.path.endswith(_LOG):
        return of_log
    return "database" if call.path.endswith(".db") else "folder"
