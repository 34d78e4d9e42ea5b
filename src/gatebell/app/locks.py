"""The locks of a store: for the sender of its notifications, its server and its workers."""

from __future__ import annotations

import os

from gatebell.adapters.system.file_locks import (
    hold,
    is_held,
    keep_from_children,
    lock_path,
    release,
    up_lock_path,
)

__all__ = [
    "has_worker",
    "hold",
    "is_held",
    "keep_from_children",
    "lock_path",
    "register_worker",
    "release",
    "up_lock_path",
]


def register_worker(store_path: str) -> int:
    """Register as a worker of the store, until the returned file descriptor is closed."""
    # Imported here: the inbox needs no locks.
    import fcntl

    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    descriptor = os.open(f"{store_path}-worker", flags, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return keep_from_children(descriptor)


def has_worker(store_path: str) -> bool:
    """Return whether a running worker drives the store's runs as they become ready."""
    return is_held(f"{store_path}-worker", by_many=True)
