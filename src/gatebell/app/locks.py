"""The locks of a store on one host: for the sender of its notifications, and its `gate up`."""

from __future__ import annotations

from gatebell.adapters.system.file_locks import (
    hold,
    is_held,
    keep_from_children,
    lock_path,
    release,
    up_lock_path,
)

__all__ = [
    "hold",
    "is_held",
    "keep_from_children",
    "lock_path",
    "release",
    "up_lock_path",
]
