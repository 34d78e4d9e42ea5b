"""The pinned agent CLIs, and a network without hosts."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import threading
from glob import glob
from typing import NamedTuple

PACKAGES = {"@anthropic-ai/claude-code": "2.1.328", "@openai/codex": "0.169.0"}
_NEW_NETWORK = 0x40000000


class Programs(NamedTuple):
    claude: str
    codex: str


def find_programs(folder):
    # The packages hold a launcher; the program itself comes in a package for the platform.
    modules = os.path.join(folder, "node_modules")
    claude = glob(f"{modules}/@anthropic-ai/claude-code-*/claude")
    codex = glob(f"{modules}/@openai/codex-*/vendor/*/bin/codex")
    return Programs(claude[0], codex[0]) if claude and codex else None


class Network:
    """A network with only the loopback device, where the kernel allows one."""

    def __init__(self):
        self.file = None
        self.inside(self._leave)

    @property
    def prefix(self):
        return ["nsenter", f"--net=/proc/{os.getpid()}/fd/{self.file}"] if self.file else []

    def inside(self, make):
        """Return the result of a call in it.

        A network belongs to a thread, and sockets stay in it.
        """
        made = []

        def run():
            if self.file:
                ctypes.CDLL(None).setns(self.file, _NEW_NETWORK)
            made.append(make())

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return made[0]

    def _leave(self):
        if not shutil.which("nsenter") or ctypes.CDLL(None).unshare(_NEW_NETWORK):
            return
        set_flags, up = 0x8914, 1
        with socket.socket() as any_socket:
            fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", up))
        self.file = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
