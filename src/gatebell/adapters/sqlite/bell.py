"""The bell: a file beside the database that every writer touches after its commit.

Changes of SQLite's own log do not show that a commit is visible: the log is written before it is
synced and published. With inotify, a waiter sleeps until the touch. Without it, the waiter looks at
the file, first often and later seldom.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress

_CLOSE_ON_EXEC_AND_NONBLOCK = 0o2004000
_ATTRIBUTES_CHANGED = 0x4
# If a writer dies between commit and bell, its waiters look again after this time.
_SAFETY_NET_SECONDS = 1.0
_FASTEST_LOOK_SECONDS = 0.01
_SLOWEST_LOOK_SECONDS = 0.05


def ring(path: str) -> None:
    """Wake every waiter; if that fails, they only notice the change later."""
    with suppress(OSError):
        try:
            os.utime(path)
        except FileNotFoundError:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


class KernelBell:
    """Sleeps until the kernel reports a touch (inotify)."""

    def __init__(self, path: str) -> None:
        # Imported here: only waiters need it.
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = libc.inotify_init1(_CLOSE_ON_EXEC_AND_NONBLOCK)
        if self._fd < 0 or libc.inotify_add_watch(self._fd, path.encode(), _ATTRIBUTES_CHANGED) < 0:
            problem = ctypes.get_errno()
            if self._fd >= 0:
                os.close(self._fd)
            raise OSError(problem, "the kernel has no more watches")
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)

    def wait(self, seconds: float) -> None:
        if self._poll.poll(min(seconds, _SAFETY_NET_SECONDS) * 1000):
            os.read(self._fd, 65536)

    def close(self) -> None:
        os.close(self._fd)


class LookingBell:
    """Looks at the file again and again, without inotify."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen = self._look()
        self._pause = _FASTEST_LOOK_SECONDS

    def _look(self) -> int:
        try:
            return os.stat(self._path).st_mtime_ns
        except OSError:
            return 0

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + min(seconds, _SAFETY_NET_SECONDS)
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, self._pause))
            now = self._look()
            if now != self._seen:
                self._seen, self._pause = now, _FASTEST_LOOK_SECONDS
                return
            self._pause = min(self._pause * 1.1, _SLOWEST_LOOK_SECONDS)

    def close(self) -> None:
        """Do nothing: no file is open."""


def listen(path: str) -> KernelBell | LookingBell:
    """Return the best bell of this system."""
    if not os.path.exists(path):
        ring(path)
    try:
        return KernelBell(path)
    except (OSError, AttributeError):
        return LookingBell(path)
