"""Handing the terminal to another program, and taking it back whatever becomes of that."""

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
# A program that was killed could not put the screen back: normal buffer, no mouse, no news of
# focus, colours or pasting, no keyboard protocol, a cursor, plain colours, no title.
_MODES = (1047, 1000, 1002, 1003, 1006, 1007, 1016, 1004, 2004, 2026, 2031)
_PLAIN_SCREEN = (
    "".join(f"\x1b[?{mode}l" for mode in _MODES) + "\x1b[<u\x1b[>4m\x1b[?25h\x1b[0m\x1b]0;\a\r\n"
)


class Program:
    """A program in the foreground, for whoever looks after it on another thread."""

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
        """Have it ended: it is asked, and must after some seconds."""
        with self._lock:
            if not self.over:
                self.why = why
                # The thread that waits for it passes this on.
                signal.pthread_kill(self._main, signal.SIGTERM)

    def is_over(self) -> None:
        with self._lock:
            self._over.set()


def must_be_a_terminal() -> None:
    if not (can_prompt() and _is_our_own(sys.stdin.fileno())):
        raise UsageError(
            "there is no terminal here in which a session could be opened: run this in your own, "
            "or answer with gate answer"
        )


def _is_our_own(terminal: int) -> bool:
    """Whether it is the one that this process listens to: no other can be handed on."""
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
    """Run a program in the foreground of this terminal, until it ends.

    It is a job of its own, as a shell would start it: Ctrl+C and resizing reach it alone, and
    Ctrl+Z stops both until the shell brings them back. `beside` looks after it meanwhile. It
    inherits the descriptors of `proof`: what they lock stays locked while the program lives.
    """
    # When this process is killed, the program is told that its terminal is gone.
    guard = shutil.which("setpriv")
    tied = [guard, "--pdeathsig", "HUP"] if guard else []
    terminal = sys.stdin.fileno()
    with _taken_back(terminal) as before:
        try:
            process = subprocess.Popen(
                [*tied, *words],
                env=dict(environ),
                cwd=cwd,
                process_group=0,
                pass_fds=proof,
                # One thread is here, and the program must have the terminal before it begins.
                preexec_fn=lambda: _step_forward(terminal, os.getpid()),  # noqa: PLW1509
            )
        except OSError as error:
            name = error.filename or words[0]
            raise MissingAgentError(f"{name} cannot be started: {error.strerror}") from None
        found = environment.identify(process.pid)
        assert found, "a child keeps its number until it was asked how it ended"
        program = Program(found)
        with _forward_signals(process.pid) as told:
            if beside:
                _start_beside(beside, program)
            code = _wait(process.pid, terminal, before)
            program.is_over()
        process.returncode = code
    if code:
        sys.stdout.write(_PLAIN_SCREEN)
        sys.stdout.flush()
    return ProgramEnd(code, found, program.why, 0 if program.why or not told else told[0])


def _start_beside(beside: Callable[[Program], None], program: Program) -> None:
    # Signals are for the thread that waits: what another took would wake nobody.
    held = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    threading.Thread(target=beside, args=(program,), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, held)


@contextmanager
def _taken_back(terminal: int) -> Iterator[list[Any]]:
    """Afterwards this process has the terminal again, as it was before; yields how that is."""
    before, group = termios.tcgetattr(terminal), os.tcgetpgrp(terminal)
    try:
        yield before
    finally:
        # A terminal that is gone cannot be taken back.
        with suppress(OSError, termios.error):
            _step_forward(terminal, group)
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _step_forward(terminal: int, group: int) -> None:
    """Make a group of processes the one that the terminal listens to."""
    # Whoever is not in front may not say so, unless the signal that stops them is held back.
    held = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        os.tcsetpgrp(terminal, group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


@contextmanager
def _forward_signals(group: int) -> Iterator[list[int]]:
    """Who ends this process ends the program; first it is asked, then it must.

    Yields the signals that were passed on.
    """
    told: list[int] = []

    def ask(number: int, _: Any) -> None:
        told.append(number)
        with suppress(ProcessLookupError):
            os.killpg(group, number)
            os.killpg(group, signal.SIGCONT)
        signal.alarm(_LEAVE_SECONDS)

    def must(*_: Any) -> None:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)

    asked = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, ask) for number in asked}
    before[signal.SIGALRM] = signal.signal(signal.SIGALRM, must)
    try:
        yield told
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
            _step_back(pid, terminal, before)


def _step_back(group: int, terminal: int, before: list[Any]) -> None:
    """The program was stopped: so are we, until the shell wants us both again."""
    its = termios.tcgetattr(terminal)
    ours = os.getpgrp()
    _step_forward(terminal, ours)
    termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    # Where no shell would bring us back, the kernel does not stop us.
    os.killpg(ours, signal.SIGTSTP)
    termios.tcsetattr(terminal, termios.TCSADRAIN, its)
    _step_forward(terminal, group)
    os.killpg(group, signal.SIGCONT)
