"""Show dialogs by osascript on a Mac; texts are arguments of a fixed script, so none is quoted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.adapters.dialogs import replies, texts
from gatebell.adapters.dialogs.dialog_process import Ended, Tool, describe_odd_end
from gatebell.domain.enums import AskKind

if TYPE_CHECKING:
    from gatebell.ports.dialogs import Reply, Showing

# argv: nonce, title, text, draft, seconds. Without a default button, Enter does nothing.
_TYPE = """on run argv
set {theNonce, theTitle, theText, theTyped, theSeconds} to argv
activate
try
set theReply to display dialog theText with title theTitle default answer theTyped ¬
buttons {"Open in terminal", "Later", "Answer"} giving up after (theSeconds as integer)
on error number -128
return theNonce & " closed"
end try
if gave up of theReply then return theNonce & " late " & text returned of theReply
return theNonce & " " & button returned of theReply & " " & text returned of theReply
end run"""

# argv: nonce, title, text, then the rows. No row is selected at the start.
_CHOOSE = """on run argv
set theNonce to item 1 of argv
activate
set theChoice to choose from list (items 4 thru -1 of argv) with title (item 2 of argv) ¬
with prompt (item 3 of argv) OK button name "Answer" cancel button name "Close" ¬
without multiple selections allowed and empty selection allowed
if theChoice is false then return theNonce & " closed"
return theNonce & " chosen " & (item 1 of theChoice)
end run"""

# "giving up after" 0 never gives up.
_NEVER = 0


def _build_command(showing: Showing, nonce: str) -> list[str]:
    words = [nonce, texts.build_title(showing), texts.build_body(showing).text]
    if showing.kind == AskKind.CHOICE:
        rows = [*texts.number_options(showing), texts.LATER_LABEL, texts.TERMINAL_LABEL]
        return ["osascript", "-e", _CHOOSE, "--", *words, *rows]
    begin = showing.typed if showing.kind == AskKind.TEXT else ""
    left = _NEVER if showing.left_seconds is None else max(1, int(showing.left_seconds))
    return ["osascript", "-e", _TYPE, "--", *words, begin, str(left)]


def _read(showing: Showing, ended: Ended, nonce: str) -> Reply:
    said, _, rest = ended.out.removesuffix("\n").partition(" ")
    if ended.code != 0 or said != nonce:
        return describe_odd_end(ended)
    if showing.kind == AskKind.CHOICE:
        row = rest.removeprefix("chosen ")
        if row == texts.LATER_LABEL:
            return replies.build_later()
        if row == texts.TERMINAL_LABEL:
            return replies.build_in_terminal()
        return replies.read_chosen(showing, texts.read_number(row))
    for label in (texts.ANSWER, texts.LATER_LABEL, texts.TERMINAL_LABEL, "late"):
        if rest == label or rest.startswith(f"{label} "):
            return _read_button(showing, label, rest[len(label) + 1 :])
    return replies.build_nothing(replies.CLOSED)


def _read_button(showing: Showing, label: str, text: str) -> Reply:
    if label == texts.ANSWER:
        return replies.read_typed(showing, text)
    kept = text if showing.kind == AskKind.TEXT else ""
    if label == texts.LATER_LABEL:
        return replies.build_later(kept)
    if label == texts.TERMINAL_LABEL:
        return replies.build_in_terminal(kept)
    return replies.build_nothing("the time is over", kept)


OSASCRIPT = Tool("osascript", "osascript", _build_command, _read)
