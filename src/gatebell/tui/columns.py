"""Columns of the lists: fixed widths for short values, the rest for the question."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from gatebell.domain.text.display import cell, inert_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_GAP = "  "


class Column(NamedTuple):
    """The title of a column and its width; 0: all columns that are left."""

    title: str
    width: int
    to_right: bool = False


def draw_cells(
    columns: Sequence[Column], texts: Sequence[str], width: int, colours: Sequence[str] = ()
) -> Text:
    """Return one line of exactly these columns; no text leaves its column."""
    fixed = sum(one.width for one in columns) + len(_GAP) * (len(columns) - 1) + 2
    line = Text(" ", end="")
    for number, (column, text) in enumerate(zip(columns, texts, strict=True)):
        room = column.width or max(4, width - fixed)
        if column.to_right:
            shown = inert_line(text, room)
            shown = f"{shown:>{room}}"
        else:
            shown = cell(text, room)
        line.append(shown, colours[number] if number < len(colours) else "")
        if number < len(columns) - 1:
            line.append(_GAP)
    return line


def draw_row(columns: Sequence[Column], shown: Mapping[str, tuple[str, str]], width: int) -> Text:
    """Return one line; `shown` has the text and the colour for the title of each column."""
    found = [shown[one.title] for one in columns]
    return draw_cells(columns, [text for text, _ in found], width, [colour for _, colour in found])


def draw_titles(columns: Sequence[Column], width: int) -> Text:
    """Return the line above the rows."""
    return draw_cells(columns, [one.title for one in columns], width)


def draw_heading(text: str, width: int) -> Text:
    """Return the line above a group of rows."""
    return Text(f" {inert_line(text, max(8, width - 2))}", end="")
