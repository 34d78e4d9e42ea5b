"""JSON values in a message, fenced or bare, and whether they fit a form."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.forms import check_form, resolve
from gatebell.domain.runs.signals import PART_OF_MORE, QUOTED_LINE, spans, whole_json
from gatebell.domain.text.display import plain
from gatebell.errors import InvalidAnswerError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = re.compile(
    r"^[ \t]*+(?:[-*+]|\d++[.)])?[ \t]*+(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>\w+)[^\n`]*\n"
    r"(?P<inside>.*?)(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_BEGUN = re.compile(r'\{\s*"')
_FOOTNOTE = re.compile(r"\[[\d\s,]*\]")
_BRANCHES = ("allOf", "anyOf", "oneOf")


class Block(NamedTuple):
    """A JSON value in a message."""

    at: int
    text: str
    value: Any
    """None if it is invalid; then it is not a decision, as null is not."""


def last_block(text: str) -> Block | None:
    return max(_find_blocks(text), key=lambda block: block.at, default=None)


def _find_blocks(text: str) -> Iterator[Block]:
    text = QUOTED_LINE.sub("", text.replace("\r\n", "\n"))
    for fence in _FENCE.finditer(text):
        if fence["language"].lower().startswith("json"):
            yield Block(fence.start(), fence["inside"].strip(), whole_json(fence["inside"].strip()))
    bare = _FENCE.sub(lambda fence: " " * len(fence[0]), text)
    end = 0
    for start, after in spans(bare, "{["):
        yield from _find_incomplete(bare, end, start)
        end = after
        shown = bare[start:end]
        is_whole = not PART_OF_MORE.match(bare, end)
        if not _FOOTNOTE.fullmatch(shown) or _is_alone(bare, start, end):
            yield Block(start, shown, whole_json(shown) if is_whole else None)
    yield from _find_incomplete(bare, end, len(bare))


def _find_incomplete(text: str, start: int, end: int) -> Iterator[Block]:
    """Yield incomplete objects: they replace the values before them."""
    for begun in _BEGUN.finditer(text, start, end):
        yield Block(begun.start(), "", None)


def _is_alone(text: str, start: int, end: int) -> bool:
    line = text[text.rfind("\n", 0, start) + 1 : start] + text[end:].split("\n", 1)[0]
    return not line.strip()


def decision(value: Any, schema: Any) -> Any:
    """Return the value in `{"decision": …}`, unless the form itself has such a field."""
    is_wrapper = isinstance(value, dict) and "decision" in value
    return value["decision"] if is_wrapper and not _has_decision(schema, schema, 0) else value


def _has_decision(root: Any, schema: Any, depth: int) -> bool:
    if not isinstance(schema, dict) or depth > 50:
        return False
    if "decision" in schema.get("properties", ()) or "decision" in schema.get("required", ()):
        return True
    parts = [part for branch in _BRANCHES for part in schema.get(branch, ())]
    parts += [resolve(root, schema["$ref"])] if "$ref" in schema else []
    return any(_has_decision(root, part, depth + 1) for part in parts)


def fits(schema: Any, value: Any) -> bool:
    try:
        check_form(schema, plain(value))
    except (InvalidAnswerError, UsageError):
        return False
    return True


def shown_in(text: str) -> set[str]:
    """Return every JSON value in a text, with all nested objects and arrays, as canonical JSON."""
    return {
        canonical(one)
        for block in _find_blocks(text)
        for one in (block.value, *_list_parts(block.value))
    }


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _list_parts(value: Any) -> Iterator[Any]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inside:
        if one and isinstance(one, dict | list):
            yield one
            yield from _list_parts(one)
