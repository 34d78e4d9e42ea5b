"""Locks that prove that a process keeps its claims of runs, one byte for each claim."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from gatebell.adapters.system import byte_locks
from gatebell.adapters.system.file_locks import keep_from_children
from gatebell.domain.digests import digest

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run

# In hexadecimal: 60 bits, within the size limit of every file system.
_BYTE_DIGITS = 15


class _HeldLocks:
    """The claims that this process keeps, as locked bytes of one file for each store.

    On some systems a lock belongs to the process, and ends when the process closes any descriptor
    of the file. So each file is opened once, and closed after the last claim of its store.
    """

    def __init__(self) -> None:
        # Reentrant: a signal handler may fork while its thread is in here.
        self.alone = threading.RLock()
        self.files: dict[str, int] = {}
        self.times: dict[tuple[str, int], int] = {}
        """How many keepers hold a byte of a file: two may try the same claim."""


_held_locks = _HeldLocks()


def _forget() -> None:
    """Reset in a child: it has none of its parent's locks."""
    global _held_locks
    _held_locks = _HeldLocks()


def _pause() -> None:
    """Wait before a fork until no file is being opened: the child would keep its locks."""
    _held_locks.alone.acquire()


def _go_on() -> None:
    _held_locks.alone.release()


os.register_at_fork(before=_pause, after_in_parent=_go_on, after_in_child=_forget)


def hold_waiting(store_path: str, run: Run) -> None:
    """Prove that this process drives a run by its claim, until `release_waiting` or its end."""
    path, byte = _waiting_path(store_path), _byte(run)
    with _held_locks.alone:
        if path not in _held_locks.files:
            _held_locks.files[path] = keep_from_children(byte_locks.open_file(path))
        byte_locks.lock(_held_locks.files[path], byte)
        _held_locks.times[path, byte] = _held_locks.times.get((path, byte), 0) + 1


def release_waiting(store_path: str, run: Run) -> None:
    """Release one hold of `hold_waiting`."""
    path, byte = _waiting_path(store_path), _byte(run)
    with _held_locks.alone:
        times = _held_locks.times.pop((path, byte), 0)
        if times > 1:
            _held_locks.times[path, byte] = times - 1
        elif times == 1:
            byte_locks.unlock(_held_locks.files[path], byte)
            if all(other != path for other, _ in _held_locks.times):
                os.close(_held_locks.files.pop(path))


def is_waiting_held(store_path: str, run: Run) -> bool:
    """Return whether the process with this claim of a run lives; it drives the run when it can."""
    path, byte = _waiting_path(store_path), _byte(run)
    with _held_locks.alone:
        if (path, byte) in _held_locks.times:
            return True
        descriptor = _held_locks.files.get(path) or byte_locks.open_file(path)
        try:
            return byte_locks.is_locked(descriptor, byte)
        finally:
            if path not in _held_locks.files:
                os.close(descriptor)


def _byte(run: Run) -> int:
    """Return a different byte for each claim of each process."""
    return int(digest([run.id, run.claim, run.owner])[:_BYTE_DIGITS], 16)


def _waiting_path(store_path: str) -> str:
    # The same file for every name of the store.
    return f"{os.path.realpath(store_path)}-waiting"
