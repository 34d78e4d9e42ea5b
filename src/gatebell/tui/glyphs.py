"""Characters of our own words that few fonts have, or that are wide in some of them."""

from __future__ import annotations

_COMMON = str.maketrans({"⏸": "‖", "❓": "?"})


def choose_common(glyph: str) -> str:
    """Return a character that common fonts have, with the width of one column."""
    return glyph.translate(_COMMON)
