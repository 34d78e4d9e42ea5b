"""Start processes by forking them from one that has imported everything, and end them."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).parent
PATIENCE_SECONDS = 120.0
# Whether a process must ask for more memory depends on chance: reserve plenty in advance.
SAME_CALLS_EVERY_TIME = {
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONMALLOC": "malloc",
    "MALLOC_TOP_PAD_": str(64 * 1024 * 1024),
    "MALLOC_MMAP_MAX_": "0",
}


class HungError(Exception):
    """A process has been silent for longer than it ever should be."""


class Child:
    """A forked process: it waits for a byte on its stdin and prints lines."""

    def __init__(self, pid: int, stdin: int, stdout: int) -> None:
        self.pid = pid
        self._stdin = stdin
        self.stdout = stdout
        self._handle = os.pidfd_open(pid)
        self._unread = b""
        self.ended = False
        self.closed = False
        self._lock = threading.Lock()

    def fileno(self) -> int:
        return self.stdout

    def go(self) -> None:
        os.write(self._stdin, b"g")

    def line(self) -> str:
        """Return the next whole line, or nothing once the process is gone."""
        while b"\n" not in self._unread:
            if not select.select([self.stdout], [], [], PATIENCE_SECONDS)[0]:
                raise HungError(f"process {self.pid} says nothing more")
            if not (part := os.read(self.stdout, 65536)):
                return ""
            self._unread += part
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()

    def lines(self) -> list[str]:
        """Return the whole lines that have arrived; read the pipe once."""
        part = os.read(self.stdout, 65536)
        self.ended = not part
        *whole, self._unread = (self._unread + part).split(b"\n")
        return [line.decode() for line in whole]

    def last_lines(self) -> list[str]:
        """Return the output of a process that is gone."""
        found = []
        while line := self.line():
            found.append(line)
        return found

    def kill(self) -> None:
        self.send(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Send a signal. It has no effect on a process that is gone."""
        with self._lock, suppress(ProcessLookupError):
            if not self.closed:
                signal.pidfd_send_signal(self._handle, number)

    def is_gone(self) -> bool:
        return bool(select.select([self._handle], [], [], 0)[0])

    def hang_up(self) -> None:
        """Close the input: a process that waits for a byte ends."""
        if self._stdin >= 0:
            os.close(self._stdin)
        self._stdin = -1

    def close(self) -> None:
        """Wait for its end; it has been killed, or ends because its input is closed."""
        if self.closed:
            return
        self.hang_up()
        select.select([self._handle], [], [], PATIENCE_SECONDS)
        with self._lock:
            self.closed = True
            os.close(self.stdout)
            os.close(self._handle)


class Nursery:
    """The server that forks; use it in `with`, which keeps it alive."""

    def __init__(self, server: str = "operation.py") -> None:
        self._children: list[Child] = []
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, str(HERE / server), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdout=subprocess.DEVNULL,
                env={**os.environ, **SAME_CALLS_EVERY_TIME},
            )

    def start(self, job: str, **arguments: Any) -> Child:
        """Start a process that is READY: only the job itself is left to do."""
        its_stdin, stdin = os.pipe()
        stdout, its_stdout = os.pipe()
        request = json.dumps({"job": job, "arguments": arguments}).encode()
        with self._lock:
            socket.send_fds(self._channel, [request], [its_stdin, its_stdout])
            pid = int(self._channel.recv(32))
        os.close(its_stdin)
        os.close(its_stdout)
        child = Child(pid, stdin, stdout)
        self._children.append(child)
        if child.line() != "READY":
            raise HungError(f"the {job} did not come up: see its traceback")
        return child

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            if not child.closed:
                child.kill()
                child.close()
        self._channel.close()
        self._server.wait(PATIENCE_SECONDS)
