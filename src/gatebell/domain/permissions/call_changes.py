"""The edits of a tool call as a diff: with numbers and lines around them, if its file is known."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.text.redaction import hide_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gatebell.domain.permissions.calls import Call

# Longer edits are not compared: all old lines, then all new lines.
_MAX_COMPARED = 4_000
_CONTEXT = 3


# The fields that the diff of each tool shows.
_SHOWN = {
    "Edit": frozenset(["file_path", "old_string", "new_string", "replace_all"]),
    "MultiEdit": frozenset(["file_path", "edits"]),
    "Write": frozenset(["file_path", "content"]),
}


class Row(NamedTuple):
    """A line of a diff: its sign, its numbers in the old and the new file, its text."""

    sign: str
    old: int | None
    new: int | None
    text: str


class Part(NamedTuple):
    """Adjacent lines, and the heading above them."""

    head: str
    rows: list[Row]


class File(NamedTuple):
    """The change of one file."""

    name: str
    words: list[str]
    parts: list[Part]
    rest: str = ""
    """Text that is not a diff, unchanged."""

    @property
    def length(self) -> int:
        return sum(len(part.rows) for part in self.parts) + _count_lines(self.rest)

    def count(self, sign: str) -> int:
        return sum(row.sign == sign for part in self.parts for row in part.rows)


def _count_lines(text: str) -> int:
    return text.rstrip("\n").count("\n") + 1 if text else 0


class _Edit(NamedTuple):
    """A text and the text in its place."""

    old: Any
    new: Any
    everywhere: bool = False


class _Place(NamedTuple):
    """Whole lines of a file before and after an edit, and the number of the first one."""

    old: str
    new: str
    first: int | None


def relative(path: str, folders: Iterable[str]) -> str:
    """Return the path below the first of these folders that holds it; else the path itself."""
    for folder in folders:
        inside = path.removeprefix(f"{folder.rstrip('/')}/")
        if folder and inside != path and ".." not in inside.split("/"):
            return inside
    return path


def list_changes(
    call: Call, folders: Iterable[str] = (), content: str | None = None
) -> File | None:
    """Return the changes of an Edit, MultiEdit or Write; None for every other call.

    Args:
        call: the call
        folders: the file is named as below one of these, if it is there
        content: the text of the file now, if it is known
    """
    edits = _list_edits(call)
    if not edits or not all(isinstance(text, str) for edit in edits for text in edit[:2]):
        return None
    name, parts = relative(call.path, folders), list[Part]()
    if call.tool == "Write":
        parts += _compare(_Place(hide_secrets(content or ""), edits[0].new, 1), "")
        return File(name, ["the whole file is written"], parts)
    for number, edit in enumerate(edits, 1):
        head = f"edit {number} of {len(edits)}" if len(edits) > 1 else ""
        where = "at every place where it occurs" if edit.everywhere else ""
        place, content = _find_place(edit, content)
        gone = "" if content is None or place.first else "this text is not in the file now"
        parts += _compare(place, ", ".join(filter(None, (head, where, gone))))
    return File(name, [], parts)


def list_others(call: Call) -> dict[str, Any]:
    """Return what the input of a call has beside the fields that its diff shows."""
    shown = _SHOWN.get(call.tool, frozenset())
    others = {name: value for name, value in call.input.items() if name not in shown}
    listed = call.input.get("edits") if call.tool == "MultiEdit" else ()
    if any(set(one) - _SHOWN["Edit"] for one in listed or () if isinstance(one, dict)):
        others["edits"] = listed
    return others


def _list_edits(call: Call) -> list[_Edit]:
    given = call.input
    if call.tool == "Write":
        return [_Edit("", given.get("content"))]
    listed = given.get("edits") if call.tool == "MultiEdit" else [given]
    if call.tool not in ("Edit", "MultiEdit") or not isinstance(listed, list):
        return []
    return [
        _Edit(one.get("old_string"), one.get("new_string"), bool(one.get("replace_all")))
        if isinstance(one, dict)
        else _Edit(None, None)
        for one in listed
    ]


def _find_place(edit: _Edit, content: str | None) -> tuple[_Place, str | None]:
    """Return the edit with whole lines around it, and the content after it."""
    at = content.find(edit.old) if content and edit.old else -1
    if content is None or at < 0:
        return _Place(edit.old, edit.new, None), content
    # The end of the line before the first line, and the end of the last line.
    start, end = at, at + len(edit.old) - 1
    for _ in range(_CONTEXT + 1):
        start = content.rfind("\n", 0, start) if start > 0 else -1
        end = content.find("\n", end + 1) if end < len(content) else end
        end = len(content) if end < 0 else end
    start += 1
    # No one asked to show the secrets around an edit.
    before, after = map(hide_secrets, (content[start:at], content[at + len(edit.old) : end]))
    first = content.count("\n", 0, start) + 1
    count = -1 if edit.everywhere else 1
    place = _Place(f"{before}{edit.old}{after}", f"{before}{edit.new}{after}", first)
    return place, content.replace(edit.old, edit.new, count)


def _compare(place: _Place, head: str) -> Iterator[Part]:
    before, after = _split_lines(place.old), _split_lines(place.new)
    if before[-1:] == after[-1:] == [""]:
        # Both end with a line end, which begins no further line.
        before, after = before[:-1], after[:-1]
    groups: Iterable[list[Any]] = [[("replace", 0, len(before), 0, len(after))]]
    if len(before) + len(after) <= _MAX_COMPARED:
        groups = SequenceMatcher(None, before, after).get_grouped_opcodes(_CONTEXT)
    for group in groups:
        rows: list[Row] = []
        for tag, a, b, c, d in group:
            if tag == "equal":
                numbers = zip(_count(place, a, b), _count(place, c, d), before[a:b], strict=True)
                rows += [Row(" ", old, new, line) for old, new, line in numbers]
                continue
            removed = zip(_count(place, a, b), before[a:b], strict=True)
            added = zip(_count(place, c, d), after[c:d], strict=True)
            rows += [Row("-", number, None, line) for number, line in removed]
            rows += [Row("+", None, number, line) for number, line in added]
        yield Part(head, rows)


def _split_lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _count(place: _Place, start: int, end: int) -> list[int | None]:
    """Return the numbers of these lines; without its file, they have none."""
    return [place.first + at if place.first else None for at in range(start, end)]
