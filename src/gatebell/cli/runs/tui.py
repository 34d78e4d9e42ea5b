"""Show what waits for you, runs, tasks and history: look, answer, open sessions, stop runs.

Bare `gate` opens it, too, in a terminal.

Example: gate tui
Example: gate
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from gatebell.cli.identity import add_identity, open_backend, repeat_identity
from gatebell.errors import UsageError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add_identity(parser)


def run(args: argparse.Namespace) -> int:
    if not _is_a_terminal():
        raise UsageError("the TUI needs a terminal; use gate list and gate inbox instead")
    # A line on stderr would be drawn over the screen.
    backend, who = open_backend(args, has_notices=False)
    # By name: one face must not import another.
    return int(import_module("gatebell.tui.app").run(backend, who, repeat_identity(args)))


def is_wanted() -> bool:
    """Return whether bare `gate` opens it: in every terminal that can show it."""
    return _is_a_terminal()


def _is_a_terminal() -> bool:
    is_one = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    return is_one and os.environ.get("TERM", "dumb") != "dumb"
