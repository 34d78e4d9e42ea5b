"""Opens the channel at the beginning of each road."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import ChannelKind

if TYPE_CHECKING:
    from gatebell.domain.notifications.routes import Road
    from gatebell.ports.channels import Channel
    from gatebell.ports.clock import Clock


class NotificationChannels:
    """Loads a channel only when a road needs it: some load many modules."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def open(self, road: Road) -> Channel:
        # A match, so that the type checker reports a kind that is left out.
        match road.via:
            case ChannelKind.DESKTOP:
                from gatebell.adapters.channels.desktop import DesktopChannel

                return DesktopChannel()
            case ChannelKind.COMMAND:
                from gatebell.adapters.channels.command import CommandChannel

                return CommandChannel(road.target)
            case ChannelKind.WEBHOOK:
                from gatebell.adapters.channels.webhook import WebhookChannel

                return WebhookChannel(road.target, road.secret, self._clock.now)
            case ChannelKind.APPRISE:
                from gatebell.adapters.channels.apprise import AppriseChannel

                return AppriseChannel(road.target)
