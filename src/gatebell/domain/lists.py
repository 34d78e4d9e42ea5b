"""Checks for lists that a program passes in: a replay of the journal needs the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

USE_A_LIST = "use a list, whose order is the same each time"


def as_list(given: Any, name: str) -> tuple[Any, ...]:
    """Return the items of a list; refuse a single text, a set, or an iterator."""
    if isinstance(given, str):
        raise UsageError(f"expected a list for {name}, got one text: use a list of texts")
    if isinstance(given, Sequence) and not isinstance(given, bytes | bytearray):
        return tuple(given)
    raise UsageError(f"expected a list for {name}, got {type(given).__name__}: {USE_A_LIST}")


def as_items(given: Iterable[Any], name: str) -> list[Any]:
    """Return the items of an iterable that is made again at each replay; refuse a set."""
    if isinstance(given, set | frozenset):
        raise UsageError(f"expected a list for {name}, got {type(given).__name__}: {USE_A_LIST}")
    return list(given)
