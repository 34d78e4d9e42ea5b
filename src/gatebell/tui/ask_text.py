"""An ask in lines, with the changes of a tool call and of the activity in colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.headings import option_meanings
from gatebell.domain.permissions.call_changes import list_changes
from gatebell.domain.permissions.calls import shown
from gatebell.domain.text.display import frame, inert, inert_line
from gatebell.services.permissions.edited_file import read_edited_file
from gatebell.terminal.asks import ask_lines, format_call
from gatebell.tui.paint import paint

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.permissions.call_changes import File, Row
    from gatebell.ports.backend import Backend

_BAR = "│ "
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
# The parts of a call that its diff shows whole.
_IN_THE_DIFF = ("file_path", "old_string", "new_string", "replace_all", "edits", "content")


def list_ask_lines(
    backend: Backend, ask: Ask, width: int, *, with_answers: bool = True
) -> list[str]:
    """Return the lines of an ask with everything that a person needs to decide.

    Args:
        backend: where the ask is kept
        ask: the ask
        width: columns of a line
        with_answers: whether options and fields are listed; the answer itself shows them, too
    """
    return ask_lines(backend, ask, width, paint, show_call=_format_call, with_answers=with_answers)


def _format_call(
    ask: Ask, width: int, paint_text: Callable[[str, str], str], *, on_this_machine: bool
) -> list[str]:
    """Return an edit as its diff; every other call as everywhere else."""
    call = ask.question.call
    content = read_edited_file(ask) if on_this_machine else None
    file = list_changes(call, [ask.origin.project, call.cwd], content) if call else None
    if call is None or file is None:
        return format_call(ask, width, paint_text)
    lines = ["", paint(f"The call: {inert_line(call.tool, 60)}", "bold")]
    lines += list_change_lines(file, width)
    others = {name: value for name, value in call.input.items() if name not in _IN_THE_DIFF}
    lines += frame(shown(others), width) if others else []
    if call.real_path and call.real_path != call.path:
        lines += ["After all links, this file", *frame(call.real_path, width)]
    return lines


def list_change_lines(file: File, width: int) -> list[str]:
    """Return the change of a file: its name, then its lines with their numbers."""
    counts = f"+{file.count('+')} -{file.count('-')}"
    words = ", ".join([counts, *file.words])
    lines = [_BAR + paint(part, "bold") for part in frame(file.name, width - 2, bar="")]
    lines += [_BAR + paint(part, "dim") for part in frame(words, width - 2, bar="")]
    numbers = [row.new or row.old or 0 for part in file.parts for row in part.rows]
    digits = len(str(max(numbers, default=0))) if any(numbers) else 0
    for part in file.parts:
        head = part.head or ("…" if part is not file.parts[0] else "")
        lines += [_BAR + paint(text, "cyan") for text in frame(head, width - 2, bar="") if head]
        for row in part.rows:
            lines += _format_row(row, digits, width)
    return lines


def _format_row(row: Row, digits: int, width: int) -> list[str]:
    number = f"{row.new or row.old or '':>{digits}} " if digits else ""
    first = f"{number}{row.sign} "
    parts = frame(row.text, width - len(_BAR) - len(first), bar="")
    made = [f"{first}{parts[0]}", *(f"{'':{len(first)}}{part}" for part in parts[1:])]
    colour = _COLOURS.get(row.sign)
    return [_BAR + (paint(line, colour) if colour else line) for line in made]


def list_diff_lines(diff: str, width: int) -> list[str]:
    """Return a whole diff in colour; no line is cut."""
    lines: list[str] = []
    for line in inert(diff).split("\n"):
        colour = _COLOURS.get(line[:1], "")
        is_name = line.startswith(("diff ", "--- ", "+++ "))
        shade = "bold" if is_name else colour
        lines += [paint(part, shade) if shade else part for part in frame(line, width, bar="")]
    return lines


def list_option_lines(ask: Ask) -> list[tuple[str, str]]:
    """Return each option with its meaning, if the asker gave one."""
    meanings = option_meanings(ask.question)
    return [(name, meanings.get(name, "")) for name in ask.question.option_labels]
