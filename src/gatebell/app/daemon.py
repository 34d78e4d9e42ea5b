"""Find, start and end the one `gate up` process of a store."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gatebell.app.locks import hold, is_held, keep_from_children, up_lock_path
from gatebell.errors import GateError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_STARTS_WITHIN_SECONDS = 20.0
_ENDS_WITHIN_SECONDS = 15.0
_POLL_SECONDS = 0.05


class Up(NamedTuple):
    """A running `gate up`."""

    pid: int
    url: str
    personal: bool = False
    """Other people can reach it, so everyone signs in with a personal token."""


def find(store_path: str) -> Up | None:
    """Return the running `gate up`; ignore the file of one that has ended."""
    path = up_lock_path(store_path)
    if not is_held(path):
        return None
    with suppress(OSError, ValueError, TypeError), open(path, encoding="utf-8") as file:
        return Up(**json.load(file))
    return None


def refuse_second(store_path: str) -> None:
    if other := find(store_path):
        raise UsageError(
            f"gate up is already running at {other.url} (process {other.pid}): "
            "open it with gate link, or end it with gate down"
        )


def register(store_path: str, url: str, *, personal: bool = False) -> int:
    """Register this process as the `gate up` of the store; return a descriptor to keep open."""
    descriptor = hold(up_lock_path(store_path))
    if descriptor is None:
        refuse_second(store_path)
        raise UsageError("another gate up is starting or ending: try again in a moment")
    os.ftruncate(descriptor, 0)
    os.write(descriptor, json.dumps(Up(os.getpid(), url, personal)._asdict()).encode())
    return keep_from_children(descriptor)


def log_path(store_path: str) -> str:
    return f"{store_path}-up.log"


def start(store_path: str, words: Sequence[str]) -> Up:
    """Start `gate up` in the background, and return when it can be reached."""
    refuse_second(store_path)
    log = log_path(store_path)
    kept = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        # Its output has a link that signs in to the inbox, and must not be written to a file.
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, log, kept, 0o600),
    ]
    command = [sys.executable, "-P", "-m", "gatebell", "up", *words]
    environ = {**os.environ, "GATE_STORE": store_path}
    pid = os.posix_spawn(sys.executable, command, environ, file_actions=streams, setsid=True)
    until = time.monotonic() + _STARTS_WITHIN_SECONDS
    while time.monotonic() < until:
        if (up := find(store_path)) and _accepts_connections(up.url):
            return up
        if os.waitpid(pid, os.WNOHANG) != (0, 0):
            with open(log, encoding="utf-8", errors="replace") as file:
                raise GateError(file.read()[-2000:].strip().removeprefix("gate: "))
        time.sleep(_POLL_SECONDS)
    raise GateError(f"gate up did not start within {_STARTS_WITHIN_SECONDS:.0f} s: read {log}")


def _accepts_connections(url: str) -> bool:
    """Return whether the address accepts connections; behind a proxy that is not checked."""
    # Imported here: only the start of gate up needs it.
    import socket
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        return True
    try:
        socket.create_connection((parts.hostname, parts.port or 443), 1).close()
    except OSError:
        return False
    return True


def end(store_path: str) -> Up | None:
    """End the running `gate up` and wait until it has ended; return None if there is none."""
    found = find(store_path)
    if found is None:
        return None
    if not _has_open(found.pid, up_lock_path(store_path)) or find(store_path) != found:
        raise GateError(
            f"process {found.pid} may not be gate up, so it was not ended: try again in a moment"
        )
    os.kill(found.pid, signal.SIGTERM)
    until = time.monotonic() + _ENDS_WITHIN_SECONDS
    while find(store_path) == found:
        if time.monotonic() > until:
            raise GateError(f"process {found.pid} did not end: read {log_path(store_path)}")
        time.sleep(_POLL_SECONDS)
    return found


def _has_open(pid: int, path: str) -> bool:
    """Return whether a process has the file open; without /proc, assume that it has.

    The process may have ended, and its number may belong to another process.
    """
    if not os.path.isdir("/proc/self/fd"):
        return True
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            # Connections may close while the loop runs.
            with suppress(FileNotFoundError):
                if os.path.samefile(f"/proc/{pid}/fd/{name}", path):
                    return True
    return False
