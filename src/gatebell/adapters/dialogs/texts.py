"""Build the texts of every dialog; the question's text cannot imitate the dialog's own."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.enums import AskKind
from gatebell.domain.text.display import frame, inert, inert_line

if TYPE_CHECKING:
    from gatebell.ports.dialogs import Showing

ANSWER, LATER_LABEL, TERMINAL_LABEL, CLOSE_LABEL = "Answer", "Later", "Open in terminal", "Close"
_NAME_COLUMNS = 40
_COLUMNS = 84
_OPTION_COLUMNS = 84
_MAX_CHARACTERS = 4_000
_PROMPT_LINES, _CONTEXT_LINES, _TYPED_LINES = 12, 4, 3


class Body(NamedTuple):
    """A question as text for a program that shows at most one page."""

    text: str
    whole: bool
    """Nothing was left out."""


def build_title(showing: Showing) -> str:
    project = os.path.basename(showing.project.rstrip(os.sep))
    return f"gate: {shorten_name(showing.agent or 'unknown')} in {shorten_name(project or 'no project')}"


def shorten_name(text: str) -> str:
    return inert_line(text, _NAME_COLUMNS)


def build_heading(showing: Showing) -> str:
    """Return who asks, where, and the position among several asks."""
    position = f"[{inert_line(showing.position, 12)}] " if showing.position else ""
    where = f" in {inert_line(showing.project, 100)}" if showing.project else ""
    return f"{position}{shorten_name(showing.agent or 'unknown')} asks{where}:"


def choose_hint(showing: Showing) -> str:
    """Return the label of the input field."""
    return "Type yes or no:" if showing.kind == AskKind.APPROVAL else "Your answer:"


def format_time_left(seconds: float) -> str:
    """Return `4 min 8 s left to answer`, with units, so that it is not read as the time of day."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours} h"] if hours else []
    parts += [f"{minutes} min"] if hours or minutes else []
    return " ".join([*parts, f"{rest} s left to answer"])


def build_body(showing: Showing, draft: bool = False) -> Body:
    """Return the question as one page; each line that an agent wrote begins with a bar.

    With `draft`, include the draft: for a program that cannot put it into its field.
    """
    prompt, whole = _wrap_part(showing.prompt, _PROMPT_LINES)
    parts = [build_heading(showing), *prompt]
    if showing.context:
        context, context_whole = _wrap_part(showing.context, _CONTEXT_LINES)
        parts += ["", "Context:", *context]
        whole = whole and context_whole
    if draft and showing.typed and showing.kind == AskKind.TEXT:
        parts += ["", "You had typed:", *_wrap_part(showing.typed, _TYPED_LINES)[0]]
    if showing.left_seconds is not None:
        parts += ["", format_time_left(showing.left_seconds)]
    return Body("\n".join(parts), whole)


def _wrap_part(text: str, most: int) -> tuple[list[str], bool]:
    wrapped = [
        part
        for line in inert(text[:_MAX_CHARACTERS]).split("\n")
        for part in textwrap.wrap(line, _COLUMNS - 2, drop_whitespace=False) or [""]
    ]
    # Wrap again by width: some letters take two columns.
    lines = frame("\n".join(wrapped), _COLUMNS)
    if len(lines) <= most and len(text) <= _MAX_CHARACTERS:
        return lines, True
    kept = lines[: most - 1]
    return [*kept, f"│ … the text goes on: {TERMINAL_LABEL}"], False


def number_options(showing: Showing) -> list[str]:
    """Return the options, numbered, so that none can imitate a row of ours."""
    return [
        f"{number}. {inert_line(one, _OPTION_COLUMNS)}"
        for number, one in enumerate(showing.options, 1)
    ]


def is_like_ours(option: str) -> bool:
    """Return whether a button with this label could be mistaken for one of ours."""
    ours = (ANSWER, LATER_LABEL, TERMINAL_LABEL, CLOSE_LABEL)
    return inert_line(option).casefold() in map(str.casefold, ours)


def read_number(row: str) -> str:
    """Return the number before an option."""
    return row.partition(".")[0]


def escape_markup(text: str) -> str:
    """Escape a text for programs that read markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def double_backslashes(text: str) -> str:
    """Escape a text for programs that read backslash sequences."""
    return text.replace("\\", "\\\\")
