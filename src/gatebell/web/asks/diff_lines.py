"""The lines of a diff as HTML: the changed words are marked, and code has colours."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from markupsafe import escape

from gatebell.domain.text.display import inert
from gatebell.web.asks.code_colours import find_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# A change of words in longer lines, or in more of them, is not searched for.
_MAX_LINE = 300
_MAX_PAIRS = 400
_MAX_COLOURED = 400_000
# Below this part of equal words, two lines are two lines and not a change of one.
_LEAST_ALIKE = 0.45
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_Range = tuple[int, int]


class LineRenderer:
    """Renders the lines of one page; after its limits they have no marks or colours."""

    def __init__(self) -> None:
        self._pairs, self._characters = _MAX_PAIRS, _MAX_COLOURED

    def render(self, name: str, rows: Sequence[tuple[str, str]]) -> list[str]:
        """Return the HTML of adjacent lines of a file; a row is a sign and a text."""
        texts = [inert(text) for _, text in rows]
        marks: dict[int, list[_Range]] = {}
        for old, new in islice(_pair([sign for sign, _ in rows]), self._pairs):
            marks[old], marks[new] = _compare(texts[old], texts[new])
            self._pairs -= 1
        self._characters -= sum(map(len, texts))
        coloured = name if self._characters >= 0 else ""
        return [_render(coloured, text, marks.get(at, [])) for at, text in enumerate(texts)]


def _pair(signs: Sequence[str]) -> Iterator[_Range]:
    """Return the removed and added lines that stand for each other, by their order."""
    at = 0
    while at < len(signs):
        removed = at
        while at < len(signs) and signs[at] == "-":
            at += 1
        added = at
        while at < len(signs) and signs[at] == "+":
            at += 1
        for number in range(min(added - removed, at - added)):
            yield removed + number, added + number
        at = at if at > removed else at + 1


def _compare(old: str, new: str) -> tuple[list[_Range], list[_Range]]:
    """Return the changed parts of both lines; none if the lines have little in common."""
    if max(len(old), len(new)) > _MAX_LINE:
        return [], []
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return [], []
    removed, added = [], []
    starts = (_starts(before), _starts(after))
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            removed.append((starts[0][a], starts[0][b]))
            added.append((starts[1][c], starts[1][d]))
    return [one for one in removed if one[0] < one[1]], [one for one in added if one[0] < one[1]]


def _starts(words: Sequence[str]) -> list[int]:
    at, found = 0, [0]
    for word in words:
        at += len(word)
        found.append(at)
    return found


def _render(name: str, text: str, marks: Sequence[_Range]) -> str:
    spans = find_spans(name, text)
    if not spans and not marks:
        return str(escape(text))
    edges = {0, len(text), *(edge for span in spans for edge in span[:2])}
    edges |= {edge for mark in marks for edge in mark}
    cuts, parts = sorted(edges), []
    span_at = mark_at = 0
    for start, end in pairwise(cuts):
        while span_at < len(spans) and spans[span_at].end <= start:
            span_at += 1
        while mark_at < len(marks) and marks[mark_at][1] <= start:
            mark_at += 1
        coloured = span_at < len(spans) and spans[span_at].start <= start
        marked = mark_at < len(marks) and marks[mark_at][0] <= start
        kinds = [spans[span_at].kind] if coloured else []
        kinds += ["w"] if marked else []
        words = escape(text[start:end])
        parts.append(f'<span class="{" ".join(kinds)}">{words}</span>' if kinds else str(words))
    return "".join(parts)
