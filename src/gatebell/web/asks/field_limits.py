"""The limits of a form's field in words, so that a person knows them before the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_PATTERN = 200


def describe_limits(schema: dict[str, Any]) -> str:
    """Return the limits of a value, as `from 1 to 9, a multiple of 3`; empty without any."""
    return ", ".join(_list_limits(schema))


def _list_limits(schema: dict[str, Any]) -> Iterator[str]:
    yield from _describe_range(schema.get("minimum"), schema.get("maximum"), "")
    for word, name in (("exclusiveMinimum", "more than"), ("exclusiveMaximum", "less than")):
        if _is_number(schema.get(word)):
            yield f"{name} {schema[word]}"
    if _is_number(schema.get("multipleOf")):
        yield f"a multiple of {schema['multipleOf']}"
    characters = schema.get("minLength") or None, schema.get("maxLength")
    entries = schema.get("minItems") or None, schema.get("maxItems")
    yield from _describe_range(*characters, " characters")
    yield from _describe_range(*entries, " entries")
    if isinstance(pattern := schema.get("pattern"), str):
        yield f"it must match {pattern[:_MAX_PATTERN]}"


def _describe_range(least: Any, most: Any, unit: str) -> Iterator[str]:
    if _is_number(least) and _is_number(most):
        yield f"exactly {most}{unit}" if least == most else f"from {least} to {most}{unit}"
    elif _is_number(least):
        yield f"at least {least}{unit}"
    elif _is_number(most):
        yield f"at most {most}{unit}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
