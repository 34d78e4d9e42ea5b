"""Link accounts in chats to people, by a code that works once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.digests import token_digest
from gatebell.domain.notifications.chats import (
    CODES_LIVE,
    ChatLink,
    build_route,
    make_code,
    make_link_id,
)
from gatebell.domain.people.principals import must_be_a_person, person
from gatebell.errors import NotFoundError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatebell.domain.enums import ChannelKind
    from gatebell.domain.notifications.chats import ChatUpdate
    from gatebell.domain.notifications.routes import Route
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store


def invite(store: Store, caller: Caller, chat: ChannelKind) -> str:
    """Return a code by which this person links one account of theirs, within 15 minutes.

    Raises:
        AgentRefusedError: An agent asks: it could approve by an account of its own.
        RefusedError: The token of the caller was revoked, or may not answer.
    """
    must_be_a_person(caller, "links a chat")
    code = make_code(os.urandom(32))
    made = ChatLink(
        make_link_id(code), chat, caller.name, caller.verified, caller.token_id, store.now(),
        token_digest(code),
    )  # fmt: skip
    if not store.chats.invite(made, [_event(EventKind.CHAT_INVITED, made, caller)]):
        raise RefusedError("this token was revoked. Make a new one: gate person token NAME")
    return code


def use_code(store: Store, update: ChatUpdate, code: str) -> ChatLink | None:
    """Link the account that sent a code; None if the code is unknown, was used or is too old."""
    found = store.chats.get(make_link_id(code))
    if found is None or found.chat != update.chat:
        return None
    if not found.code:
        # The same update, brought again.
        is_theirs = (found.account, found.room) == (update.account, update.room)
        return found if is_theirs else None
    if found.code != token_digest(code) or store.now() - found.made_at >= CODES_LIVE:
        return None
    linked = found._replace(code="", account=update.account, room=update.room)
    event = Event(EventKind.CHAT_LINKED, found.person, person(found.person), _about(linked))
    return linked if store.chats.use(found, update.account, update.room, [event]) else None


def remove(store: Store, caller: Caller, link_id: str) -> ChatLink:
    """End a link: its account sees nothing any more, and its answers are not taken."""
    must_be_a_person(caller, "ends the link of a chat")
    found = store.chats.get(link_id)
    if found is None or not store.chats.remove(
        link_id, [_event(EventKind.CHAT_UNLINKED, found, caller)]
    ):
        raise NotFoundError(f"there is no chat link {link_id}. List all: gate person list")
    return found


def list_routes(store: Store, chats: Iterable[ChannelKind]) -> tuple[Route, ...]:
    """Return a route to each linked account of these chats."""
    wanted = tuple(chats)
    if not wanted:
        return ()
    return tuple(
        build_route(link) for link in store.chats.all() if link.account and link.chat in wanted
    )


def _about(link: ChatLink) -> dict[str, str]:
    return {"id": link.id, "chat": link.chat, "account": link.account}


def _event(kind: EventKind, link: ChatLink, caller: Caller) -> Event:
    content = {**_about(link), "via": caller.via, "evidence": caller.evidence}
    return Event(kind, link.person, caller.actor, content)
