"""Named SQL, read from the file beside the module that uses it, and what its columns hold."""

from __future__ import annotations

import json
import os
from datetime import datetime
from typing import Any

_HERE = os.path.dirname(__file__)


def load(noun: str) -> dict[str, str]:
    """The statements of `NOUN.sql`, by the name in the comment above each."""
    with open(os.path.join(_HERE, f"{noun}.sql"), encoding="utf-8") as file:
        parts = file.read().split("-- name: ")[1:]
    return {name.strip(): sql for name, _, sql in (part.partition("\n") for part in parts)}


def as_json(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def from_json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def as_time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
