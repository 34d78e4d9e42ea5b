"""Runs and asks on one screen, live: look at them, answer, open sessions, stop runs.

Bare `gate` opens it, too, in a terminal where Textual is installed and there are runs.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.identity import add_identity, again, caller
from gatebell.errors import UsageError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add_identity(parser)


def run(args: argparse.Namespace) -> int:
    if not _is_installed():
        raise UsageError("the TUI needs textual: pip install 'gatebell[tui]'")
    if not _is_a_terminal():
        raise UsageError("there is no terminal here: gate list and gate inbox print what it shows")
    store = wiring.open_store()
    who = caller(store, args)
    # By its name: faces do not see each other.
    return int(import_module("gatebell.tui.app").run(store, who, again(args)))


def is_wanted() -> bool:
    """Whether bare `gate` opens it: somebody sees it, it is installed, and there are runs."""
    return _is_a_terminal() and _is_installed() and bool(wiring.open_store().runs.newest(1))


def _is_a_terminal() -> bool:
    is_one = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    return is_one and os.environ.get("TERM", "dumb") != "dumb"


def _is_installed() -> bool:
    # Imported here: only whoever opens it must know.
    from importlib.util import find_spec

    return find_spec("textual") is not None
