"""The engines whose flows are measured, and their processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from bench import stores
from bench.environments import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOK_SECONDS = 0.005
_TAIL_BYTES = 4096
_HERE = os.path.dirname(os.path.abspath(__file__))
_RIVALS = os.path.join(_HERE, "rivals")


class Contestant(NamedTuple):
    """An engine, and the command that starts its side of the measurement."""

    name: str
    versions: str
    python: str
    program: tuple[str, ...]
    worker: tuple[str, ...] = ()
    """The program of the engine that holds the waiting runs, if it has one."""
    answers_itself: bool = False
    """Whether an answer must be given to the process that resumes the run."""

    store: str = ""
    """`postgres`, if it keeps its runs there."""
    engine: str = ""
    """The engine to which our store hands its runs."""
    uses_temporal: bool = False
    keeps_its_runs: bool = False
    """Whether a run belongs to the process that began it, also while it waits."""

    def command(self, verb: str, folder: str, *numbers: int) -> list[str]:
        if verb == "serve" and self.worker:
            return [self.python, *self.worker]
        return [self.python, *self.program, verb, folder, *map(str, numbers)]


def ours() -> Contestant:
    program, worker = ("-m", "bench.our_flow"), ("-m", "gatebell", "worker")
    return Contestant("gatebell", "", sys.executable, program, worker)


def rivals() -> list[Contestant]:
    """Return the engines that could be installed; the others are left out of the tables."""
    found = []
    if made := environment("dbos", ("dbos",)):
        program = (os.path.join(_RIVALS, "dbos_flow.py"),)
        found.append(Contestant("DBOS", made.versions, made.python, program))
    if made := environment("langgraph", ("langgraph", "langgraph-checkpoint-sqlite")):
        program = (os.path.join(_RIVALS, "langgraph_flow.py"),)
        found.append(
            Contestant("LangGraph", made.versions, made.python, program, answers_itself=True)
        )
    return found


def our_engines() -> list[Contestant]:
    """Return our engines, each on a store that it is made for; the default of a team comes first."""
    base = ours()
    postgres = base._replace(store="postgres")
    return [
        postgres._replace(name="gatebell, procrastinate", engine="procrastinate"),
        postgres._replace(name="gatebell, temporal", engine="temporal", uses_temporal=True),
        postgres._replace(name="gatebell, local on PostgreSQL"),
        base._replace(name="gatebell, local on SQLite"),
    ]


def other_engines() -> list[Contestant]:
    """Return the engines for several hosts that could be installed."""
    found = []
    if made := environment("dbos", ("dbos",)):
        program = (os.path.join(_RIVALS, "dbos_flow.py"),)
        side = Contestant("DBOS on PostgreSQL", made.versions, made.python, program)
        found.append(side._replace(store="postgres", keeps_its_runs=True))
    if made := environment("temporal", ("temporalio",)):
        program = (os.path.join(_RIVALS, "temporal_flow.py"),)
        side = Contestant("Temporal workflows", made.versions, made.python, program)
        found.append(side._replace(uses_temporal=True))
    return found


class NotReachedError(Exception):
    """A process did not reach a point; the message says why, in a few words for a table."""


class Child(NamedTuple):
    """A process of a contestant, its output, and the file where its steps append their lines."""

    process: subprocess.Popen[str]
    said: str
    ledger: str

    def tell(self, number: int) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()

    def hear(self, seconds: float) -> str:
        """Return its first line of output."""
        return self._find(self.said, "", seconds)

    def confirm(self, number: int, seconds: float) -> None:
        """Wait until it has answered this run."""
        self._find(self.said, f"answered {number}\n", seconds)

    def resumed_at(self, number: int, seconds: float) -> float:
        """Return the moment at which the second step of a run began."""
        return float(self._find(self.ledger, f"second {number} ", seconds).split()[-1])

    def _find(self, path: str, beginning: str, seconds: float) -> str:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for line in _tail(path):
                if line.startswith(beginning) and line.endswith("\n"):
                    return line.strip()
            if self.process.poll() is not None:
                print(*_tail(f"{self.said}.errors"), sep="", file=sys.stderr)
                raise NotReachedError("ended by itself")
            time.sleep(_LOOK_SECONDS)
        raise NotReachedError(f"not within {seconds:.0f} s")


@contextmanager
def start_side(
    side: Contestant, folder: str, verb: str, *numbers: int, name: str = "", **more: str
) -> Iterator[Child]:
    """Start a process of this side, with more variables; it ends by kill −9.

    Processes of the same verb that run at the same time need names.
    """
    said = os.path.join(folder, f"{name or verb}.said")
    environ = stores.environment(os.path.join(folder, "gate.db")) | more
    path = filter(None, [os.path.dirname(_HERE), environ.get("PYTHONPATH")])
    with open(said, "wb") as file, open(f"{said}.errors", "wb") as errors:
        process = subprocess.Popen(
            side.command(verb, folder, *numbers),
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=errors,
            text=True,
            cwd=folder,
            env=environ | {"PYTHONPATH": os.pathsep.join(path)},
        )
    try:
        yield Child(process, said, os.path.join(folder, "ledger"))
    finally:
        process.kill()
        process.communicate()


def _tail(path: str) -> list[str]:
    """Read the last lines of a file that grows line by line."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - _TAIL_BYTES))
            return file.read().decode(errors="replace").splitlines(keepends=True)
    except FileNotFoundError:
        return []
