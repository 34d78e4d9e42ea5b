"""Asks and diffs in lines with our own colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.headings import option_meanings
from gatebell.domain.text.display import frame, inert
from gatebell.terminal.asks import ask_lines, choose_diff_colour
from gatebell.tui.paint import paint

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.backends.backend import Backend


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
    return ask_lines(backend, ask, width, paint, with_answers=with_answers)


def list_diff_lines(diff: str, width: int) -> list[str]:
    """Return a whole diff in colour; no line is cut."""
    lines: list[str] = []
    for line in inert(diff).split("\n"):
        colour = choose_diff_colour(line)
        lines += [paint(part, colour) if colour else part for part in frame(line, width, bar="")]
    return lines


def list_option_lines(ask: Ask) -> list[tuple[str, str]]:
    """Return each option with its meaning, if the asker gave one."""
    meanings = option_meanings(ask.question)
    return [(name, meanings.get(name, "")) for name in ask.question.option_labels]
