"""Show runs and asks on one live screen: look, answer, open sessions, stop runs.

Bare `gate` opens it, too, in a terminal, if Textual is installed and there are runs.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.identity import add_identity, open_backend, repeat_identity
from gatebell.errors import UsageError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add_identity(parser)


def run(args: argparse.Namespace) -> int:
    if not _is_installed():
        raise UsageError("the TUI needs textual; run: pip install 'gatebell[tui]'")
    if not _is_a_terminal():
        raise UsageError("the TUI needs a terminal; use gate list and gate inbox instead")
    backend, who = open_backend(args)
    # By name: one face must not import another.
    return int(import_module("gatebell.tui.app").run(backend, who, repeat_identity(args)))


def is_wanted() -> bool:
    """Return whether bare `gate` opens it: in a terminal, if installed, and if there are runs."""
    return _is_a_terminal() and _is_installed() and bool(wiring.open_backend().runs(1))


def _is_a_terminal() -> bool:
    is_one = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    return is_one and os.environ.get("TERM", "dumb") != "dumb"


def _is_installed() -> bool:
    # Imported here: only bare `gate` and `gate tui` need it.
    from importlib.util import find_spec

    return find_spec("textual") is not None
