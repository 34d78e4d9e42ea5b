"""Locks that prove that the holder of a person's visit in a session lives.

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
            f"{path} cannot be locked ({error.strerror}), so no session was opened: "
            "make its folder writable, on a disk that supports locks"
        ) from None
    with _entered.alone:
        _entered.files[path] = descriptor


def leave(store_path: str, visit_id: str) -> None:
    """End the proof of a closed visit, also after its holder has died."""
    path = _path(store_path, visit_id)
    with suppress(OSError):
        os.unlink(path)
    with _entered.alone:
        descriptor = _entered.files.pop(path, None)
    if descriptor is not None:
        os.close(descriptor)


@contextmanager
def copy_proof(store_path: str, visit_id: str) -> Iterator[Sequence[int]]:
    """Return the descriptors that a program inherits to prove the visit after this process."""
    with _entered.alone:
        found = _entered.files.get(_path(store_path, visit_id))
        # A copy: the child that becomes the program closes the known descriptor.
        copies = [] if found is None else [os.dup(found)]
    try:
        yield copies
    finally:
        for copy in copies:
            os.close(copy)


@contextmanager
def lock_joining(store_path: str) -> Iterator[None]:
    """Prevent other processes from opening a session of a run during the block."""
    path = _path(store_path, _JOINING)
    # Each try lasts a tenth of a second: other processes may write to a slow disk under this lock.
    tries = (hold(path) for _ in range(_TRIES))
    descriptor = next((found for found in tries if found is not None), None)
    if descriptor is None:
        raise RefusedError("another gate continue is opening a session: try again in a moment")
    try:
        yield
    finally:
        release(descriptor)


def _path(store_path: str, visit_id: str) -> str:
    # The same file for every name of the store.
    return os.path.join(f"{os.path.realpath(store_path)}-visits", visit_id)


def is_held(store_path: str, visit_id: str) -> bool:
    """Return whether the process of a visit, or a program that inherited its proof, lives."""
    try:
        return file_locks.is_held(_path(store_path, visit_id))
    except OSError:
        # An unreadable file does not prove that the holder is gone.
        return True
