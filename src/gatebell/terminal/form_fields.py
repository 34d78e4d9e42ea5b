"""The fields of a form that a person fills in one by one, as text."""

from __future__ import annotations

import json
from typing import Any


def is_flat(schema: dict[str, Any]) -> bool:
    """Return whether each field of a form takes one line."""
    fields = schema.get("properties")
    if not isinstance(fields, dict) or not fields:
        return False
    return all(isinstance(field, dict) and _is_plain(field) for field in fields.values())


def parse_draft(draft: str) -> dict[str, Any]:
    """Return the fields that a draft has."""
    try:
        begun = json.loads(draft)
    except ValueError:
        return {}
    return begun if isinstance(begun, dict) else {}


def _is_plain(field: dict[str, Any]) -> bool:
    return field.get("type") in ("string", "number", "integer", "boolean") or "enum" in field


def parse_field(typed: str, field: dict[str, Any]) -> Any:
    """Return the value of a typed text; a text that does not fit stays text, and is refused."""
    if field.get("type") == "string":
        return typed
    if field.get("type") == "boolean" and typed.lower() in ("yes", "y", "no", "n"):
        return typed.lower() in ("yes", "y")
    try:
        return json.loads(typed)
    except ValueError:
        return typed
