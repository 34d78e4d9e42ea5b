"""Open the channel of a route, and the chats in which people answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import ChannelKind
from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gatebell.domain.notifications.routes import Route
    from gatebell.ports.channels import Channel, Chat
    from gatebell.ports.clock import Clock


class NotificationChannels:
    """Loads a channel only when a route needs it: some load many modules."""

    def __init__(
        self,
        clock: Clock,
        push_key: Callable[[], bytes],
        services: Sequence[str],
        contact: str,
        access: Mapping[ChannelKind, tuple[str, tuple[str, ...]]] | None = None,
    ) -> None:
        """Take what web push needs: the store's secret, the allowed services, and an address.

        `access` has the address of each chat's service, and its tokens.
        """
        self._access = access or {}
        self._clock = clock
        self._push_key = push_key
        self._services = services
        self._contact = contact

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
                return _open_address(route.target)

            case ChannelKind.WEBPUSH:
                from gatebell.adapters.channels.webpush import WebPushChannel

                return WebPushChannel(
                    route, self._push_key, self._services, self._contact, self._clock.now
                )
            case ChannelKind.TELEGRAM:
                from gatebell.adapters.channels.telegram import TelegramChannel

                url, (token,) = self._find_access(route.via)
                return TelegramChannel(url, token, route.target)
            case ChannelKind.SLACK:
                from gatebell.adapters.channels.slack import SlackChannel

                url, tokens = self._find_access(route.via)
                return SlackChannel(url, tokens[0], route.target)

    def _find_access(self, chat: ChannelKind) -> tuple[str, tuple[str, ...]]:
        url, tokens = self._access.get(chat, ("", ()))
        if not tokens:
            raise DeliveryError(f"{chat} is not set up here: docs/chat.md")
        return url, tokens


def open_chat(chat: ChannelKind, url: str, tokens: Sequence[str]) -> Chat:
    """Return what brings the updates of a chat."""
    if chat == ChannelKind.TELEGRAM:
        from gatebell.adapters.channels.telegram import TelegramChat

        return TelegramChat(url, tokens[0])
    from gatebell.adapters.channels.slack import SlackChat

    return SlackChat(url, tokens[0], tokens[1])


def _open_address(address: str) -> Channel:
    """Return the channel of an Apprise address. Apprise cannot take messages back from ntfy."""
    from gatebell.domain.notifications.ntfy_topics import parse_topic

    if topic := parse_topic(address):
        from gatebell.adapters.channels.ntfy import NtfyChannel

        return NtfyChannel(topic)
    from gatebell.adapters.channels.apprise import AppriseChannel

    return AppriseChannel(address)
