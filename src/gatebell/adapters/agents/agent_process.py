"""Start an agent's program so that it can always be found and ended, with its children."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

from gatebell.adapters.agents import pipes
from gatebell.adapters.system import processes
from gatebell.adapters.system.secret_variables import remove_secrets
from gatebell.domain.people.principals import SIGNS
from gatebell.errors import GateError, MissingAgentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gatebell.ports.agents import Events, Order

MARK = "GATE_TURN"
# The shell waits for "go"; if this process dies first, the shell reads the end of file and exits.
_FRONT = ("/bin/sh", "-c", 'IFS= read -r go && [ "$go" = go ] && exec "$@"', "sh")
# Variables of other agents and other turns must not reach the agent.
_NOT_HANDED_ON = frozenset(
    [
        *(variable for sign in SIGNS for variable in sign.variables),
        *("CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH"),
        *("CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_PID"),
        *("CLAUDE_CODE_SESSION_ATTENDED", "CODEX_CI", "CODEX_VERSION"),
        *("GATE_SIGNAL_FILE", "GATE_SESSION", "GATE_FRESH", MARK),
        # An agent of a run asks in the store of its run.
        *("GATE_SERVER", "GATE_CA"),
    ]
)
_LEAVE_SECONDS = 5.0
# More than a model accepts at once; agents write whole files that they read as one line.
_MAX_LINE_BYTES = 32_000_000
_MAX_WAITING_CHUNKS = 16
_MAX_COMPLAINTS_BYTES = 4_000


def build_environ(order: Order) -> dict[str, str]:
    """Return the environment of an agent: our variables, and those of the order."""
    return filter_environ(order.environ) | {MARK: order.turn_id}


def filter_environ(told: Mapping[str, str]) -> dict[str, str]:
    """Return our variables that an agent may see, and the given ones."""
    ours = remove_secrets(os.environ)
    return {name: ours[name] for name in ours if name not in _NOT_HANDED_ON} | dict(told)


def find_program(word: str, order: Order, remedy: str) -> str:
    """Return the path of a program; a relative path starts at the project, not in the worktree."""
    if os.sep in word:
        path = os.path.join(order.project, word)
        if os.path.isabs(path) and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
        raise MissingAgentError(f"there is no program {path}: {remedy}")
    places = build_environ(order).get("PATH", os.defpath)
    if found := shutil.which(word, path=places):
        return os.path.abspath(found)
    raise MissingAgentError(f"{word} is not found in {places}: {remedy}")


@contextmanager
def launch_agent(words: list[str], order: Order, events: Events) -> Iterator[Agent]:
    """Run an agent's program in its own process session, and end it on exit.

    The program begins after `events.starting` has returned. Exit on the thread that entered: with
    `setpriv`, the kernel ends the agent together with that thread.
    """
    if not os.path.isdir(order.cwd):
        raise GateError(f"there is no folder {order.cwd} for {order.role.name} to work in")
    guard = shutil.which("setpriv")
    tied = [guard, "--pdeathsig", "KILL"] if guard else []
    process = subprocess.Popen(
        [*tied, *_FRONT, *words],
        cwd=order.cwd,
        env=build_environ(order),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    agent = Agent(process, order)
    try:
        events.starting(str(agent.identity))
        agent.begin()
        yield agent
    finally:
        agent.close()
    if agent.stopped_by:
        raise agent.stopped_by


class Agent:
    """A program that was launched: its input, its output and its working time."""

    def __init__(self, process: subprocess.Popen[bytes], order: Order) -> None:
        found = processes.identify(process.pid)
        # A child keeps its number until its parent has read its exit code.
        assert found, "our child process is missing"
        assert process.stdin
        assert process.stdout
        assert process.stderr
        self.identity = found
        self.stopped_by: BaseException | None = None
        """An error of another thread, to raise in the thread that launched the agent."""
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._process = process
        self._order = order
        self._over = pipes.Over()
        self._sender = pipes.Sender(self._stdin.fileno(), self._over)
        # When the queue is full, the output stays in the pipe, and the agent waits.
        self._heard: queue.Queue[bytes] = queue.Queue(_MAX_WAITING_CHUNKS)
        self._heard_all = False
        self._complaints = bytearray()
        self._passed_limit = False
        self._passed_line = False
        self._leave_by: float | None = None
        self._sent_away = False
        self._clock = _WorkingTime(order.role.limit_seconds, self._too_long)
        self._beside = [
            _start_thread(self._read),
            _start_thread(self._read_complaints),
            _start_thread(self._write),
        ]
        self._watcher = _start_thread(self._watch)

    def begin(self) -> None:
        """Let the program run."""
        self.send(b"go\n")
        self._clock.start()

    def send(self, text: bytes) -> None:
        """Queue text for its standard input; if it has ended, do nothing."""
        self._sender.send(text)

    def finish(self) -> None:
        """Declare that nothing more will be sent."""
        self._sender.finish()

    def dismiss(self) -> None:
        """Its turn is over: give it a moment to end by itself, then end it."""
        self._clock.stop()
        self.finish()
        self._leave_by = time.monotonic() + _LEAVE_SECONDS

    def lines(self, most_bytes: int = _MAX_LINE_BYTES) -> Iterator[bytes]:
        """Return the lines of its output until it ends; a line that is too long comes in pieces."""
        return pipes.split_lines(iter(self._hear, b""), most_bytes)

    def whole_lines(self) -> Iterator[bytes]:
        """Return the lines like `lines`, but end the program at a line that is too long."""
        for line in self.lines():
            if len(line) > _MAX_LINE_BYTES and not self._passed_line:
                self._passed_line = True
                self.end()
            elif not self._passed_line:
                yield line

    def _hear(self) -> bytes:
        while not self._heard_all:
            left = None if self._leave_by is None else self._leave_by - time.monotonic()
            if left is not None and left <= 0:
                self._leave_by, self._sent_away = None, True
                self.end()
                continue
            with suppress(queue.Empty):
                some = self._heard.get(timeout=left)
                self._heard_all = not some
                return some
        return b""

    def pause(self) -> None:
        """Stop the clock while the agent waits for a person; each call needs one `go_on`."""
        self._clock.pause()

    def go_on(self) -> None:
        self._clock.go_on()

    def stop(self, error: BaseException) -> None:
        """End it, and raise this error in the thread that launched it; for other threads."""
        self.stopped_by = self.stopped_by or error
        self.end()

    def end(self) -> None:
        processes.end(self.identity, (MARK, self._order.turn_id))

    def problem(self) -> str:
        """Return why it failed, or ""; call it after the last of `lines`."""
        if self._passed_limit:
            limit = self._order.role.limit_seconds
            return f"It was ended because it worked longer than its limit of {limit:g} seconds."
        if self._passed_line:
            most = _MAX_LINE_BYTES // 1_000_000
            return f"It was ended because it wrote a line of more than {most} MB."
        code = self._process.returncode
        if not code or self._sent_away:
            return ""
        how = f"with exit code {code}" if code > 0 else f"by {signal.Signals(-code).name}"
        said = self._complaints.decode(errors="replace").strip()
        return f"It ended {how}: {said}" if said else f"It ended {how} and printed no error."

    def close(self) -> None:
        self._clock.stop()
        self.end()
        if processes.lives(self.identity):
            raise GateError(
                f"process {self.identity.pid} of {self._order.role.name} did not end after it "
                "was killed: find the cause, and end it before the run goes on"
            )
        while self._hear():
            pass
        self._watcher.join()

    def _read(self) -> None:
        with self._stdout as pipe:
            for some in pipes.read(pipe.fileno(), self._over):
                self._heard.put(some)

    def _read_complaints(self) -> None:
        with self._stderr as pipe:
            for some in pipes.read(pipe.fileno(), self._over):
                self._complaints += some
                del self._complaints[:-_MAX_COMPLAINTS_BYTES]

    def _write(self) -> None:
        with self._stdin:
            self._sender.work()

    def _watch(self) -> None:
        # Until its exit code is read, its number still belongs to it and its group.
        _await_end(self._process.pid)
        try:
            self.end()
        finally:
            self._process.wait()
            self._over.come()
            self._sender.finish()
            for thread in self._beside:
                thread.join()
            self._over.close()
            self._heard.put(b"")

    def _too_long(self) -> None:
        self._passed_limit = True
        self.end()


def _await_end(pid: int) -> None:
    """Wait until a child has ended; do not read its exit code yet."""
    # On macOS, Python has waitid from 3.13 on.
    if sys.platform == "darwin" and not hasattr(os, "waitid"):
        import select

        kinds = select.KQ_EV_ADD | select.KQ_EV_ONESHOT
        ends = select.kevent(pid, select.KQ_FILTER_PROC, kinds, select.KQ_NOTE_EXIT)
        # A process that has ended already is not found.
        with closing(select.kqueue()) as queue, suppress(ProcessLookupError):
            queue.control([ends], 1)
        return
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


class _WorkingTime:
    """Counts the time in which the agent works and waits for no person."""

    def __init__(self, limit_seconds: float | None, used_up: Callable[[], None]) -> None:
        self._left = limit_seconds
        self._used_up = used_up
        self._waits = 0
        self._stopped = False
        self._changed = threading.Condition()

    def start(self) -> None:
        if self._left is not None:
            _start_thread(self._count)

    def pause(self) -> None:
        with self._changed:
            self._waits += 1
            self._changed.notify()

    def go_on(self) -> None:
        with self._changed:
            self._waits -= 1
            self._changed.notify()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def _count(self) -> None:
        assert self._left is not None
        with self._changed:
            while self._waits or self._left > 0:
                began = time.monotonic()
                counts = not self._waits
                self._changed.wait(self._left if counts else None)
                if self._stopped:
                    return
                if counts:
                    self._left -= time.monotonic() - began
        self._used_up()


def _start_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread
