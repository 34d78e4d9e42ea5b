"""Runs of `gate` in forks of a process with loaded modules, to save loading time.

Each fork is a process of its own, with the given folder, environment and streams.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from importlib import import_module
from pkgutil import walk_packages

_FILE_DESCRIPTORS = 3
_MAX_REQUEST = 1 << 20
_LOADED = ("adapters.files", "adapters.git", "adapters.sqlite", "adapters.system",
           "adapters.tables", "app", "cli", "domain", "services", "terminal")  # fmt: skip
_ENVIRON = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "PYTHONPATH")}


class GateForks:
    """The client; its process starts with the first command."""

    def __init__(self):
        self._process = None
        self.cpu_seconds = 0.0
        """The time of all ended forks, whose parent is not this process."""

    def run(self, words, environ, folder, text=None, seconds=60):
        """Run a command; return its exit code and its output."""
        self._start()
        readers, writers = zip(os.pipe(), os.pipe(), strict=True)
        given, giver = (os.open(os.devnull, os.O_RDONLY), None) if text is None else os.pipe()
        request = json.dumps({"words": words, "environ": environ, "folder": str(folder)})
        with ExitStack() as stack:
            connection = stack.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(self._path)
            size = f"{len(request):8}".encode()
            socket.send_fds(connection, [size], [given, *writers])
            connection.sendall(request.encode())
            for one in (given, *writers):
                os.close(one)
            threads = [_Reader(one) for one in readers]
            if giver is not None:
                _write(giver, text)
            lines = stack.enter_context(connection.makefile())
            pid = int(lines.readline())
            until = time.monotonic() + seconds
            for thread in threads:
                thread.join(max(0, until - time.monotonic()))
                if thread.is_alive():
                    os.kill(pid, signal.SIGKILL)
                    raise subprocess.TimeoutExpired(words, seconds)
            code, used = json.loads(lines.readline())
            self.cpu_seconds += used
        return code, *(thread.text for thread in threads)

    def _start(self):
        if self._process is None:
            self._folder = tempfile.TemporaryDirectory(prefix="gate-forks-")
            self._path = f"{self._folder.name}/socket"
            self._process = subprocess.Popen(
                # It does not get the variables of a test: some tests end each process that has
                # them.
                [sys.executable, "-m", __name__, self._path], env=_ENVIRON,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            while not os.path.exists(self._path):
                assert self._process.poll() is None, "the process for forks ended"
                threading.Event().wait(0.01)

    def close(self):
        if self._process:
            self._process.terminate()
            self._process.wait()
            self._process = None
            self._folder.cleanup()


FORKS = GateForks()


class _Reader(threading.Thread):
    def __init__(self, descriptor):
        super().__init__(daemon=True)
        self._descriptor = descriptor
        self.text = ""
        self.start()

    def run(self):
        with open(self._descriptor, encoding="utf-8", errors="surrogateescape") as file:
            self.text = file.read()


def _write(descriptor, text):
    try:
        with open(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
    except BrokenPipeError:
        """It did not read the whole input."""


def serve(path):
    """Fork for each connection; return in the fork."""
    _load()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{path}.new")
    listener.listen(100)
    os.rename(f"{path}.new", path)
    waking, woken = socket.socketpair()
    for one in (waking, woken):
        one.setblocking(False)
    signal.set_wakeup_fd(woken.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running = {}
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(waking, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is waking:
                    waking.recv(1000)
                    _reap(running)
                    continue
                connection, _ = listener.accept()
                if not _fork(connection, running):
                    for one in (listener, waking, woken, *running.values()):
                        one.close()
                    return


def _load():
    from gatebell.cli.commands import MODULES

    for module, _ in MODULES.values():
        import_module(f"gatebell.{module}")
    # Commands import most of these only when they need them: each fork would load them again.
    for folder in _LOADED:
        package = import_module(f"gatebell.{folder}")
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    # A collection in a fork would look at, and so copy, all that is loaded.
    gc.collect()
    gc.freeze()


def _fork(connection, running):
    """Fork, and return whether this is the process that forks."""
    size, streams, *_ = socket.recv_fds(connection, 8, _FILE_DESCRIPTORS)
    request = b""
    while len(request) < int(size):
        request += connection.recv(_MAX_REQUEST)
    pid = os.fork()
    if pid:
        for one in streams:
            os.close(one)
        connection.sendall(f"{pid}\n".encode())
        running[pid] = connection
        return True
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    connection.close()
    _become(json.loads(request), streams)
    return False


def _become(request, streams):
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    os.chdir(request["folder"])
    sys.path[0] = request["folder"]
    sys.argv = [import_module("gatebell").__path__[0] + "/__main__.py", *request["words"]]


def _reap(running):
    while running:
        pid, status, used = os.wait4(-1, os.WNOHANG)
        if not pid:
            return
        connection = running.pop(pid)
        result = [os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime]
        try:
            connection.sendall(f"{json.dumps(result)}\n".encode())
        except BrokenPipeError:
            """Its test has ended."""
        connection.close()


def _leave(codes):
    """End a fork before Python takes all that is loaded apart, which is half of its time."""
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(*codes)


if __name__ == "__main__":
    ended = []
    # Registered first, this comes last; nothing is left to be done by then.
    atexit.register(lambda: ended and _leave(ended))
    serve(sys.argv[1])
    from gatebell.cli.main import program

    ended.append(program())
    sys.exit(*ended)
