"""Locks by which the holder of a person's visit in a session proves that it lives.

The kernel ends a lock with the last process that has its file open, in every container.
"""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gatebell.adapters.system import file_locks
from gatebell.adapters.system.file_locks import hold, release
from gatebell.errors import RefusedError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_JOINING = "joining"
_TRIES = 10


class _Entered:
    """The locked files of this process, by path."""

    def __init__(self) -> None:
        self.alone = threading.Lock()
        self.files: dict[str, int] = {}


_entered = _Entered()


def _forget() -> None:
    """Close the locks of the parent: they must end with the parent, not with its children."""
    global _entered
    for descriptor in _entered.files.values():
        with suppress(OSError):
            os.close(descriptor)
    _entered = _Entered()


os.register_at_fork(after_in_child=_forget)


def enter(store_path: str, visit_id: str) -> None:
    """Prove from now on that this process holds a visit; call it before the visit is written."""
    path = _path(store_path, visit_id)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be locked ({error.strerror}), so no session is opened: make its folder "
            "writable for you, on a disk that knows locks"
        ) from None
    with _entered.alone:
        _entered.files[path] = descriptor


def leave(store_path: str, visit_id: str) -> None:
    """End the proof of a visit that is closed, also where its holder died."""
    path = _path(store_path, visit_id)
    with suppress(OSError):
        os.unlink(path)
    with _entered.alone:
        descriptor = _entered.files.pop(path, None)
    if descriptor is not None:
        os.close(descriptor)


@contextmanager
def proof(store_path: str, visit_id: str) -> Iterator[Sequence[int]]:
    """The descriptors that a program inherits, so that it proves the visit after this process."""
    with _entered.alone:
        found = _entered.files.get(_path(store_path, visit_id))
        # A copy: the child that becomes the program closes the descriptor that is known here.
        copies = [] if found is None else [os.dup(found)]
    try:
        yield copies
    finally:
        for copy in copies:
            os.close(copy)


@contextmanager
def alone(store_path: str) -> Iterator[None]:
    """Keep other processes from opening a session of a run for this moment."""
    path = _path(store_path, _JOINING)
    # Each try lasts a tenth of a second: others write to a slow disk under this lock.
    tries = (hold(path) for _ in range(_TRIES))
    descriptor = next((found for found in tries if found is not None), None)
    if descriptor is None:
        raise RefusedError("another gate continue opens a session at this moment: try again")
    try:
        yield
    finally:
        release(descriptor)


def _path(store_path: str, visit_id: str) -> str:
    # One file, by each name of the store.
    return os.path.join(f"{os.path.realpath(store_path)}-visits", visit_id)


def is_held(store_path: str, visit_id: str) -> bool:
    """Whether the process that entered a visit lives, or a program that inherited its proof."""
    try:
        return file_locks.is_held(_path(store_path, visit_id))
    except OSError:
        # Where the file cannot be read, the holder is not proven gone.
        return True
