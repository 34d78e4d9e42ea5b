"""Locks on whole files. A lock ends with the process that took it."""

from __future__ import annotations

import os
import time
from contextlib import suppress

_TRIES = 10
_TRY_EVERY_SECONDS = 0.01
_locks: dict[int, os.stat_result] = {}


def lock_path(store_path: str) -> str:
    """Return the lock file of a sender that was started on its own."""
    return f"{store_path}-sender"


def up_lock_path(store_path: str) -> str:
    """Return the lock file of a running `gate up`, which also sends."""
    return f"{store_path}-up"


def hold(path: str) -> int | None:
    """Lock a file until `release` or the end of this process; None if another process has it."""
    for _ in range(_TRIES):
        descriptor = _lock(path)
        if descriptor is not None:
            return descriptor
        # A process that only checks the lock also blocks it for an instant.
        time.sleep(_TRY_EVERY_SECONDS)
    return None


def _lock(path: str) -> int | None:
    # Imported here: most commands need no locks.
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def release(descriptor: int) -> None:
    os.close(descriptor)


def is_held(path: str, *, by_many: bool = False) -> bool:
    """Return whether a running process holds the lock; `by_many`: its holders share it.

    Raises:
        OSError: The file exists and cannot be opened.
    """
    import fcntl

    # Shared where possible: two checks at once must not see each other as the holder.
    access, how = (os.O_RDWR, fcntl.LOCK_EX) if by_many else (os.O_RDONLY, fcntl.LOCK_SH)
    try:
        descriptor = os.open(path, access | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def keep_from_children(descriptor: int) -> int:
    """Close a locked file in every forked child, so that its lock ends with this process."""
    _locks[descriptor] = os.fstat(descriptor)
    return descriptor


def _close_locks() -> None:
    for descriptor, found in _locks.items():
        # The number may belong to another file since then.
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), found):
                os.close(descriptor)
    _locks.clear()


os.register_at_fork(after_in_child=_close_locks)
