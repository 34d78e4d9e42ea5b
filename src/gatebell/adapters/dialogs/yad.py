"""Show dialogs by yad (GTK), with our own exit code for each button."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.adapters.dialogs import replies, texts
from gatebell.adapters.dialogs.dialog_process import Ended, Tool, describe_odd_end
from gatebell.domain.enums import AskKind

if TYPE_CHECKING:
    from gatebell.ports.dialogs import Reply, Showing

# With even exit codes it prints the typed text. It uses none of these itself.
_ANSWER, _LATER, _TERMINAL = 20, 22, 24
_TIME_IS_UP = 70


_CIRCLES = "\n\nSelect the circle before an option, then press Answer."


def _build_command(showing: Showing, nonce: str) -> list[str]:
    # The row that it highlights at the start is not selected.
    more = _CIRCLES if showing.kind == AskKind.CHOICE else ""
    words = [
        *("yad", "--no-markup", "--center", "--width=720", "--separator="),
        f"--title={texts.build_title(showing)}",
        f"--text={texts.double_backslashes(texts.build_body(showing).text)}{more}",
        f"--button={texts.TERMINAL_LABEL}:{_TERMINAL}",
        f"--button={texts.LATER_LABEL}:{_LATER}",
        f"--button={texts.ANSWER}:{_ANSWER}",
    ]
    if showing.left_seconds is not None:
        words.append(f"--timeout={max(1, int(showing.left_seconds))}")
    if showing.kind == AskKind.CHOICE:
        words += ["--list", "--radiolist", "--no-headers", "--height=480"]
        words += ["--column=", "--column=", "--print-column=2", "--no-click"]
        return words + [word for row in texts.number_options(showing) for word in ("FALSE", row)]
    begin = texts.double_backslashes(showing.typed) if showing.kind == AskKind.TEXT else ""
    # A field of several lines, so that Enter does not answer. It is printed with escapes.
    field = f"--field={texts.choose_hint(showing)}:TXT"
    return [*words, "--form", field, "--", begin]


def _read(showing: Showing, ended: Ended, nonce: str) -> Reply:
    out = ended.out.removesuffix("\n")
    if showing.kind == AskKind.CHOICE:
        if ended.code == _ANSWER:
            return replies.read_chosen(showing, texts.read_number(out))
        typed = ""
    else:
        typed = _remove_escapes(out)
        if ended.code == _ANSWER:
            return replies.read_typed(showing, typed)
        typed = typed if showing.kind == AskKind.TEXT else ""
    if ended.code == _LATER:
        return replies.build_later(typed)
    if ended.code == _TERMINAL:
        return replies.build_in_terminal(typed)
    if ended.code == _TIME_IS_UP:
        return replies.build_nothing("the time is over")
    return describe_odd_end(ended)


def _remove_escapes(printed: str) -> str:
    """Return the typed text, without yad's escapes."""
    out, rest = [], iter(printed)
    for character in rest:
        if character != "\\":
            out.append(character)
            continue
        escape = next(rest, "\\")
        out.append({"n": "\n", "t": "\t", "r": "\r"}.get(escape, escape))
    return "".join(out)


YAD = Tool("yad", "yad", _build_command, _read)
