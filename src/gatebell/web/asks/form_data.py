"""Converts the posted fields of a form to its JSON value."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from gatebell.domain.asks.forms import step
from gatebell.web.asks.schema_fields import ABSENT, Field, FieldKind, code, plan

if TYPE_CHECKING:
    from collections.abc import Mapping

MORE = "more:"
"""The prefix of buttons that only ask for one more row."""
MAX_ROWS = 500
# Deeper than any field.
_DEEPEST_NAME = 30
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)


class _Posted(NamedTuple):
    """The posted values by name, and the names below each name."""

    values: Mapping[str, Any]
    steps: dict[str, set[str]]


def read(schema: Any, posted: Mapping[str, Any]) -> Any:
    """Return the value. Text that cannot be converted stays text, and validation refuses it."""
    field = plan(schema)
    value = _read(field, "v", _Posted(posted, _steps(posted)))
    value = _left_empty(field) if value is ABSENT else value
    return None if value is ABSENT else value


def _steps(posted: Mapping[str, Any]) -> dict[str, set[str]]:
    """Index the posted names by their parents, so that no search over all is needed."""
    found: dict[str, set[str]] = {}
    for name in posted:
        parts = name.split("/", _DEEPEST_NAME)
        for depth in range(1, len(parts)):
            found.setdefault("/".join(parts[:depth]), set()).add(parts[depth])
    return found


def wants_more(posted: Mapping[str, Any]) -> bool:
    """Return whether one more row is wanted, and the form is not sent yet."""
    return any(name.startswith(MORE) for name in posted)


def from_json(typed: str) -> Any:
    """Return the JSON value, or the text itself if it is not JSON."""
    try:
        return json.loads(typed, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return typed


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _read(field: Field, name: str, posted: _Posted) -> Any:
    """Return the content of the field; ABSENT if it is empty."""
    typed = _text(posted, name)
    if field.kind in _BELOW and name in posted.steps:
        return _BELOW[field.kind](field, name, posted)
    if field.kind in _BELOW:
        # Rows that were too many to draw share one box.
        return from_json(typed) if field.kind == FieldKind.ROWS and typed.strip() else ABSENT
    if field.kind == FieldKind.LINES:
        lines = (_scalar(field.parts[0], line) for line in typed.split("\n"))
        return [line for line in lines if line is not ABSENT] or ABSENT
    return _scalar(field, typed)


def _scalar(field: Field, typed: str) -> Any:
    if not typed or (field.kind != FieldKind.TEXT and not typed.strip()):
        return ABSENT
    if field.kind == FieldKind.CHOICE:
        return _chosen(field, typed)
    if field.kind == FieldKind.NUMBER:
        return from_json(typed) if _NUMBER.fullmatch(typed.strip()) else typed
    return from_json(typed) if field.kind == FieldKind.JSON else typed


def _chosen(field: Field, typed: str) -> Any:
    return next((value for value, _ in field.options if code(value) == typed), typed)


def _group(field: Field, name: str, posted: _Posted) -> Any:
    read = [_read(part, f"{name}/{step(part.key)}", posted) for part in field.parts]
    if all(value is ABSENT for value in read):
        return ABSENT
    return _with_empty_parts(field, read)


def _with_empty_parts(field: Field, read: list[Any]) -> dict[str, Any]:
    pairs = zip(field.parts, read, strict=True)
    whole = {part.key: _left_empty(part) if one is ABSENT else one for part, one in pairs}
    return {key: value for key, value in whole.items() if value is not ABSENT}


def _left_empty(field: Field) -> Any:
    """Return the meaning of an empty field."""
    if not field.required:
        return ABSENT
    if field.nullable and field.kind != FieldKind.CHOICE:
        return None
    if field.kind == FieldKind.GROUP:
        return _with_empty_parts(field, [ABSENT] * len(field.parts))
    return [] if field.kind in (FieldKind.CHOICES, FieldKind.LINES, FieldKind.ROWS) else ABSENT


def _rows(field: Field, name: str, posted: _Posted) -> Any:
    steps = posted.steps[name]
    numbers = sorted(int(one) for one in steps if re.fullmatch(r"\d{1,4}", one, re.ASCII))
    rows = (_read(field.parts[0], f"{name}/{number}", posted) for number in numbers[:MAX_ROWS])
    return [row for row in rows if row is not ABSENT] or ABSENT


def _choices(field: Field, name: str, posted: _Posted) -> Any:
    (item,) = field.parts
    typed = [_text(posted, f"{name}/{number}") for number in range(len(item.options))]
    return [_chosen(item, one) for one in typed if one] or ABSENT


def _text(posted: _Posted, name: str) -> str:
    typed = posted.values.get(name)
    return typed.replace("\r\n", "\n") if isinstance(typed, str) else ""


_BELOW = {FieldKind.GROUP: _group, FieldKind.ROWS: _rows, FieldKind.CHOICES: _choices}
