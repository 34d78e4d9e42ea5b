"""Open the channel of a route."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import ChannelKind

if TYPE_CHECKING:
    from gatebell.domain.notifications.routes import Route
    from gatebell.ports.channels import Channel
    from gatebell.ports.clock import Clock


class NotificationChannels:
    """Loads a channel only when a route needs it: some load many modules."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def open(self, route: Route) -> Channel:
        # A match, so that the type checker reports a missing kind.
        match route.via:
            case ChannelKind.DESKTOP:
                from gatebell.adapters.channels.desktop import DesktopChannel

                return DesktopChannel()
            case ChannelKind.COMMAND:
                from gatebell.adapters.channels.command import CommandChannel

                return CommandChannel(route.target)
            case ChannelKind.WEBHOOK:
                from gatebell.adapters.channels.webhook import WebhookChannel

                return WebhookChannel(route.target, route.secret, self._clock.now)
            case ChannelKind.APPRISE:
                from gatebell.adapters.channels.apprise import AppriseChannel

                return AppriseChannel(route.target)
