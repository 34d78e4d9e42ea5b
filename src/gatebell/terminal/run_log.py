"""The log of a run: what its agents and its flow wrote."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gatebell.app import runtime

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store

_MAX_BYTES = 1_000_000


class Said(NamedTuple):
    """One line of a run's log."""

    at: str
    path: str
    who: str
    text: str


class LogReader:
    """Reads the log of a run, each time from the place where it stopped before."""

    def __init__(self, store: Store, run: Run, *, from_end: bool = False) -> None:
        self._path = runtime.run_log_path(store, run)
        self._rest = b""
        self._read_bytes = 0
        if from_end and os.path.exists(self._path):
            self._read_bytes = os.path.getsize(self._path)

    def read(self) -> list[Said]:
        """Return the next lines, at most a part of them; a line without its end is left."""
        lines: list[bytes] = []
        with suppress(FileNotFoundError), open(self._path, "rb") as file:
            file.seek(self._read_bytes)
            while not lines and (new := file.read(_MAX_BYTES)):
                self._read_bytes += len(new)
                *lines, self._rest = (self._rest + new).split(b"\n")
        return [_parse_log_line(line.decode("utf-8", "replace")) for line in lines]


def _parse_log_line(line: str) -> Said:
    at, path, who, text = (*line.split(" ", 3), "", "", "")[:4]
    return Said(at, path, who, text.removeprefix(" "))
