"""Locks on whole files. A lock ends with the process that took it."""

from __future__ import annotations

import os
import time
from contextlib import suppress

_TRIES = 10
_TRY_EVERY_SECONDS = 0.01
_locks: dict[int, os.stat_result] = {}


def lock_path(store_path: str) -> str:
    """Held by the living sender that was started on its own."""
    return f"{store_path}-sender"


def up_lock_path(store_path: str) -> str:
    """Held by a living `gate up`, which sends, too."""
    return f"{store_path}-up"


def hold(path: str) -> int | None:
    """Lock a file for as long as this process lives, or until `release`; None: another does."""
    for _ in range(_TRIES):
        descriptor = _lock(path)
        if descriptor is not None:
            return descriptor
        # Whoever only looks is in the way, too, for an instant.
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
    """Whether a living process holds the lock; `by_many`: its holders share it.

    Raises:
        OSError: The file is there and cannot be opened.
    """
    import fcntl

    # Shared where it can be: two that look at once must not take each other for a holder.
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
    """Close a locked file in every child that is forked: its lock ends with this process."""
    _locks[descriptor] = os.fstat(descriptor)
    return descriptor


def _close_locks() -> None:
    for descriptor, found in _locks.items():
        # The number may be another file's since.
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), found):
                os.close(descriptor)
    _locks.clear()


os.register_at_fork(after_in_child=_close_locks)
