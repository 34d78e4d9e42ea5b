"""What every screen needs: the store, who sits here, and how the terminal is handed over."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import App

    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store


class Word:
    """The last thing that was said to the person; it is seen on whatever screen they are then."""

    def __init__(self) -> None:
        self.text = ""
        self.problem = False


class TuiContext(NamedTuple):
    """Where a person works."""

    store: Store
    who: Caller
    identity: tuple[str, ...]
    """The options by which they proved it, for the commands that are started from here."""
    environ: Mapping[str, str]
    """As it was before Textual took its own variables out."""
    word: Word

    def gate(self, *words: str) -> list[str]:
        """A command of ours, by the same person."""
        return [sys.executable, "-P", "-m", "gatebell", *words, *self.identity]


def hand_over(
    app: App[Any], tui_context: TuiContext, words: Sequence[str], folder: str | None = None
) -> int:
    """Let a program have the terminal until it ends; what it says of a failure stays until Enter.

    Nothing else happens here meanwhile; what changes in the store is looked at afterwards.
    """
    # Ctrl+C is meant for the program. Not ignored, for that would be handed down to it.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with app.suspend():
            ended = subprocess.run(words, env=dict(tui_context.environ), cwd=folder, check=False)
            if ended.returncode:
                print("\nEnter brings you back. ", end="", flush=True)
                sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, before)
    return ended.returncode
