"""A sender of one's own, for when nobody sends: detached, and one for each store."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

_TRIES = 10
_TRY_EVERY_SECONDS = 0.01


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


def _lock(path: str, shared: bool = False) -> int | None:
    # Imported here: without roads nobody needs it.
    import fcntl

    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def release(descriptor: int) -> None:
    os.close(descriptor)


def is_held(path: str) -> bool:
    """Whether a living process holds the lock."""
    if not os.path.exists(path):
        return False
    # Shared: two that look at once must not take each other for a holder.
    descriptor = _lock(path, shared=True)
    if descriptor is None:
        return True
    release(descriptor)
    return False


class Starter:
    """Starts a sender whenever there is news and nobody else sends it."""

    def __init__(self, store_path: str) -> None:
        self._path = store_path
        self._children: list[int] = []

    def __call__(self) -> None:
        # The news is safe in the store: whatever goes wrong here, the next sender finds it.
        with suppress(OSError):
            self._reap()
            busy = is_held(up_lock_path(self._path)) or is_held(lock_path(self._path))
            if not busy and sys.executable:
                self._children.append(self._spawn())

    def _spawn(self) -> int:
        null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        # Somebody may wait for the last holder of a pipe to let go of it.
        others = [(os.POSIX_SPAWN_CLOSE, fd) for fd in _inherited()]
        # -P: the folder this runs in is an agent's, and nothing may be imported from there.
        words = [sys.executable, "-P", "-m", "gatebell", "notify", "send"]
        environ = {**os.environ, "GATE_STORE": self._path, "GATE_TOKEN": ""}
        # It is no part of the agent's turn in which there was news, and does not end with it.
        environ.pop("GATE_TURN", None)
        return os.posix_spawn(
            sys.executable, words, environ, file_actions=[*null, *others], setsid=True
        )

    def _reap(self) -> None:
        """Those that have ended leave the table of processes."""
        living = []
        for child in self._children:
            with suppress(ChildProcessError):
                if os.waitpid(child, os.WNOHANG) == (0, 0):
                    living.append(child)
        self._children = living


def _inherited() -> list[int]:
    """Descriptors that this process would hand on, beside the first three."""
    found = []
    for name in os.listdir("/dev/fd"):
        # One of them was the look at this folder, and is gone by now.
        with suppress(OSError):
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
    return found
