"""A sender of one's own, for when nobody sends: detached, and one for each store."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from gatebell.errors import UsageError


class Starter:
    """Starts a sender whenever there is news and nobody else sends it."""

    def __init__(self, store_path: str) -> None:
        self._path = store_path
        self._children: list[int] = []

    def __call__(self) -> None:
        # The news is safe in the store: whatever goes wrong here, the next sender finds it.
        with suppress(OSError):
            if not _has_routes():
                return
            # Imported here: without routes there is nothing to look at.
            from gatebell.adapters.system.file_locks import is_held, lock_path, up_lock_path

            self._reap()
            busy = is_held(up_lock_path(self._path)) or is_held(lock_path(self._path))
            if not busy and sys.executable:
                self._children.append(self._spawn())

    def _spawn(self) -> int:
        null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        # Somebody may wait for the last holder of a pipe to let go of it.
        others = [(os.POSIX_SPAWN_CLOSE, fd) for fd in _list_inherited()]
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


def _has_routes() -> bool:
    """Whether there are routes by now: a worker outlives the settings it began with."""
    # Imported here: most commands have no news.
    from gatebell.adapters.files import settings_file

    try:
        return bool(settings_file.routes(os.environ))
    except UsageError:
        # A route that cannot be read must not keep anyone from asking; gate doctor names it.
        return False


def _list_inherited() -> list[int]:
    """Descriptors that this process would hand on, beside the first three."""
    found = []
    for name in os.listdir("/dev/fd"):
        # One of them was the look at this folder, and is gone by now.
        with suppress(OSError):
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
    return found
