"""Show dialogs by `dialog`, in our own terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.adapters.dialogs import replies, texts
from gatebell.adapters.dialogs.dialog_process import Ended, Tool, describe_odd_end
from gatebell.domain.enums import AskKind

if TYPE_CHECKING:
    from gatebell.ports.dialogs import Reply, Showing

_OK, _HELP, _EXTRA = 0, 2, 3
_NOT_YET = "-"


def _build_command(showing: Showing, nonce: str) -> list[str]:
    words = [
        # On the terminal's other screen, so that our screen is restored afterwards.
        *("dialog", "--keep-tite", "--no-collapse", "--no-nl-expand", "--no-mouse", "--title"),
        *(texts.build_title(showing), "--ok-label", texts.ANSWER),
        # Not its Cancel button, which would not print the draft.
        *("--no-cancel", "--extra-button", "--extra-label", texts.LATER_LABEL),
        *("--help-button", "--help-label", texts.TERMINAL_LABEL),
    ]
    # The draft is shown above the field: in the field, one Enter would send it.
    text = texts.build_body(showing, draft=True).text
    if showing.kind != AskKind.CHOICE:
        return [*words, "--inputbox", f"{text}\n\n{texts.choose_hint(showing)}", "0", "0", ""]
    # The first row is selected at the start, and is not an answer.
    rows = [_NOT_YET, "not answered yet"]
    for number, row in enumerate(texts.number_options(showing), 1):
        rows += [str(number), row]
    return [*words, "--no-tags", "--menu", text, "0", "0", "0", *rows]


def _read(showing: Showing, ended: Ended, nonce: str) -> Reply:
    out = ended.out.strip()
    typed = out if showing.kind == AskKind.TEXT else ""
    if ended.code == _EXTRA:
        return replies.build_later(typed)
    if ended.code == _HELP:
        return replies.build_in_terminal(typed)
    if ended.code != _OK:
        return describe_odd_end(ended)
    if showing.kind == AskKind.CHOICE:
        return replies.read_chosen(showing, out)
    return replies.read_typed(showing, out)


DIALOG = Tool("dialog", "dialog", _build_command, _read, at_terminal=True)
