"""Decide what counts as an answer: only words that were typed or an option chosen (law 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import AskKind
from gatebell.ports.dialogs import LATER, NOTHING, TERMINAL, VALUE, Reply

if TYPE_CHECKING:
    from gatebell.ports.dialogs import Showing

YES_OR_NO = ("yes", "no")
CLOSED = "the window was closed"
CLOSED_BY_US = "the window was closed because the answer is no longer needed"


def build_nothing(why: str, typed: str = "") -> Reply:
    return Reply(NOTHING, why=why, typed=typed)


def build_later(typed: str = "") -> Reply:
    return Reply(LATER, typed=typed)


def build_in_terminal(typed: str = "") -> Reply:
    return Reply(TERMINAL, typed=typed)


def read_typed(showing: Showing, text: str) -> Reply:
    """Return an answer of these words; only `yes` or `no` decides an approval."""
    if not text.strip():
        return build_nothing("nothing was typed")
    if showing.kind == AskKind.CHOICE:
        return build_nothing("an option must be chosen, not typed", text)
    if showing.kind == AskKind.APPROVAL:
        word = text.strip().lower()
        if word not in YES_OR_NO:
            return build_nothing("an approval needs yes or no", text)
        return Reply(VALUE, word, digest=showing.digest)
    return Reply(VALUE, text, digest=showing.digest)


def read_chosen(showing: Showing, number: str) -> Reply:
    """Return an answer of the option with this number, counted from 1."""
    is_number = number.isascii() and number.isdecimal() and len(number) < 8
    if (
        showing.kind != AskKind.CHOICE
        or not is_number
        or not 0 < int(number) <= len(showing.options)
    ):
        return build_nothing("nothing was chosen")
    return Reply(VALUE, showing.options[int(number) - 1], digest=showing.digest)
