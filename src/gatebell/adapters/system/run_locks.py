"""Locks by which a process proves that it keeps runs for itself, one byte for each claim."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from gatebell.adapters.system import byte_locks
from gatebell.adapters.system.file_locks import keep_from_children
from gatebell.domain.digests import digest

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run

# In hexadecimal: 60 bits, which every file can count to.
_BYTE_DIGITS = 15


class _HeldLocks:
    """The claims that this process stands by, as locked bytes of one file for each store.

    Where such a lock belongs to the process, it ends when the process closes the file by any
    descriptor: so each file is opened once, and closed when no claim of its store is left.
    """

    def __init__(self) -> None:
        # Reentrant: a signal handler may fork while its thread is in here.
        self.alone = threading.RLock()
        self.files: dict[str, int] = {}
        self.times: dict[tuple[str, int], int] = {}
        """How often a byte of a file is stood by: two keepers may try the same claim."""


_held_locks = _HeldLocks()


def _forget() -> None:
    """A child has none of its parent's locks."""
    global _held_locks
    _held_locks = _HeldLocks()


def _pause() -> None:
    """No file may be half opened when a child begins: the child would keep it open, with its locks."""
    _held_locks.alone.acquire()


def _go_on() -> None:
    _held_locks.alone.release()


os.register_at_fork(before=_pause, after_in_parent=_go_on, after_in_child=_forget)


def hold_waiting(store_path: str, run: Run) -> None:
    """Say that this process drives a run by its claim; `step_back` or its end take it back."""
    path, byte = _waiting_path(store_path), _byte(run)
    with _held_locks.alone:
        if path not in _held_locks.files:
            _held_locks.files[path] = keep_from_children(byte_locks.open_file(path))
        byte_locks.lock(_held_locks.files[path], byte)
        _held_locks.times[path, byte] = _held_locks.times.get((path, byte), 0) + 1


def release_waiting(store_path: str, run: Run) -> None:
    """Take back once that this process drives a run by its claim."""
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
    """Whether the process that made this claim of a run lives, and drives it once it can go on."""
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
    """One of its own for each claim of each process: no lock speaks for another keeper."""
    return int(digest([run.id, run.claim, run.owner])[:_BYTE_DIGITS], 16)


def _waiting_path(store_path: str) -> str:
    # One file, by whichever name the store is reached.
    return f"{os.path.realpath(store_path)}-waiting"
