"""Times in the zone of the person who reads them; the store and JSON have UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_SECONDS = "%Y-%m-%d %H:%M:%S"
_MINUTES = "%Y-%m-%d %H:%M"
_IN_SENTENCE = re.compile(r"\b(\d{4}-\d\d-\d\d \d\d:\d\d)(:\d\d)? UTC\b", re.ASCII)


def format_local(at: datetime) -> str:
    """Return a time with the name of its zone, as `2026-11-18 12:20:49 CET`."""
    return f"{at.astimezone():{_SECONDS} %Z}"


def format_stamp(text: str) -> str:
    """Return a time of the store for a list, as `2026-11-18 12:20:49`; other text is unchanged."""
    try:
        return f"{datetime.fromisoformat(text).astimezone():{_SECONDS}}"
    except (ValueError, OverflowError):
        return text


def localise(sentence: str) -> str:
    """Return a sentence of ours with its UTC times in the reader's zone."""
    return _IN_SENTENCE.sub(_localise_time, sentence)


def _localise_time(found: re.Match[str]) -> str:
    try:
        at = datetime.fromisoformat(f"{found[1]}{found[2] or ''}").replace(tzinfo=UTC)
        return f"{at.astimezone():{_SECONDS if found[2] else _MINUTES} %Z}"
    except (ValueError, OverflowError):
        return found[0]
