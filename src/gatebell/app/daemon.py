"""The one `gate up` of a store: who it is, where it is reached, how it is started and ended."""

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
    """A living `gate up`."""

    pid: int
    url: str
    personal: bool = False
    """Others reach it, so everybody signs in with a personal token."""


def find(store_path: str) -> Up | None:
    """The living one; what a dead one left behind does not count."""
    path = up_lock_path(store_path)
    if not is_held(path):
        return None
    with suppress(OSError, ValueError, TypeError), open(path, encoding="utf-8") as file:
        return Up(**json.load(file))
    return None


def must_be_alone(store_path: str) -> None:
    if other := find(store_path):
        raise UsageError(
            f"gate up is already running at {other.url} (process {other.pid}): "
            "gate link opens it, gate down ends it"
        )


def become(store_path: str, url: str, *, personal: bool = False) -> int:
    """Be the one, for as long as this process lives; returns what must be kept open."""
    descriptor = hold(up_lock_path(store_path))
    if descriptor is None:
        must_be_alone(store_path)
        raise UsageError("another gate up is just starting or ending: try again in a moment")
    os.ftruncate(descriptor, 0)
    os.write(descriptor, json.dumps(Up(os.getpid(), url, personal)._asdict()).encode())
    return keep_from_children(descriptor)


def log_path(store_path: str) -> str:
    return f"{store_path}-up.log"


def start(store_path: str, words: Sequence[str]) -> Up:
    """Start one in the background, and come back when it can be reached."""
    must_be_alone(store_path)
    log = log_path(store_path)
    kept = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        # What it prints holds a link into the inbox, which belongs in no file.
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, log, kept, 0o600),
    ]
    command = [sys.executable, "-P", "-m", "gatebell", "up", *words]
    environ = {**os.environ, "GATE_STORE": store_path}
    pid = os.posix_spawn(sys.executable, command, environ, file_actions=streams, setsid=True)
    until = time.monotonic() + _STARTS_WITHIN_SECONDS
    while time.monotonic() < until:
        if (up := find(store_path)) and _answers(up.url):
            return up
        if os.waitpid(pid, os.WNOHANG) != (0, 0):
            with open(log, encoding="utf-8", errors="replace") as file:
                raise GateError(file.read()[-2000:].strip().removeprefix("gate: "))
        time.sleep(_POLL_SECONDS)
    raise GateError(f"gate up did not start within {_STARTS_WITHIN_SECONDS:.0f} s: look at {log}")


def _answers(url: str) -> bool:
    """Whether somebody listens there; behind a proxy only the process itself is looked at."""
    # Imported here: only whoever starts one looks.
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
    """End the living one and wait until it is gone; None when there is none."""
    found = find(store_path)
    if found is None:
        return None
    if not _has_open(found.pid, up_lock_path(store_path)) or find(store_path) != found:
        raise GateError(
            f"it is not sure that process {found.pid} is gate up, so it was left alone: "
            "try again in a moment"
        )
    os.kill(found.pid, signal.SIGTERM)
    until = time.monotonic() + _ENDS_WITHIN_SECONDS
    while find(store_path) == found:
        if time.monotonic() > until:
            raise GateError(f"process {found.pid} does not end; what it does stands in its log")
        time.sleep(_POLL_SECONDS)
    return found


def _has_open(pid: int, path: str) -> bool:
    """Whether a process has the file open; where the kernel does not tell, it is believed.

    A number in a file may be that of a dead one, which belongs to somebody else by now.
    """
    if not os.path.isdir("/proc/self/fd"):
        return True
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            # Connections come and go meanwhile.
            with suppress(FileNotFoundError):
                if os.path.samefile(f"/proc/{pid}/fd/{name}", path):
                    return True
    return False
