"""Locks that prove that a process waits for the answer to an ask.

Waiters share the lock of one file. A waiter that ends normally removes the file, so a file without
a lock belongs to a waiter that was killed.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TRIES = 100
_TRY_EVERY_SECONDS = 0.001


@contextmanager
def waiting(store_path: str, ask_id: str) -> Iterator[None]:
    """Prove during the block that a process waits for an ask; without locks, prove nothing."""
    path, descriptor = _path(store_path, ask_id), -1
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        _share(descriptor)
    try:
        yield
    finally:
        if descriptor >= 0:
            _leave(path, descriptor)


def _share(descriptor: int) -> None:
    for _ in range(_TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return
        # Another process is checking the lock, for an instant.
        time.sleep(_TRY_EVERY_SECONDS)


def _leave(path: str, descriptor: int) -> None:
    try:
        # While others also wait, this fails, and the file stays.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def is_gone(store_path: str, ask_id: str) -> bool:
    """Return whether the last process that waited for an ask was killed."""
    try:
        path = _path(store_path, ask_id)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A waiter that ended normally a moment ago removed the file under its lock.
        return os.fstat(descriptor).st_nlink > 0
    except OSError:
        return False
    finally:
        os.close(descriptor)


def forget(store_path: str, ask_id: str) -> None:
    """Remove the file of a waiter that was killed; keep the file of a running one."""
    with suppress(OSError):
        path = _path(store_path, ask_id)
        _leave(path, os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW))


def _path(store_path: str, ask_id: str) -> str:
    return os.path.join(f"{os.path.realpath(store_path)}-waiters", ask_id)
