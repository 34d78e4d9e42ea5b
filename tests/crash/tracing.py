"""System calls, traced and spoilt with strace."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import NamedTuple

import pytest
from nursery import HungError

needs_strace = pytest.mark.skipif(
    not shutil.which("strace"), reason="strace is not installed: no crash point was tried"
)

_CALL = re.compile(r"\d+ +(\w+)\((.*)")
_FILE = re.compile(r"^\d+<([^>]*)>")


class Call(NamedTuple):
    """The nth call of this name since the tracer attached."""

    name: str
    nth: int
    rest: str

    @property
    def file(self) -> str:
        """Return the number and path of the open file that is its first argument."""
        found = _FILE.match(self.rest)
        return found[0] if found else ""

    @property
    def path(self) -> str:
        return self.file.partition("<")[2].removesuffix(">")

    @property
    def acknowledges(self) -> bool:
        return self.name == "write" and self.rest.startswith("1<") and '"ACK ' in self.rest

    @property
    def starts(self) -> bool:
        return self.name == "read" and self.rest.startswith("0<") and '"g"' in self.rest

    @property
    def spoilt(self) -> bool:
        return self.rest.endswith("(INJECTED)")


class Tracer:
    """strace, attached to a process that waits for its starting byte."""

    def __init__(self, pid: int, trace: str, *options: str) -> None:
        self._trace = trace
        self._strace = subprocess.Popen(
            ["strace", "-f", "-y", "-o", trace, *options, "-p", str(pid)],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._strace.stderr
        said = self._strace.stderr.readline()
        if "attached" not in said:
            raise HungError(f"strace cannot attach: {said}")

    def calls(self) -> list[Call]:
        """Return every call of the process, which has ended or soon does."""
        self._strace.communicate(timeout=60)
        with open(self._trace, encoding="utf-8", errors="replace") as file:
            return parse(file.read())


def parse(trace: str) -> list[Call]:
    counts: dict[str, int] = {}
    found = []
    for line in trace.splitlines():
        if call := _CALL.match(line):
            name, rest = call.groups()
            counts[name] = counts.get(name, 0) + 1
            found.append(Call(name, counts[name], rest))
    return found


def since_start(calls: list[Call]) -> list[Call]:
    """Return the calls after the starting byte."""
    return calls[next(at for at, call in enumerate(calls, 1) if call.starts) :]


def until_acknowledged(calls: list[Call]) -> list[Call]:
    """Return the calls up to the acknowledgement, which is included."""
    return calls[: next(at for at, call in enumerate(calls, 1) if call.acknowledges)]
