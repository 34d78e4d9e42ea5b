"""Who is at the other end: whether it is the very program that a person opened and looks at."""

from __future__ import annotations

import os
import socket
import stat
import struct
from contextlib import suppress

from humangate import processes

_STDIN = 0
_CREDENTIALS = "3i"
"""pid, uid and gid, as the kernel tells them of a socket's other end."""


def is_program(program: str) -> bool:
    """Whether this program started this process, and nobody else writes what it reads.

    A shell of the agent can have itself replaced by this server: its parent is then the program,
    too. But what such a server reads comes from a terminal, a file or a pipe of the agent's own.
    """
    parent = os.getppid()
    found = processes.identify(parent)
    return found is not None and str(found) == program and _writes(parent)


def _writes(pid: int) -> bool:
    """Whether our standard input is the other end of something that this process made or holds."""
    with suppress(OSError):
        mode = os.fstat(_STDIN).st_mode
        if stat.S_ISSOCK(mode):
            return _maker_of_socket() == pid
        if stat.S_ISFIFO(mode):
            return _holds(pid, os.readlink(f"/proc/self/fd/{_STDIN}"))
    return False


def _maker_of_socket() -> int:
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    with socket.socket(fileno=os.dup(_STDIN)) as ours:
        size = struct.calcsize(_CREDENTIALS)
        told = ours.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return int(struct.unpack(_CREDENTIALS, told)[0])


def _holds(pid: int, name: str) -> bool:
    """Whether a process can write into a pipe without a name.

    An agent can make its program open a pipe of its own, by a path, for reading.
    """
    if not name.startswith("pipe:["):
        return False
    for number in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):  # it may just be closed
            if os.readlink(f"/proc/{pid}/fd/{number}") == name and _is_written(pid, number):
                return True
    return False


def _is_written(pid: int, number: str) -> bool:
    with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as file:
        flags = dict(line.split(":", 1) for line in file)["flags"]
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY
