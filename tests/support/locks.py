"""A process that checks a lock."""

from __future__ import annotations

import fcntl
import os


def look_at(path):
    """Take the shared lock of a process that checks whether a lock is held."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor
