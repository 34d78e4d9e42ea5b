"""Files that say to whom the answers of background asks go: one for each ask, on its machine.

A file is locked while its answer is handed over, or while a process waits for it. So two processes
never hand over the same answer, and one that dies leaves it to the next. The answer itself is in
the store; without its file it is still there for `gate wait`.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.domain.digests import digest
from gatebell.domain.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK_CHARACTERS = 16
_TRIES = 50
_TRY_EVERY_SECONDS = 0.01
_KEPT_SECONDS = 90 * 86_400


class Recipient(NamedTuple):
    """Who gets the answer of an ask."""

    ask_id: str
    cli: str
    session: str
    project: str
    """The folder of the next session that gets it, once this one has ended."""
    process: str
    """The program of the session; empty if it is not known."""


def keep(folder: str, store: str, recipient: Recipient) -> None:
    """Write the file of an ask, unless it has one."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    try:
        descriptor = os.open(_path(folder, store, recipient.ask_id), _NEW, 0o600)
    except FileExistsError:
        return
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(recipient, file)
        _remove_old(folder, os.fstat(file.fileno()).st_mtime - _KEPT_SECONDS)


def _remove_old(folder: str, before: float) -> None:
    """Remove files of asks that ended without their agent: each costs every tool call a look."""
    for entry in os.scandir(folder):
        # Another process may remove it now.
        with suppress(OSError):
            if entry.stat(follow_symlinks=False).st_mtime < before:
                os.unlink(entry.path)


def list_all(folder: str, store: str) -> Iterator[Recipient]:
    """Yield those of one store, oldest ask first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    mark = _mark(store) if names else ""
    paths = (os.path.join(folder, name) for name in names if name.endswith(mark))
    for path in sorted(paths, key=_changed_at):
        # It may be removed now, or not be written yet.
        with suppress(OSError, ValueError, TypeError), open(path, encoding="utf-8") as file:
            yield Recipient(*json.load(file))


class Lock:
    """The lock on the file of an ask. It ends with this object, or with the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    __del__ = close


def lock(folder: str, store: str, ask_id: str, *, patient: bool = False) -> Lock | None:
    """Lock the file of an ask; None if there is none, or another process has it.

    `patient`: wait for a process that only looks whether there is an answer.
    """
    path = _path(folder, store, ask_id)
    for _ in range(_TRIES if patient else 1):
        if found := _lock(path, 0):
            return found
        if not os.path.exists(path):
            break
        if patient:
            time.sleep(_TRY_EVERY_SECONDS)
    return None


def watch(folder: str, session: str) -> Lock | None:
    """Lock the place of the one process that watches for a session; None if there is one."""
    with suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    return _lock(os.path.join(folder, digest(session)[:_MARK_CHARACTERS]), os.O_CREAT)


def _lock(path: str, how: int) -> Lock | None:
    with suppress(OSError):
        held = Lock(
            descriptor := os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | how, 0o600)
        )
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The process that had it may have handed the answer over.
        if os.fstat(descriptor).st_nlink:
            return held
    return None


def remove(folder: str, store: str, ask_id: str) -> None:
    """Remove the file of an ask: its answer was handed over, or there will be none."""
    with suppress(OSError):
        os.unlink(_path(folder, store, ask_id))


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def _path(folder: str, store: str, ask_id: str) -> str:
    return os.path.join(folder, ask_id + _mark(store))


def _mark(store: str) -> str:
    return f"@{digest(store)[:_MARK_CHARACTERS]}"


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
