"""Named SQL, read from the file beside the module that uses it."""

from __future__ import annotations

import os

_HERE = os.path.dirname(__file__)


def load(noun: str) -> dict[str, str]:
    """The statements of `NOUN.sql`, by the name in the comment above each."""
    with open(os.path.join(_HERE, f"{noun}.sql"), encoding="utf-8") as file:
        parts = file.read().split("-- name: ")[1:]
    return {name.strip(): sql for name, _, sql in (part.partition("\n") for part in parts)}
