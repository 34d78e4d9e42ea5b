"""The door to people who are not looking: one verb."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from datetime import tzinfo

    from gatebell.domain.notifications.messages import NotificationMessage
    from gatebell.domain.notifications.routes import Route


class Channel(Protocol):
    """Takes a message to whoever is at the end of one route."""

    def send(self, message: NotificationMessage) -> None:
        """Return once it is delivered, in less than a minute.

        Otherwise a DeliveryError, whose sentence holds no password and no address.
        """
        ...


class Channels(Protocol):
    """Opens the channels of a sender."""

    def open(self, route: Route) -> Channel:
        """The channel that this route begins with."""
        ...


class Post(NamedTuple):
    """All that a sender must know beside the store."""

    routes: tuple[Route, ...]
    channels: Channels
    url: str = ""
    """Where the web inbox is reached; messages link there."""
    zone: tzinfo | None = None
    """Of the quiet hours; none: this machine's."""


class PostSource(Protocol):
    """Watches the settings of a sender that stays for long."""

    def renew(self) -> Post | None:
        """The post anew; None while its settings are the same, or cannot be read."""
        ...
