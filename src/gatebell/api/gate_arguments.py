"""Arguments of `Gate` and `AsyncGate`, checked when they are given."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.app import wiring
from gatebell.domain.asks.times import as_seconds
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.asks.times import Seconds
    from gatebell.ports.store import Store


def open_given_store(store: Store | str | os.PathLike[str] | None) -> Store:
    """Open the store of a path, or return the store itself.

    Raises:
        UsageError: It is neither.
    """
    if isinstance(store, str | os.PathLike) and os.path.isdir(store):
        raise UsageError(f"{os.fspath(store)} is a folder, and a store is a file: add its name")
    if store is None or isinstance(store, str | os.PathLike):
        return wiring.open_store(None if store is None else os.fspath(store))
    if not hasattr(store, "asks"):
        raise UsageError(
            f"a Gate takes the path of a store, or a store, not {store!r}: Gate() is your own inbox"
        )
    return store


def must_be_function(reply: Callable[..., Any] | None) -> None:
    """Refuse a `reply=` that cannot be called."""
    if reply is not None and not callable(reply):
        raise UsageError(
            "reply is a function that gets a person's message and returns the reply, "
            f"got {reply!r}: write reply=lambda text: …"
        )


def read_timeout(timeout: Seconds) -> float:
    """Return the seconds of a wait; 0 does not wait at all."""
    return 0.0 if timeout == 0 else as_seconds(timeout, "timeout")
