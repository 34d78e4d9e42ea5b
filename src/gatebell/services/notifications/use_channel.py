"""Use the channel of a route with a time limit, and describe what went wrong."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple, cast

from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.notifications.messages import NotificationMessage
    from gatebell.domain.notifications.routes import Route
    from gatebell.ports.channels import Channel, Post, Withdrawal, WithdrawingChannel

# Shorter than a claim, longer than the limits of the channels themselves.
_SENDS_WITHIN_SECONDS = 40.0


class Use(NamedTuple):
    """The result of one use of a channel."""

    problem: str
    """Empty if it worked."""
    receipt: str = ""
    is_gone: bool = False
    """Its service does not know the receiver any more."""
    wait_seconds: float = 0.0
    """The pause that its service wants."""


def send_message(post: Post, route: Route, message: NotificationMessage) -> Use:
    """Send a message by the channel of a route."""
    return _use_in_time(post, route, lambda channel: channel.send(message))


def withdraw_message(post: Post, route: Route, withdrawal: Withdrawal) -> Use:
    """Take a message back by the channel of a route, which can do that."""

    def withdraw(channel: Channel) -> None:
        cast("WithdrawingChannel", channel).withdraw(withdrawal)

    return _use_in_time(post, route, withdraw)


def _use_in_time(post: Post, route: Route, act: Callable[[Channel], str | None]) -> Use:
    """Open the channel of a route and use it. Do not wait for a slow channel."""
    uses: list[Use] = []
    thread = threading.Thread(target=lambda: uses.append(_use(post, route, act)), daemon=True)
    thread.start()
    thread.join(_SENDS_WITHIN_SECONDS)
    return uses[0] if uses else Use(f"it took longer than {_SENDS_WITHIN_SECONDS:g} seconds")


def _use(post: Post, route: Route, act: Callable[[Channel], str | None]) -> Use:
    try:
        return Use("", act(post.channels.open(route)) or "")
    except DeliveryError as error:
        return Use(str(error), is_gone=error.is_gone, wait_seconds=error.wait_seconds)
    except Exception as error:
        # A channel may raise anything. The text may contain the address, so only the type is shown.
        return Use(f"unexpected error ({type(error).__name__})")
