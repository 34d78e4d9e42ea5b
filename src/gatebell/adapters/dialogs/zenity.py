"""Show dialogs by zenity (GTK); its output decides, because its exit codes are ambiguous.

0 may also be a destroyed window. 1 is Cancel, Escape, an extra button or a missing display.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.adapters.dialogs import replies, texts
from gatebell.adapters.dialogs.dialog_process import Ended, Tool, describe_odd_end
from gatebell.domain.enums import AskKind

if TYPE_CHECKING:
    from gatebell.ports.dialogs import Reply, Showing

_OK, _EXTRA_OR_CLOSED, _TIME_IS_UP = 0, 1, 5


def _build_command(showing: Showing, nonce: str) -> list[str]:
    # Both kinds of window read markup and escapes, also with --no-markup.
    text = texts.double_backslashes(texts.escape_markup(texts.build_body(showing, draft=True).text))
    words = [
        "zenity",
        f"--title={texts.build_title(showing)}",
        f"--text={text}",
        f"--ok-label={texts.ANSWER}",
        f"--cancel-label={texts.CLOSE_LABEL}",
        f"--extra-button={texts.LATER_LABEL}",
        f"--extra-button={texts.TERMINAL_LABEL}",
    ]
    if showing.left_seconds is not None:
        words.append(f"--timeout={max(1, int(showing.left_seconds))}")
    if showing.kind == AskKind.CHOICE:
        # Without radio buttons, typing a character and Enter would choose and answer.
        words += ["--list", "--radiolist", "--hide-header", "--width=720", "--height=480"]
        words += ["--column=", "--column=", "--print-column=2"]
        return words + [word for row in texts.number_options(showing) for word in ("FALSE", row)]
    # In a form Enter does not answer; in zenity's --entry it does.
    return [*words, "--forms", "--width=720", f"--add-entry={texts.choose_hint(showing)}"]


def _read(showing: Showing, ended: Ended, nonce: str) -> Reply:
    out = ended.out.removesuffix("\n")
    if ended.code == _OK and out:
        if showing.kind == AskKind.CHOICE:
            return replies.read_chosen(showing, texts.read_number(out))
        return replies.read_typed(showing, out)
    if ended.code == _EXTRA_OR_CLOSED and out == texts.LATER_LABEL:
        return replies.build_later()
    if ended.code == _EXTRA_OR_CLOSED and out == texts.TERMINAL_LABEL:
        return replies.build_in_terminal()
    if ended.code == _TIME_IS_UP:
        return replies.build_nothing(
            "the time is over", out if showing.kind == AskKind.TEXT else ""
        )
    return describe_odd_end(ended)


ZENITY = Tool("zenity", "zenity", _build_command, _read)
