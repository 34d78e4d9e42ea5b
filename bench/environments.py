"""Separate interpreters for the programs of others, made once and kept in the user's cache."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

INSTALL_WITHIN_SECONDS = 600.0

_CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
_VERSIONS = """
import importlib.metadata, sqlite3, sys
told = [f"{name} {importlib.metadata.version(name)}" for name in sys.argv[1:]]
print(", ".join([*told, f"SQLite {sqlite3.sqlite_version}"]))
"""


class Environment(NamedTuple):
    """An interpreter with packages, and the versions that it reports itself."""

    python: str
    versions: str


def environment(name: str, packages: tuple[str, ...]) -> Environment | None:
    """Return the environment with these packages, or None after a printed sentence."""
    folder = f"{name}-python{sys.version_info.major}.{sys.version_info.minor}"
    path = os.path.join(_CACHE, "gatebell-bench", folder)
    python = os.path.join(path, "bin", "python")
    try:
        if not os.path.exists(python):
            _run([sys.executable, "-m", "venv", path])
        # Quick when everything is there; it also completes an interrupted installation.
        _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
        return Environment(python, _run([python, "-c", _VERSIONS, *packages]).strip())
    except (OSError, subprocess.SubprocessError) as error:
        told = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1:]
        print(f"{name} cannot be installed, so it has no row: {''.join(told)}", file=sys.stderr)
        return None


def _run(words: list[str]) -> str:
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, timeout=INSTALL_WITHIN_SECONDS
    )
    return done.stdout
