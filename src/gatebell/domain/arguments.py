"""Checks for arguments that a program passes in: the error names the argument."""

from __future__ import annotations

from typing import Any

from gatebell.errors import UsageError


def must_be_text(given: Any, name: str, instead: str = "") -> None:
    """Refuse anything but a text.

    Args:
        given: the argument
        name: its name, for the error
        instead: what to write
    """
    if not isinstance(given, str):
        advice = f": {instead}" if instead else ""
        raise UsageError(f"{name} must be a text, got {_describe(given)}{advice}")


def must_be_flag(given: Any, name: str) -> None:
    """Refuse anything but True and False: the text "no" is true in Python."""
    if not isinstance(given, bool):
        raise UsageError(f"{name} must be True or False, got {_describe(given)}")


def must_be_count(given: Any, name: str) -> None:
    """Refuse anything but a whole number above 0."""
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise UsageError(f"{name} must be a whole number, at least 1, got {_describe(given)}")


def _describe(given: Any) -> str:
    if given is None or isinstance(given, str | int | float):
        return repr(given)[:60]
    if isinstance(given, type):
        return f"the class {given.__name__}"
    name = type(given).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
