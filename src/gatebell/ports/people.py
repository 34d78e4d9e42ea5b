"""The ports to people: tokens, logins, devices, chats and presence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from gatebell.domain.audit.events import Event
    from gatebell.domain.notifications.chats import ChatLink, ChatMessage
    from gatebell.domain.notifications.devices import Device
    from gatebell.domain.people.logins import Login, Token
    from gatebell.domain.people.principals import Person


class People(Protocol):
    """People, their tokens (only digests of them) and their groups."""

    def add(self, name: str, events: Sequence[Event]) -> bool:
        """Add a person; False if the name is taken."""
        ...

    def remove(self, name: str, events: Sequence[Event]) -> bool:
        """Remove a person, with their tokens; False if the person does not exist."""
        ...

    def all(self) -> list[Person]:
        """Return all people."""
        ...

    def add_token(self, token: Token, token_digest: str, events: Sequence[Event]) -> bool:
        """Add a token of a person; False if the person does not exist."""
        ...

    def by_token(self, token_digest: str) -> Token | None:
        """Return the token with this digest, or None."""
        ...

    def tokens(self) -> list[Token]:
        """Return all tokens."""
        ...

    def remove_token(self, token_id: str, events: Sequence[Event]) -> bool:
        """Remove a token with the logins that were made with it; False if there is none of this id."""
        ...

    def set_group(self, name: str, members: Sequence[str], events: Sequence[Event]) -> None:
        """Set the members of a group; without members the group is removed."""
        ...

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Return the members of each group."""
        ...


class Logins(Protocol):
    """Links into the web inbox, and the logins that they become; only digests of them."""

    def add_link(self, digest: str, login: Login, events: Sequence[Event]) -> bool:
        """Add a link; False if the token of its maker is gone."""
        ...

    def link(self, digest: str) -> Login | None:
        """Return the login that an unused link gives, or None."""
        ...

    def enter(self, digest: str, login: Login, link: str, events: Sequence[Event]) -> bool:
        """Write a login.

        Args:
            digest: the digest of the login's secret
            login: the person, the scopes and the end
            link: the digest of the link that was used, or an empty text
            events: its audit events

        Returns:
            False if the link was used before, or the token of its maker is gone.
        """
        ...

    def get(self, digest: str) -> Login | None:
        """Return a login that has neither expired nor ended, or None."""
        ...

    def end(self, digest: str, events: Sequence[Event]) -> None:
        """End a login."""
        ...

    def end_all(self, events: Sequence[Event]) -> int:
        """End every login and every link; return how many there were."""
        ...


class Devices(Protocol):
    """Browsers that get notifications.

    A device ends with its token, its person, and the login of its browser. When another person
    signs in to the same browser, it ends, too.
    """

    def add(self, device: Device, events: Sequence[Event]) -> bool:
        """Add a device, or replace the one of this id; False if the token of its login is gone."""
        ...

    def remove(self, device_id: str, events: Sequence[Event]) -> bool:
        """Remove a device; False if there is none of this id."""
        ...

    def get(self, device_id: str) -> Device | None:
        """Return a device, or None."""
        ...

    def all(self) -> list[Device]:
        """Return all devices."""
        ...


class Chats(Protocol):
    """Accounts in chats that belong to people, and the messages that were sent to them.

    A link ends with its token and with its person.
    """

    def invite(self, link: ChatLink, events: Sequence[Event]) -> bool:
        """Add a link without an account; False if its token is gone. Codes that are too old end."""
        ...

    def use(self, link: ChatLink, account: str, room: str, events: Sequence[Event]) -> bool:
        """Give a link its account; False if its code was used or is too old.

        Another link of this account ends.
        """
        ...

    def remove(self, link_id: str, events: Sequence[Event]) -> bool:
        """Remove a link; False if there is none of this id."""
        ...

    def get(self, link_id: str) -> ChatLink | None:
        """Return a link, or None."""
        ...

    def of_account(self, chat: str, account: str) -> ChatLink | None:
        """Return the link of an account, or None."""
        ...

    def all(self) -> list[ChatLink]:
        """Return all links, with those that have no account yet."""
        ...

    def add_message(self, message: ChatMessage) -> None:
        """Record a message that was sent, unless it is known; forget those of months ago."""
        ...

    def message(self, chat: str, room: str, message: str) -> ChatMessage | None:
        """Return a message of a conversation, or None."""
        ...

    def messages_about(self, ask_id: str) -> list[ChatMessage]:
        """Return the messages about an ask, oldest first."""
        ...


class Presence(Protocol):
    """When each person was last seen at a screen of gate or of an agent. It has no audit events."""

    def see(self, people: Iterable[str]) -> None:
        """Record that these people are here now, in one write."""
        ...

    def last_seen(self, person: str) -> datetime | None:
        """Return when a person was last seen; None if never."""
        ...
