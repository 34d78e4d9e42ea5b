"""Give the terminal to another program, and take it back in every case."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import termios
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from gatebell.app import environment
from gatebell.cli.screen import can_prompt
from gatebell.errors import MissingAgentError, UsageError
from gatebell.services.sessions.visit_session import ProgramEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gatebell.domain.runs.identities import Identity

_LEAVE_SECONDS = 5
_PASSED_ON = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
# A killed program could not restore the screen: normal buffer, no mouse, no reports of focus,
# colours or pasting, no keyboard protocol, a visible cursor, plain colours, no title.
_MODES = (1047, 1000, 1002, 1003, 1006, 1007, 1016, 1004, 2004, 2026, 2031)
_PLAIN_SCREEN = (
    "".join(f"\x1b[?{mode}l" for mode in _MODES) + "\x1b[<u\x1b[>4m\x1b[?25h\x1b[0m\x1b]0;\a\r\n"
)


class Program:
    """A program in the foreground, as another thread watches it."""

    def __init__(self, process: Identity) -> None:
        self.process = process
        self.why = ""
        self._main = threading.get_ident()
        self._over = threading.Event()
        self._lock = threading.Lock()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def end(self, why: str) -> None:
        """End the program: it gets SIGTERM, and SIGKILL after some seconds."""
        with self._lock:
            if not self.over:
                self.why = why
                # The thread that waits for it passes this on.
                signal.pthread_kill(self._main, signal.SIGTERM)

    def is_over(self) -> None:
        with self._lock:
            self._over.set()


def must_be_a_terminal() -> None:
    if not (can_prompt() and _is_controlling(sys.stdin.fileno())):
        raise UsageError(
            "cannot open a session without a terminal; run this in your own terminal, "
            "or use gate answer"
        )


def _is_controlling(terminal: int) -> bool:
    """Return whether this is the process's controlling terminal; only that can be given away."""
    try:
        os.tcgetpgrp(terminal)
    except OSError:
        return False
    return True


def run(
    words: Sequence[str],
    environ: Mapping[str, str],
    cwd: str,
    beside: Callable[[Program], None] | None = None,
    proof: Sequence[int] = (),
) -> ProgramEnd:
    """Run a program in the foreground of this terminal until it ends.

    It is its own job, as a shell would start it: Ctrl+C and resizing reach only the program, and
    Ctrl+Z stops both until the shell continues them. `beside` watches it in another thread. It
    inherits the descriptors of `proof`, so their locks stay held while the program lives.
    """
    terminal = sys.stdin.fileno()
    with _restore_terminal(terminal) as before, _delay_signals() as mask:

        def prepare() -> None:
            _set_foreground(terminal, os.getpid())
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

        process = _start(words, environ, cwd, proof, prepare)
        found = environment.identify(process.pid)
        assert found, "a child keeps its pid until the parent waits for it"
        program = Program(found)
        with _forward_signals(process.pid) as forwarded:
            # A signal that came since the start is passed on now.
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            if beside:
                _start_beside(beside, program)
            code = _wait(process.pid, terminal, before)
            program.is_over()
        process.returncode = code
    if code:
        sys.stdout.write(_PLAIN_SCREEN)
        sys.stdout.flush()
    signalled = 0 if program.why or not forwarded else forwarded[0]
    return ProgramEnd(code, found, program.why, signalled)


def _start(
    words: Sequence[str],
    environ: Mapping[str, str],
    cwd: str,
    proof: Sequence[int],
    prepare: Callable[[], None],
) -> subprocess.Popen[bytes]:
    """Start the program as its own job; it calls `prepare` before its first instruction."""
    # If this process is killed, the program gets SIGHUP.
    guard = shutil.which("setpriv")
    tied = [guard, "--pdeathsig", "HUP"] if guard else []
    try:
        return subprocess.Popen(
            [*tied, *words],
            env=dict(environ),
            cwd=cwd,
            process_group=0,
            pass_fds=proof,
            # There is one thread here, and the program must have the terminal when it starts.
            preexec_fn=prepare,  # noqa: PLW1509
        )
    except OSError as error:
        name = error.filename or words[0]
        raise MissingAgentError(f"cannot start {name}: {error.strerror}") from None


def _start_beside(beside: Callable[[Program], None], program: Program) -> None:
    # Signals are for the waiting thread; if another thread got one, it would wake no thread.
    held = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    threading.Thread(target=beside, args=(program,), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, held)


@contextmanager
def _restore_terminal(terminal: int) -> Iterator[list[Any]]:
    """Give the terminal back to this process after the block; yield its settings before."""
    before, group = termios.tcgetattr(terminal), os.tcgetpgrp(terminal)
    try:
        yield before
    finally:
        # The terminal may be gone.
        with suppress(OSError, termios.error):
            _set_foreground(terminal, group)
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _set_foreground(terminal: int, group: int) -> None:
    """Make a process group the foreground group of the terminal."""
    # A background process may do this only while SIGTTOU is blocked.
    held = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        os.tcsetpgrp(terminal, group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


@contextmanager
def _delay_signals() -> Iterator[set[signal.Signals]]:
    """Block the signals that end this process; yield the mask before."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    try:
        yield {signal.Signals(number) for number in mask}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _forward_signals(group: int) -> Iterator[list[int]]:
    """Pass signals to this process on to the program, and kill it after some seconds.

    Yield the list of passed signals.
    """
    forwarded: list[int] = []

    def ask(number: int, _: Any) -> None:
        forwarded.append(number)
        with suppress(ProcessLookupError):
            os.killpg(group, number)
            os.killpg(group, signal.SIGCONT)
        signal.alarm(_LEAVE_SECONDS)

    def must(*_: Any) -> None:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)

    before = {number: signal.signal(number, ask) for number in _PASSED_ON}
    before[signal.SIGALRM] = signal.signal(signal.SIGALRM, must)
    try:
        yield forwarded
    finally:
        signal.alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(pid: int, terminal: int, before: list[Any]) -> int:
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        with suppress(OSError, termios.error):
            _stop_with_program(pid, terminal, before)


def _stop_with_program(group: int, terminal: int, before: list[Any]) -> None:
    """Stop this process after the program was stopped, until the shell continues both."""
    its = termios.tcgetattr(terminal)
    ours = os.getpgrp()
    _set_foreground(terminal, ours)
    termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    # Without a shell that could continue us, the kernel does not stop us.
    os.killpg(ours, signal.SIGTSTP)
    termios.tcsetattr(terminal, termios.TCSADRAIN, its)
    _set_foreground(terminal, group)
    os.killpg(group, signal.SIGCONT)
