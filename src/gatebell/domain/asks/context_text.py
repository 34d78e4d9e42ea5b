"""The context of a question as text for people."""

from __future__ import annotations

import json
from typing import Any


def context_text(context: Any) -> str:
    """Return a text unchanged, a plain mapping as lines, and any other value as JSON."""
    if context is None or isinstance(context, str):
        return context or ""
    if is_plain(context):
        return "\n".join(_describe_entry(name, value) for name, value in context.items() if value)
    return json.dumps(context, indent=2, ensure_ascii=False)


def is_plain(context: Any) -> bool:
    """Return whether it is a mapping from names to texts or lists of texts."""
    if not isinstance(context, dict) or not context:
        return False
    rows = (row for one in context.values() for row in (one if isinstance(one, list) else [one]))
    return all(isinstance(row, str) for row in rows)


def _describe_entry(name: str, value: str | list[str]) -> str:
    text = "\n".join(f"- {row}" for row in value) if isinstance(value, list) else value.strip("\n")
    is_long = isinstance(value, list) or "\n" in text
    return f"{name}:\n{text}" if is_long else f"{name}: {text}"
