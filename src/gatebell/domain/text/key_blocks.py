"""Private keys in text: blocks between BEGIN and END, and blocks without one of them."""

from __future__ import annotations

import re
from functools import cache

from gatebell.domain.text.secret_values import HIDDEN

_NAME = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_BEGIN = rf"-----BEGIN {_NAME}|(?<=Private-Lines: )\d+"
_END = rf"-----END {_NAME}|(?=Private-MAC: )"
# The end of a key's line; before it may be the mark of a diff, a time or a quote.
_BODY = r"(?:^|[\s|>+\"'`:-])[A-Za-z0-9+/]{16,}={0,2}(?:\\+n)?[\"'`,\s]*$"
_MARKS = r"^[\s|>+#*\"'-]*"
_SHORT = rf"{_MARKS}=?[A-Za-z0-9+/]{{1,76}}={{0,2}}(?:\\+n)?[\"'`,\s]*$"
_HEADER = rf"{_MARKS}(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID): |{_MARKS}$"
_END_OF_LINE = 100
_MAX_LINES = 200


def hide_key_blocks(text: str) -> str:
    """Return the text with one mark in place of every private key."""
    if "PRIVATE KEY" not in text and "Private-" not in text:
        return text
    lines = text.split("\n")
    shown: list[str] = []
    at = 0
    while at < len(lines):
        at = _hide_from(lines, at, shown)
    return "\n".join(shown)


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _hide_from(lines: list[str], at: int, shown: list[str]) -> int:
    """Add the visible part of a line, skip a key that begins in it, and return the next line."""
    line = lines[at]
    if _compile(_BEGIN).search(line):
        before, is_open = _hide_in_line(line)
        shown.append(before)
        return _skip_key(lines, at + 1, shown) if is_open else at + 1
    if (end := _compile(_END).search(line)) and end.group():
        # Its beginning was cut off, so the lines before it are the key.
        while shown and _compile(_BODY).search(shown[-1][-_END_OF_LINE:]):
            shown.pop()
        line = HIDDEN + line[end.end() :]
    shown.append(line)
    return at + 1


def _hide_in_line(line: str) -> tuple[str, bool]:
    """Hide the keys that begin in a line; return whether the last one continues after it."""
    parts, at = [], 0
    while begin := _compile(_BEGIN).search(line, at):
        parts += [line[at : begin.start()], HIDDEN]
        end = _compile(_END).search(line, begin.end())
        if end is None:
            return "".join(parts), True
        at = end.end()
    return "".join([*parts, line[at:]]), False


def _skip_key(lines: list[str], start: int, shown: list[str]) -> int:
    """Return the first line after a key: after its END, or where it no longer looks like one."""
    for at in range(start, min(len(lines), start + _MAX_LINES)):
        if _compile(_BEGIN).search(lines[at]):
            break
        if end := _compile(_END).search(lines[at]):
            rest = lines[at][end.end() :]
            if end.group():
                shown[-1] += rest
            else:
                shown.append(rest)
            return at + 1
    at = start
    while at < len(lines) and _belongs(lines[at][-_END_OF_LINE:]):
        at += 1
    return at


def _belongs(line: str) -> bool:
    return any(_compile(one).search(line) for one in (_BODY, _SHORT, _HEADER))
