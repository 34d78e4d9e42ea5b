"""Convert the values of columns."""

from __future__ import annotations

import json
from datetime import MAXYEAR, MINYEAR, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from gatebell.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import Enum

    _Member = TypeVar("_Member", bound=Enum)

_T = TypeVar("_T")


def as_json(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def from_json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def as_time(text: str | None) -> datetime | None:
    return read_time(text) if text else None


def read_time(text: str) -> datetime:
    """Read a time that gate wrote: it has a zone, and is some days away from the limits.

    Raises:
        ValueError: It is something else.
    """
    at = datetime.fromisoformat(text)
    if at.tzinfo is None or not MINYEAR < at.year < MAXYEAR:
        raise ValueError(f"not a time of gate: {text!r}")
    return at


class _UnknownValueError(ValueError):
    """A value outside of its closed set."""


def as_member(members: type[_Member], value: Any) -> _Member:
    """Return the enum member for the value of a column.

    Raises:
        ValueError: This version does not know the value.
    """
    try:
        return members(value)
    except ValueError:
        words = "".join(f" {one.lower()}" if one.isupper() else one for one in members.__name__)
        raise _UnknownValueError(f"{value!r} as its{words}") from None


def names_unreadable(
    noun: str, key: int = 0
) -> Callable[[Callable[[Any], _T]], Callable[[Any], _T]]:
    """Decorate a function that reads a row: its errors name the row and say what to do."""

    def decorate(read: Callable[[Any], _T]) -> Callable[[Any], _T]:
        @wraps(read)
        def read_checked(row: Any) -> _T:
            try:
                return read(row)
            except _UnknownValueError as error:
                raise StoreError(
                    f"{noun} {row[key]} cannot be read: this gatebell does not know {error}. A "
                    "newer version or another program wrote it. Upgrade gatebell, or restore a "
                    "backup of the store."
                ) from error
            except (ValueError, TypeError) as error:
                raise StoreError(
                    f"{noun} {row[key]} cannot be read ({error}): another program changed the "
                    "store. Gate did not change it. Find the column with `gate audit verify`, and "
                    "restore a backup of the store."
                ) from error

        return read_checked

    return decorate
