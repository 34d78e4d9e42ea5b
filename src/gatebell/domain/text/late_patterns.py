"""Regular expressions that are compiled when they are used first: a hook needs few of them."""

from __future__ import annotations

import re
from typing import Any, cast


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that behaves like `re.compile(text, flags)`, which it calls at its first use."""
    return cast("re.Pattern[str]", _LatePattern(text, flags))


class _LatePattern:
    def __init__(self, text: str, flags: int) -> None:
        self._given = (text, flags)

    def __getattr__(self, name: str) -> Any:
        """Return a method of the compiled pattern; called only for names that are not there yet."""
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found
