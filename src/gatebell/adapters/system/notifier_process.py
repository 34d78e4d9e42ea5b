"""Start a detached sender for a store when no other process sends its notices."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from gatebell.errors import UsageError


class Starter:
    """Starts a sender when there are new notices and no process sends them."""

    def __init__(self, store_path: str) -> None:
        self._path = store_path
        self._children: list[int] = []

    def __call__(self, has_devices: bool = False) -> None:
        # The notices are safe in the store: after an error here, the next sender finds them.
        with suppress(OSError):
            if not has_devices and not _has_routes():
                return
            # Imported here: it is not needed without routes.
            from gatebell.adapters.system.file_locks import is_held, lock_path, up_lock_path

            self._reap()
            busy = is_held(up_lock_path(self._path)) or is_held(lock_path(self._path))
            if not busy and sys.executable:
                self._children.append(self._spawn())

    def _spawn(self) -> int:
        null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        # A parent may wait until the last process closes a pipe.
        others = [(os.POSIX_SPAWN_CLOSE, fd) for fd in _list_inherited()]
        # -P: the agent controls the current folder, so nothing may be imported from it.
        words = [sys.executable, "-P", "-m", "gatebell", "notify", "send"]
        environ = {**os.environ, "GATE_STORE": self._path, "GATE_TOKEN": ""}
        # The sender is not part of the agent's turn, and must not end with it.
        environ.pop("GATE_TURN", None)
        return os.posix_spawn(
            sys.executable, words, environ, file_actions=[*null, *others], setsid=True
        )

    def _reap(self) -> None:
        """Remove ended children from the system's table of processes."""
        living = []
        for child in self._children:
            with suppress(ChildProcessError):
                if os.waitpid(child, os.WNOHANG) == (0, 0):
                    living.append(child)
        self._children = living


def _has_routes() -> bool:
    """Return whether the settings have routes now; they may change while a worker runs."""
    # Imported here: most commands write no notices.
    from gatebell.adapters.files import settings_file

    try:
        return bool(settings_file.routes(os.environ))
    except UsageError:
        # A broken route must not prevent an ask; gate doctor reports it.
        return False


def _list_inherited() -> list[int]:
    """Return the descriptors that a child would inherit, except the first three."""
    found = []
    for name in os.listdir("/dev/fd"):
        # One of them was for listing this folder, and is closed already.
        with suppress(OSError):
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
    return found
