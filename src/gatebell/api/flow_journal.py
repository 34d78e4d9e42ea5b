"""How the calls of a flow reach the journal of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from gatebell.errors import StoreError, UsageError
from gatebell.services.runs.run_journal import Unwritable, current

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.services.runs.run_journal import Branch

_T = TypeVar("_T")


def make_call(name: str, call: Callable[..., _T], *args: Any, **named: Any) -> _T:
    """Make a call. If it cannot be recorded the flow must not go on, even if it catches errors."""
    branch = find_branch(name)
    try:
        return call(branch, *args, **named)
    except StoreError as error:
        branch.raise_always(Unwritable(error))


def find_branch(name: str) -> Branch:
    try:
        return current.get()
    except LookupError:
        raise UsageError(
            f"{name}() works inside a flow only: put it into a function with @flow above it, and "
            "start that with: gate run FILE PROMPT"
        ) from None
