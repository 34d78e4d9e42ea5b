"""A tool call as lines of a terminal: an edit as its diff, every other call as its input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.permissions.calls import WRITERS, shown
from gatebell.domain.text.display import frame, inert_line, mark_blanks

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.permissions.call_changes import File, Row
    from gatebell.domain.permissions.calls import Call

    Paint = Callable[[str, str], str]

_BAR = "│ "
_COLOURS = {"+": "green", "-": "red"}


def format_call(ask: Ask, width: int, paint: Paint, *, on_this_machine: bool) -> list[str]:
    """Return the lines of a tool call; they are never cut, because a yes allows all of them.

    Args:
        ask: the ask with the call
        width: columns of the terminal
        paint: adds colours
        on_this_machine: whether the file of an edit may be read, for the lines around the edit
    """
    call = ask.question.call
    if call is None:
        return []
    lines = ["", paint(f"The call: {inert_line(call.tool, 60)}", "bold")]
    given, file = call.input, _find_changes(ask, on_this_machine=on_this_machine)
    if file:
        lines += _list_change_lines(file, width, paint)
        given = _list_others(call)
    lines += frame(shown(given), width) if given or not file else []
    if call.real_path and call.real_path != call.path:
        lines += ["After all links, this file", *frame(call.real_path, width)]
    return lines + (["The agent's description", *frame(call.remark, width)] if call.remark else [])


def _find_changes(ask: Ask, *, on_this_machine: bool) -> File | None:
    call = ask.question.call
    if call is None or call.tool not in WRITERS:
        return None
    # Imported here: most calls are not edits, and commands that list asks load this module.
    from gatebell.domain.permissions.call_changes import list_changes
    from gatebell.services.permissions.edited_file import read_edited_file

    content = read_edited_file(ask) if on_this_machine else None
    return list_changes(call, [ask.origin.project, call.cwd], content)


def _list_others(call: Call) -> dict[str, Any]:
    # Imported here, as above.
    from gatebell.domain.permissions.call_changes import list_others

    return list_others(call)


def _list_change_lines(file: File, width: int, paint: Paint) -> list[str]:
    """Return the change of a file: its name, then its lines with their numbers."""
    counts = f"+{file.count('+')} -{file.count('-')}"
    words = ", ".join([counts, *file.words])
    name = mark_blanks(file.name)
    lines = [_BAR + paint(part, "bold") for part in frame(name, width - 2, bar="")]
    lines += [_BAR + paint(part, "dim") for part in frame(words, width - 2, bar="")]
    numbers = [row.new or row.old or 0 for part in file.parts for row in part.rows]
    digits = len(str(max(numbers, default=0))) if any(numbers) else 0
    for part in file.parts:
        head = part.head or ("…" if part is not file.parts[0] else "")
        lines += [_BAR + paint(text, "cyan") for text in frame(head, width - 2, bar="") if head]
        for row in part.rows:
            lines += _format_row(row, digits, width, paint)
    return lines


def _format_row(row: Row, digits: int, width: int, paint: Paint) -> list[str]:
    number = f"{row.new or row.old or '':>{digits}} " if digits else ""
    first = f"{number}{row.sign} "
    parts = frame(mark_blanks(row.text), width - len(_BAR) - len(first), bar="")
    made = [f"{first}{parts[0]}", *(f"{'':{len(first)}}{part}" for part in parts[1:])]
    colour = _COLOURS.get(row.sign)
    return [_BAR + (paint(line, colour) if colour else line) for line in made]
