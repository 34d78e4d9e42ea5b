"""Shared by all screens: the backend, the person, and giving the terminal to a program."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import App

    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backends.backend import Backend
    from gatebell.tui.view import View


class Word:
    """The last message to the person; every screen shows it."""

    def __init__(self) -> None:
        self.text = ""
        self.problem = False


class TuiContext(NamedTuple):
    """The backend, the person and the environment of the TUI."""

    backend: Backend
    view: View
    """The runs and the list of asks."""
    who: Caller
    identity: tuple[str, ...]
    """The options that prove who they are, for commands that are started from here."""
    environ: Mapping[str, str]
    """The environment before Textual removed its own variables."""
    word: Word

    def build_command(self, *words: str) -> list[str]:
        """Return a `gate` command for the same person."""
        return [sys.executable, "-P", "-m", "gatebell", *words, *self.identity]


def hand_over(
    app: App[Any], tui_context: TuiContext, words: Sequence[str], folder: str | None = None
) -> int:
    """Give the terminal to a program until it ends; after a failure, wait for Enter.

    The TUI is suspended for that time and shows changes of the store afterwards.
    """
    # Ctrl+C is for the program. It is not ignored, because the program would inherit that.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with app.suspend():
            ended = subprocess.run(words, env=dict(tui_context.environ), cwd=folder, check=False)
            if ended.returncode:
                print("\nPress Enter to go back. ", end="", flush=True)
                sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, before)
    return ended.returncode
