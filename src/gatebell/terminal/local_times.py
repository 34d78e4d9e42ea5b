"""Times in the zone of the person who reads them; the store and JSON have UTC."""

from __future__ import annotations

from datetime import datetime

_SECONDS = "%Y-%m-%d %H:%M:%S"


def format_local(at: datetime) -> str:
    """Return a time with the name of its zone, as `2026-11-18 12:20:49 CET`."""
    return f"{at.astimezone():{_SECONDS} %Z}"


def format_stamp(text: str) -> str:
    """Return a time of the store for a list, as `2026-11-18 12:20:49`; other text is unchanged."""
    try:
        return f"{datetime.fromisoformat(text).astimezone():{_SECONDS}}"
    except (ValueError, OverflowError):
        return text
