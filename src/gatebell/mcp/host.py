"""Checks that the other end of the streams is the program that the person opened."""

from __future__ import annotations

import os
import socket
import stat
import struct
import time
from contextlib import suppress

from gatebell.app import environment

_STDIN, _STDOUT = 0, 1
_CREDENTIALS = "3i"
"""pid, uid and gid, as the kernel reports them for the other end of a socket."""
_LOOKS = 3
_POLL_SECONDS = 0.02


def is_program(program: str) -> bool:
    """Return whether this program started this process and alone holds the other ends.

    A shell of the agent can replace itself by this server: its parent is then the program. But
    such a server reads from a terminal, a file or a pipe of the agent. A server that is named by
    a project's `mcp_config` can do the same, and let another process rewrite the form on its way
    to the program, or write another form beside this process.
    """
    parent = os.getppid()
    found = environment.identify(parent)
    if found is None or str(found) != program:
        return False
    return all(_leads_to(parent, stream) for stream in (_STDIN, _STDOUT)) and _are_ours(parent)


def _leads_to(pid: int, stream: int) -> bool:
    """Return whether the other end of a stream was made by this process, or is open in it."""
    with suppress(OSError):
        mode = os.fstat(stream).st_mode
        if stat.S_ISSOCK(mode):
            return _maker_of_socket(stream) == pid
        if stat.S_ISFIFO(mode):
            return _has_other_end(pid, stream)
    return False


def _maker_of_socket(stream: int) -> int:
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    with socket.socket(fileno=os.dup(stream)) as ours:
        size = struct.calcsize(_CREDENTIALS)
        told = ours.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return int(struct.unpack(_CREDENTIALS, told)[0])


def _has_other_end(pid: int, stream: int) -> bool:
    """Return whether a process has the other end of an unnamed pipe.

    An agent can make its program open the agent's own named pipe for reading.
    """
    name = _name(stream)
    ours = os.O_RDONLY if stream == _STDIN else os.O_WRONLY
    if not name.startswith("pipe:["):
        return False
    for number in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):  # it may close right now
            if os.readlink(f"/proc/{pid}/fd/{number}") == name and _mode(pid, number) != ours:
                return True
    return False


def _mode(pid: int, number: str) -> int:
    with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as file:
        flags = dict(line.split(":", 1) for line in file)["flags"]
    return int(flags, 8) & os.O_ACCMODE


def _are_ours(program: int) -> bool:
    """Return whether only this process and the program have our streams open.

    A program that starts another one holds them twice for an instant, so it is checked some times.
    """
    names = {_name(_STDIN), _name(_STDOUT)}
    for look in range(_LOOKS):
        if look:
            time.sleep(_POLL_SECONDS)
        if not any(_opens(pid, names) for pid in _others(program)):
            return True
    return False


def _others(program: int) -> list[int]:
    known = (os.getpid(), program)
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in known]


def _opens(pid: int, names: set[str]) -> bool:
    # It may be ending, or belong to another user.
    with suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{number}") in names:
                    return True
    return False


def _name(stream: int) -> str:
    return os.readlink(f"/proc/self/fd/{stream}")
