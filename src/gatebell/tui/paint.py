"""Our own colours in lines of inert text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable

_COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def paint(text: str, colour: str) -> str:
    """Return the text in a colour that every terminal has."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def paint_lines(lines: Iterable[str]) -> Text:
    """Return lines of inert text; only our own colours are interpreted."""
    return Text.from_ansi("\n".join(lines))
