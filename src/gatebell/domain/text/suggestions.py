"""Suggestions for misspelled words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def suggest(word: str, known: Iterable[str]) -> str:
    """Return the end of an error, `; did you mean 'alice'?`; empty if no word is similar."""
    # Imported here: only errors need it.
    from difflib import get_close_matches

    by_case = {one.casefold(): one for one in known}
    near = get_close_matches(word.casefold(), by_case, n=1)
    return f"; did you mean '{by_case[near[0]]}'?" if near else ""
