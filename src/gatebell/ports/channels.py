"""The ports to notifications and chats: a channel sends messages, a chat brings what people say."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import tzinfo

    from gatebell.domain.enums import ChannelKind
    from gatebell.domain.notifications.chats import ChatMessage, ChatUpdate
    from gatebell.domain.notifications.messages import NotificationMessage
    from gatebell.domain.notifications.routes import Route


class Channel(Protocol):
    """Sends a message by one route."""

    def send(self, message: NotificationMessage) -> str | None:
        """Deliver a message; return once it is delivered, in less than a minute.

        Returns:
            A receipt by which `withdraw` finds the message, if the channel needs one.

        Raises:
            DeliveryError: It was not delivered. The text has no password and no address.
        """
        ...


class Withdrawal(NamedTuple):
    """A message that was sent, of which an ask is settled now."""

    message_id: str
    receipt: str
    news: NotificationMessage
    """Which ask is settled, for channels that run a program."""
    rest: NotificationMessage | None
    """The same message about the asks that still wait; None if none does."""


class WithdrawingChannel(Channel, Protocol):
    """A channel that can take back or change what it sent (`routes.can_withdraw`)."""

    def withdraw(self, withdrawal: Withdrawal) -> None:
        """Take a message back, or change it to the rest; a message that is gone is no error.

        Raises:
            DeliveryError: It may still be shown.
        """
        ...


class Chat(Protocol):
    """Brings what people write and press in a chat; its channel sends and changes messages."""

    kind: ChannelKind

    def listen(
        self, take: Callable[[ChatUpdate], str], threads: Callable[[], Iterable[ChatMessage]]
    ) -> None:
        """Bring each update until `stop` is called.

        An update is confirmed to the service after `take` has returned, never before: after a crash
        the service brings it again.

        Args:
            take: acts on an update, and returns what its author is told; it may get an update twice
            threads: the messages below which replies may have been missed

        Raises:
            DeliveryError: The service refuses the token, or cannot be reached now.
        """
        ...

    def check(self) -> str:
        """Ask the service for the name of the bot.

        Raises:
            DeliveryError: The service refuses a token, cannot be reached, or the bot lacks a right.
        """
        ...

    def stop(self) -> None:
        """End `listen`, from another thread."""
        ...


class ChatLock(Protocol):
    """Lets one process of this host listen to a chat."""

    def take(self) -> bool:
        """Take it until `release` or the end of this process; False: another one has it."""
        ...

    def release(self) -> None:
        """Leave it to another one."""
        ...


class Channels(Protocol):
    """Opens the channels of a sender."""

    def open(self, route: Route) -> Channel:
        """Return the channel of a route."""
        ...


class Post(NamedTuple):
    """Everything that a sender needs beside the store."""

    routes: tuple[Route, ...]
    channels: Channels
    url: str = ""
    """The address of the web inbox; messages link to it."""
    zone: tzinfo | None = None
    """The time zone of the quiet hours; None means that of this machine."""
    chat_calls: bool = True
    """Whether tool calls are decided in chats."""
    person: str = ""
    """Whose settings these are: on a store without people, the routes of everybody are theirs."""


class PostSource(Protocol):
    """Watches the settings of a sender that runs for long."""

    def renew(self) -> Post | None:
        """Return changed settings; None while they are the same or cannot be read."""
        ...
