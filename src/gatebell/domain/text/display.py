"""Untrusted text made inert for people to read (law 8); the store keeps it raw.

An agent's text cannot move the cursor, set a title, hide characters, change the direction of
writing, or leave the frame in which it is shown.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from math import isfinite
from typing import Any

from gatebell.domain.lists import USE_A_LIST
from gatebell.errors import UsageError

SHOWN_CHARACTERS = 8_000

# Printable by the rules of Unicode, but invisible on the screen.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159") | {
    chr(code)
    for codes in (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
    for code in codes
}
_EMOJI_STYLE = "\ufe0f"
_MAX_COMBINING = 3
_MAX_DEPTH = 100
_MAX_COLUMNS = 4_000


def storable(text: str) -> str:
    """Return a text that every store can keep: no NUL, no half of a surrogate pair."""
    if text.isprintable():
        return text
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "\ufffd")


def plain(value: Any, depth: int = 0) -> Any:
    """Return JSON that every store can keep: storable texts, finite numbers, limited depth."""
    if isinstance(value, str):
        return storable(value)
    if value is None or isinstance(value, bool | int):
        return value
    if depth > _MAX_DEPTH:
        raise UsageError(f"the JSON is nested deeper than {_MAX_DEPTH} levels: make it flatter")
    if isinstance(value, list | tuple):
        return [plain(one, depth + 1) for one in value]
    if isinstance(value, Mapping):
        return {storable(str(key)): plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, float) and isfinite(value):
        return value
    if isinstance(value, set | frozenset):
        raise UsageError(f"expected a list, got {type(value).__name__}: {USE_A_LIST}")
    raise UsageError(f"{value!r} is not JSON")


def inert(text: str) -> str:
    """Return the text with invisible and control characters made visible, except line ends."""
    if text.isascii() and text.isprintable():
        return text
    out: list[str] = []
    combining = 0
    for character in text.replace("\r\n", "\n").expandtabs(4):
        combining = combining + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if character == _EMOJI_STYLE and out and unicodedata.category(out[-1][-1]) == "So":
            out.append(character)
        elif combining > _MAX_COMBINING or character in _BLANKS:
            out.append(_mark(character))
        elif character == "\n" or character.isprintable():
            out.append(character)
        elif unicodedata.category(character) == "Zs":
            out.append(" ")
        else:
            out.append(_mark(character))
    return "".join(out)


def mark_blanks(text: str) -> str:
    """Return the text of a call with visible marks for unusual spaces.

    A shell does not split words at them. In prose they stay unchanged: French and German use
    them beside punctuation and numbers.
    """
    if text.isascii() and "\r" not in text:
        return text
    marked = text.replace("\r\n", f"{_mark(chr(13))}\n")
    blanks = {one for one in marked if unicodedata.category(one) == "Zs"} - {" "}
    return marked.translate({ord(one): _mark(one) for one in blanks})


def _mark(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return f"‹U+{code:04X}›"


def inert_line(text: str, columns: int = _MAX_COLUMNS) -> str:
    """Return the text on one line of at most so many columns."""
    line = inert(text[: columns * 2].strip()).replace("\n", " ⏎ ")
    lines = _wrap(line, columns)
    if len(lines) == 1 and len(text.strip()) <= columns * 2:
        return line
    return _wrap(line, max(1, columns - 1))[0] + "…"


def cell(text: str, columns: int) -> str:
    """Return the text on one line, filled with spaces to exactly so many columns."""
    line = inert_line(text, columns)
    return line + " " * (columns - sum(map(_width, line)))


def frame(text: str, columns: int, bar: str = "│ ", most: int | None = None) -> list[str]:
    """Return wrapped lines that all begin with a bar, so that none looks like one of ours.

    Characters after `most` are counted, not shown.
    """
    shown = text if most is None else text[:most]
    room = max(8, columns - len(bar))
    lines = [bar + part for line in inert(shown).split("\n") for part in _fold(line, room)]
    if len(shown) < len(text):
        rest = text[len(shown) :]
        lines.append(f"{bar}… {len(rest)} more characters on {rest.count(chr(10)) + 1} lines")
    return lines


def _fold(line: str, columns: int) -> list[str]:
    """Split a line into parts that fit, after spaces if possible; keep every character."""
    parts: list[str] = []
    start = used = 0
    # The start of the next part, and the number of columns from there to here.
    blank = behind = 0
    for index, character in enumerate(line):
        width = _width(character)
        while used + width > columns:
            cut = blank if blank > start else index
            parts.append(line[start:cut])
            used = behind if cut == blank else 0
            start = cut
        used += width
        behind += width
        if character == " " and line[start:index].strip():
            blank, behind = index + 1, 0
    parts.append(line[start:])
    return parts


def _wrap(line: str, columns: int) -> list[str]:
    parts: list[str] = []
    start = used = 0
    for index, character in enumerate(line):
        width = _width(character)
        if used + width > columns:
            parts.append(line[start:index])
            start, used = index, 0
        used += width
    parts.append(line[start:])
    return parts


def _width(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def age(seconds: float) -> str:
    """Return a duration as `12s`, `3m`, `2h` or `5d`."""
    seconds = max(0, int(seconds))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def span(seconds: float) -> str:
    """Return a duration by its two largest units, as `1 h 59 min`."""
    left, parts = max(0, int(seconds)), []
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
        elif parts:
            break
    return " ".join(parts[:2]) or "0 s"
