"""Suggestions for misspelled words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


_LEAST_BEGINNING = 2


def suggest(word: str, known: Iterable[str]) -> str:
    """Return the end of an error, `; did you mean 'alice'?`; empty if no word is similar."""
    # Imported here: only errors need it.
    from difflib import get_close_matches

    # Without the dashes of options, which would make all of them alike.
    by_case, meant = {_reduce(one): one for one in known}, _reduce(word)
    # The beginning of a word is meant as that word, however long the rest of it is.
    begun = [one for one in by_case if len(meant) >= _LEAST_BEGINNING and one.startswith(meant)]
    near = begun[:1] or get_close_matches(meant, by_case, n=1)
    return f"; did you mean '{by_case[near[0]]}'?" if near else ""


def _reduce(word: str) -> str:
    return word.casefold().lstrip("-")
