"""Times of the Python API: a number of seconds, or a timedelta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.errors import UsageError

if TYPE_CHECKING:
    from datetime import timedelta

    Seconds = float | timedelta
    """A number of seconds, or a timedelta."""

_MAX_SECONDS = 1e9


def as_seconds(given: Any, name: str, least: float = 0) -> float:
    """Return a time in seconds.

    Args:
        given: a number of seconds, or a timedelta
        name: the option that it was given for, for the error
        least: the shortest time that is allowed; 0 means above 0

    Raises:
        UsageError: It is not a time, is too short, or is longer than thirty years.
    """
    # By its method: a caller who has a timedelta has imported datetime, the others need not.
    seconds = given.total_seconds() if hasattr(given, "total_seconds") else given
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    # A comparison with NaN is never true.
    if is_number and seconds > 0 and least <= seconds < _MAX_SECONDS:
        return seconds  # type: ignore[no-any-return]  # a number by now
    bound = f"at least {least:g}" if least else "above 0"
    raise UsageError(f"{name} must be a number of seconds {bound}, or a timedelta, got {given!r}")
