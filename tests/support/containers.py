"""A process in a container of its own, with its own process numbers."""

from __future__ import annotations

import subprocess
import sys

import pytest

_UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


def _find() -> list[str] | None:
    for words in (_UNSHARE, [*_UNSHARE, "--map-root-user"]):
        try:
            done = subprocess.run([*words, "true"], capture_output=True, check=False)
        except FileNotFoundError:
            return None
        if done.returncode == 0:
            return words
    return None


class Container:
    """Python code that runs in a container until it is killed; its first line says that it works."""

    def __init__(self, code: str, *words: str) -> None:
        unshare = _find()
        if unshare is None:
            pytest.skip("unshare is not installed or not permitted: no container was tried")
        self._process = subprocess.Popen(
            [*unshare, sys.executable, "-c", code, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        self.said = self._process.stdout.readline().strip()

    def kill(self) -> None:
        """Kill the container, and wait for the end of its pipe, which its last process closes."""
        self._process.kill()
        self._process.communicate()
