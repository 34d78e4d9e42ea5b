"""The gate under test: our own, or that of another project, which an adapter file describes."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gatebell.errors import UsageError
from gatebell.install import plans, settings_files
from gatebell.install.default_gates import Rules
from gatebell.install.held_tools import DAY_SECONDS, GUARD_ENDS_AT
from gatebell.install.hold_test.faults import SLOW_SECONDS
from gatebell.install.hold_test.rows import NOT_ENFORCED, Row
from gatebell.install.places import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from gatebell.install.rehearsal import Person, Stage

EFFECT = "tool-ran"
"""The file that the held call makes."""
_PATTERN = f"Bash(touch {EFFECT}:*)"
_INSTALL_SECONDS = 60


class GatePerson(Protocol):
    """A person in the temporary inbox who can also set gates."""

    def answer(self, yes: bool, while_: Callable[[], bool]) -> bool:
        """Answer every question; False if there was none."""

    def set_gates(self, patterns: Sequence[str]) -> None:
        """Set the gates of the store."""


class Gate(Protocol):
    """What a trial needs to know about a gate."""

    @property
    def name(self) -> str:
        """The name and the version."""

    @property
    def program(self) -> str:
        """The path of the program that its hooks start."""

    @property
    def hook_word(self) -> str:
        """Only starts with this argument are broken; empty: all."""

    @property
    def command(self) -> str:
        """The shell command that it holds; it makes the file EFFECT."""

    @property
    def wait_seconds(self) -> float:
        """A call without an answer is held if it has not run after so long."""

    def why_untried(self, host: str, row: Row) -> str:
        """Return why a row cannot be tried; empty if it can."""

    def why_not_enforced(self, host: str, row: Row) -> str:
        """Return why a row is not promised to hold; empty if it is."""

    def install(self, stage: Stage, host: str, program: str) -> Person | None:
        """Install it into the home of the stage; return the person who answers, if there is one."""

    def break_around(self, stage: Stage, host: str, row: Row) -> AbstractContextManager[object]:
        """Break what is around the program, while the host runs."""


class OwnGate(NamedTuple):
    """The gate of this project, installed as `gate install` does."""

    name: str
    program: str
    open_person: Callable[[str], GatePerson]
    """Returns a person for the store at a path."""
    lock: Callable[[str], AbstractContextManager[object]]
    """Lets no other process write into the store at a path."""
    hook_word: str = "hook"
    command: str = f"touch {EFFECT}"
    wait_seconds: float = 120.0

    def why_untried(self, host: str, row: Row) -> str:
        return "" if host in plans.HOSTS else f"gate install does not know {host}"

    def why_not_enforced(self, host: str, row: Row) -> str:
        return NOT_ENFORCED.get((host, row), "")

    def install(self, stage: Stage, host: str, program: str) -> Person | None:
        person = self.open_person(stage.environ["GATE_STORE"])
        person.set_gates([_PATTERN])
        rules = Rules((_PATTERN,))
        plans.carry_out(plans.install(host, Place("", stage.environ), program, rules))
        return person

    @contextmanager
    def break_around(self, stage: Stage, host: str, row: Row) -> Iterator[None]:
        if row == Row.SLOW:
            _shorten_limits(host, stage)
        if row == Row.SERVER_DEAD:
            del stage.environ["GATE_STORE"]
            address = f"http://127.0.0.1:{_find_closed_port()}"
            stage.environ.update({"GATE_SERVER": address, "GATE_TOKEN": "of-a-dead-server"})
        if row == Row.STORE_LOCKED:
            with self.lock(stage.environ["GATE_STORE"]):
                yield
        else:
            yield


def _shorten_limits(host: str, stage: Stage) -> None:
    """Give the host, and the guard around the hook, a limit of two seconds instead of a day."""
    installed = plans.read_installed(host, Place("", stage.environ))
    guard = DAY_SECONDS * GUARD_ENDS_AT // 100
    for written in installed.files if installed else ():
        words = settings_files.text_of(settings_files.read(written.path), written.path)
        words = words.replace(str(guard), str(SLOW_SECONDS * GUARD_ENDS_AT / 100))
        words = words.replace(str(DAY_SECONDS), str(SLOW_SECONDS))
        settings_files.write(written.path, words.encode())


def _find_closed_port() -> int:
    with socket.socket() as any_socket:
        any_socket.bind(("127.0.0.1", 0))
        return int(any_socket.getsockname()[1])


class OtherGate(NamedTuple):
    """The gate of another project: shell lines of its adapter file."""

    name: str
    program: str
    install_line: str
    hook_word: str = ""
    command: str = f"touch {EFFECT}"
    wait_seconds: float = 20.0
    prepare: Mapping[str, str] = {}
    """A shell line for each row that needs more than another program."""
    not_enforced: Sequence[str] = ()

    def why_untried(self, host: str, row: Row) -> str:
        if row in (Row.ANSWER_YES, Row.ANSWER_NO):
            return "no person answers for the gate of another project"
        if row in (Row.SLOW, Row.SERVER_DEAD, Row.STORE_LOCKED) and row not in self.prepare:
            return f"the adapter file has no line for {row} in [prepare]"
        return ""

    def why_not_enforced(self, host: str, row: Row) -> str:
        return "the adapter file says so" if row in self.not_enforced else ""

    def install(self, stage: Stage, host: str, program: str) -> Person | None:
        self._run(self.install_line, stage, host)
        return None

    def break_around(self, stage: Stage, host: str, row: Row) -> AbstractContextManager[object]:
        if row in self.prepare:
            self._run(self.prepare[row], stage, host)
        return nullcontext()

    def _run(self, line: str, stage: Stage, host: str) -> None:
        program = stage.path("bin", os.path.basename(self.program))
        words = fill(line, stage, host=host, program=program)
        ran = subprocess.run(
            ["/bin/sh", "-c", words], env=stage.environ, cwd=stage.path("work"),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_INSTALL_SECONDS, check=False,
        )  # fmt: skip
        if ran.returncode:
            said = (ran.stderr or ran.stdout).strip()[-500:]
            raise UsageError(f"{words!r} ended with exit code {ran.returncode}: {said}")


def fill(line: str, stage: Stage, **more: str) -> str:
    """Return a shell line of an adapter file with the values of a trial, quoted."""
    values = {"home": stage.path("home"), "work": stage.path("work"), "model": stage.model} | more
    for name, value in values.items():
        line = line.replace(f"{{{name}}}", shlex.quote(value))
    return line
