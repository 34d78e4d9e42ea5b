"""Dialogs by kdialog (KDE), whose lists always have a row chosen: the first one is not an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.adapters.dialogs import replies, texts
from gatebell.adapters.dialogs.dialog_process import Ended, Tool, ended_oddly

if TYPE_CHECKING:
    from gatebell.ports.dialogs import Reply, Showing

_LATER, _TERMINAL = "later", "terminal"
# Where something is typed, it has only OK.
_NO_BUTTONS = "To answer later, or in a terminal (gate inbox), close this window."


def _command(showing: Showing, nonce: str) -> list[str]:
    # It guesses whether a text is markup, so all of it is.
    marked = texts.escaped(texts.body(showing).text).replace("\n", "<br>")
    text = f"<qt><div align='left'>{texts.doubled(marked)}</div></qt>"
    words = ["kdialog", "--title", texts.title(showing)]
    if showing.kind != "choice":
        begin = texts.doubled(showing.typed) if showing.kind == "text" else ""
        hint = f"<br>{_NO_BUTTONS}<br>{texts.hint(showing)}</qt>"
        # After --, a draft that begins with - is no option.
        return [*words, "--textinputbox", text.replace("</qt>", hint), "--", begin]
    rows = [_LATER, texts.LATER_LABEL, "on"]
    for number, row in enumerate(texts.rows(showing), 1):
        rows += [str(number), texts.doubled(row), "off"]
    return [*words, "--radiolist", text, *rows, _TERMINAL, texts.TERMINAL_LABEL, "off"]


def _read(showing: Showing, ended: Ended, nonce: str) -> Reply:
    out = ended.out.removesuffix("\n")
    if showing.kind != "choice":
        if ended.code == 0:
            return replies.typed(showing, out)
        # Closed, it prints what was typed all the same.
        kept = out if ended.code == 1 and showing.kind == "text" else ""
        return ended_oddly(ended)._replace(typed=kept)
    if ended.code == 0 and out == _LATER:
        return replies.later()
    if ended.code == 0 and out == _TERMINAL:
        return replies.in_terminal()
    return replies.chosen(showing, out) if ended.code == 0 else ended_oddly(ended)


KDIALOG = Tool("kdialog", "kdialog", _command, _read)
