"""Show one dialog as one process; its output is the answer, never its exit alone."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gatebell.adapters.dialogs import texts
from gatebell.adapters.dialogs.replies import CLOSED_BY_US, build_nothing
from gatebell.adapters.system.secret_variables import remove_secrets
from gatebell.domain.enums import AskKind
from gatebell.domain.text.display import inert_line
from gatebell.ports.dialogs import VALUE, Reply, Showing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Too fast to have read the question: the typing was meant for another window.
_HASTY_SECONDS = 1.0
# The program closes by itself at the end of its time, and then returns the draft.
_GRACE_SECONDS = 2.0
_ENDS_WITHIN_SECONDS = 1.0
_MAX_OPTIONS = 200
# A line means that the program has ended; an end of file means that this process has.
_WATCH = ("/bin/sh", "-c", 'read -r line || kill "$1"', "sh")


class Ended(NamedTuple):
    """The exit code and output of a dialog's process."""

    code: int
    out: str


class Tool(NamedTuple):
    """A program that shows dialogs."""

    name: str
    program: str
    command: Callable[[Showing, str], list[str]]
    """Returns its command line; the second argument is a nonce for its reply."""
    read: Callable[[Showing, Ended, str], Reply]
    feed: Callable[[Showing, str], str] = lambda _showing, _nonce: ""
    """Returns a line for its standard input, which stays open while this process lives."""
    takes_all: bool = False
    """It can show everything, and itself ignores answers that come too fast."""
    at_terminal: bool = False
    """It is shown in our terminal, and writes its reply to stderr."""


class ProgramDialog:
    """The port `Dialog`, by one of these programs."""

    def __init__(
        self,
        tool: Tool,
        environ: Mapping[str, str],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tool = tool.name
        self._tool = tool
        self._environ = remove_secrets(environ)
        # The window is not part of the agent's turn, and must not end with it.
        self._environ.pop("GATE_TURN", None)
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, showing: Showing) -> Reply:
        tool = self._tool
        if (
            showing.kind == AskKind.APPROVAL
            and not tool.takes_all
            and not texts.build_body(showing).whole
        ):
            return build_nothing(
                f"it is too long to approve in {tool.name}: use gate show and gate answer"
            )
        if len(showing.options) > _MAX_OPTIONS:
            return build_nothing(f"{len(showing.options)} options are too many for a window")
        nonce = secrets.token_hex(16)
        began = self._monotonic()
        try:
            ended, said = self._run(showing, nonce)
        except (OSError, ValueError) as error:
            return build_nothing(f"{tool.name} cannot be started: {error}")
        if ended is None:
            return build_nothing(said)
        reply = tool.read(showing, ended, nonce)
        if reply.outcome == VALUE:
            if self._monotonic() - began < _HASTY_SECONDS and not tool.takes_all:
                kept = reply.value if showing.kind == AskKind.TEXT else ""
                return build_nothing("the answer came too fast to have read the question", kept)
            return reply
        return reply._replace(why=f"{reply.why}{said}") if reply.why else reply

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._process:
                self._end(self._process)

    def _run(self, showing: Showing, nonce: str) -> tuple[Ended | None, str]:
        tool = self._tool
        line = tool.feed(showing, nonce)
        their_end, our_end = os.pipe()
        with _Descriptor(our_end):
            with _Descriptor(their_end), self._lock:
                if self._closed:
                    return None, "the window was closed before it was shown"
                process = self._process = subprocess.Popen(
                    tool.command(showing, nonce),
                    # Not the agent's folder: no program may be found there by its name.
                    cwd=os.path.expanduser("~"),
                    env=self._environ,
                    stdin=None if tool.at_terminal else their_end if line else subprocess.DEVNULL,
                    stdout=None if tool.at_terminal else subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=not tool.at_terminal,
                )
                watcher = None if line else _watch(process.pid, their_end)
            try:
                return self._wait(process, showing, _Feed(our_end, line))
            finally:
                if watcher:
                    _dismiss(watcher, our_end)

    def _wait(
        self, process: subprocess.Popen[bytes], showing: Showing, feed: _Feed
    ) -> tuple[Ended | None, str]:
        left = showing.left_seconds
        limit = None if left is None else max(0.0, left) + _GRACE_SECONDS
        is_late = False
        feed.start()
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            is_late = True
            self._end(process)
            out, err = process.communicate()
        finally:
            # In any case, no window stays open without a reader.
            self._end(process)
            process.wait()
            feed.join()
        # An answer given just before still counts.
        if self._closed and process.returncode < 0:
            return None, CLOSED_BY_US
        if is_late:
            return None, "the time is over"
        text = (err if self._tool.at_terminal else out).decode("utf-8", "replace")
        said = "" if self._tool.at_terminal else _read_last_line(err)
        return Ended(process.returncode, text), said

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is not None:
            return
        # Terminate first: it may still return a draft, or restore its terminal.
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS_WITHIN_SECONDS)
        if self._tool.at_terminal:
            process.kill()
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _watch(pid: int, their_end: int) -> subprocess.Popen[bytes] | None:
    """Start a process that ends the dialog if we are killed; most dialogs do not notice."""
    with suppress(OSError):
        return subprocess.Popen(
            [*_WATCH, str(pid)],
            cwd="/",
            env={},
            stdin=their_end,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return None


def _dismiss(watcher: subprocess.Popen[bytes], our_end: int) -> None:
    with suppress(OSError):
        os.write(our_end, b"\n")
    watcher.wait()


class _Feed(threading.Thread):
    """Writes on a thread: a program that does not read must not block us."""

    def __init__(self, descriptor: int, line: str) -> None:
        super().__init__(name="dialog-feed", daemon=True)
        self._descriptor = descriptor
        self._line = line.encode()

    def run(self) -> None:
        rest = self._line
        # A program that has ended reads nothing; its exit code shows that.
        with suppress(OSError):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]


class _Descriptor:
    """Closes a file descriptor at the end of a block."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _read_last_line(err: bytes) -> str:
    lines = err.decode("utf-8", "replace").strip().splitlines()
    return f" ({inert_line(lines[-1], 200)})" if lines else ""


def describe_odd_end(ended: Ended) -> Reply:
    """Return the reply for a program that ended without one."""
    if ended.code < 0:
        return build_nothing(f"the window was ended by signal {-ended.code}")
    return build_nothing("the window was closed, or could not be shown")
