"""Arguments of `Gate` and `AsyncGate`, checked when they are given."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.app import wiring
from gatebell.domain.arguments import must_be_text
from gatebell.domain.asks.ask_options import read_options
from gatebell.domain.asks.requests import Request
from gatebell.domain.asks.times import as_seconds
from gatebell.domain.lists import as_list
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gatebell.domain.asks.ask_options import AskOptions
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


def build_request(
    call: str,
    prompt: str,
    kind: str,
    given: AskOptions,
    beside: Sequence[str],
    *,
    options: Sequence[str] = (),
    multiple: bool = False,
    returns: object = None,
) -> tuple[Request, str]:
    """Return the request of an ask and its owner; `beside`: the other arguments of the call.

    Raises:
        UnknownOptionError: An option does not exist.
        UsageError: An option has a value that it cannot have.
    """
    fields = read_options(call, given, *beside)
    owner = fields.pop("owner", "")
    must_be_text(owner, "owner")
    offered = as_list(options, "options")
    if returns is not None and returns is not str:
        # Imported here: most asks are for a text or a yes.
        from gatebell.api.schemas import build_schema

        fields["schema"] = build_schema(returns)
    return Request(prompt, kind, offered, multiple, **fields), owner


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
