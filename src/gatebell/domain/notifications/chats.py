"""Chats: the accounts that people have linked, and what comes from them."""

from __future__ import annotations

import re
from base64 import b32encode
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.digests import token_digest
from gatebell.domain.notifications.routes import Route

if TYPE_CHECKING:
    from gatebell.domain.enums import ChannelKind

CODES_LIVE = timedelta(minutes=15)
MESSAGES_KEPT = timedelta(days=90)
_CODE_BYTES = 15
"""In base32 24 characters: too many to guess, few enough to type."""
_GIVEN_CODE = re.compile(r"\s*/?(?:start|link)\s+([A-Za-z2-7]{4}(?:-?[A-Za-z2-7]{4}){5})\s*")


class ChatLink(NamedTuple):
    """The account of a person in a chat; without an account, an invitation whose code waits."""

    id: str
    chat: ChannelKind
    person: str
    verified: bool
    """Whether it was made with a personal token; otherwise the name is that of the OS user."""
    token_id: str
    made_at: datetime
    code: str = ""
    """The digest of the code; empty after its use."""
    account: str = ""
    room: str = ""
    """The private conversation between the account and the bot."""


class ChatMessage(NamedTuple):
    """A message about an ask that the bot has sent."""

    chat: ChannelKind
    room: str
    message: str
    """Its id in the conversation."""
    ask_id: str
    digest: str
    """Of the question that it shows."""
    kind: str
    sent_at: datetime


class ChatUpdate(NamedTuple):
    """What an account has written or pressed. Everything in it is untrusted but the account."""

    chat: ChannelKind
    key: str
    """The same at each delivery of this update, and of no other."""
    account: str
    room: str
    about: str = ""
    """The id of the bot's message that was answered, or whose button was pressed."""
    text: str = ""
    button: str = ""
    """The data of the pressed button."""
    is_again: bool = False
    """Looked up later: it may have been handled, and then nothing is said."""


def make_code(random_bytes: bytes) -> str:
    """Return a code that links one account once, as a person types it."""
    text = b32encode(random_bytes[:_CODE_BYTES]).decode()
    return "-".join(text[at : at + 4] for at in range(0, len(text), 4))


def read_code(text: str) -> str:
    """Return the code of `/start CODE` or `link CODE` as it was made; else an empty text."""
    found = _GIVEN_CODE.fullmatch(text[:100])
    bare = found.group(1).upper().replace("-", "") if found else ""
    return "-".join(bare[at : at + 4] for at in range(0, len(bare), 4))


def make_link_id(code: str) -> str:
    """Return the id by which a link is listed and ended; it does not reveal the code."""
    return f"c-{token_digest(code)[:10]}"


def build_route(link: ChatLink) -> Route:
    """Return the route to an account."""
    return Route(link.chat, link.room, link.person)
