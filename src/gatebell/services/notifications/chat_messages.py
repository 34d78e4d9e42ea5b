"""Messages about asks in chats: composed, recorded, and changed when the ask is settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import NoticeKind
from gatebell.domain.notifications import chat_cards
from gatebell.domain.notifications.chats import ChatMessage
from gatebell.domain.notifications.messages import compose
from gatebell.domain.notifications.routes import CHATS
from gatebell.ports.channels import Withdrawal
from gatebell.services.notifications.use_channel import withdraw_message

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.notifications.chat_cards import Card
    from gatebell.domain.notifications.messages import Delivery
    from gatebell.domain.notifications.notes import Note
    from gatebell.domain.notifications.routes import Route
    from gatebell.ports.channels import Post
    from gatebell.ports.store import Store


def build_card(
    store: Store, post: Post, route: Route, delivery: Delivery, ask: Ask | None, words: Note | None
) -> Card | None:
    """Return the message of a delivery to a chat; None if plain text is enough."""
    link = _link(post, ask)
    if words:
        card = chat_cards.build_words(words, ask, link)
    elif ask and delivery.kind in chat_cards.QUESTIONS:
        card = chat_cards.build_question(
            ask, delivery.kind, route.via, link, takes_calls=post.chat_calls
        )
    else:
        return None
    earlier = list_messages(store, route, ask.id) if ask else []
    return card._replace(thread=earlier[0].message if earlier else "")


def record(store: Store, route: Route, delivery: Delivery, receipt: str) -> None:
    """Record a message that was sent to a chat, so that replies to it are understood."""
    ask = store.asks.get(delivery.ask_id)
    if route.via in CHATS and ask and receipt:
        store.chats.add_message(
            ChatMessage(
                route.via, route.target, receipt, ask.id, ask.digest, delivery.kind, store.now()
            )
        )


def list_messages(store: Store, route: Route, ask_id: str) -> list[ChatMessage]:
    """Return the messages of a conversation about an ask, oldest first."""
    return [
        one
        for one in store.chats.messages_about(ask_id)
        if (one.chat, one.room) == (route.via, route.target)
    ]


def settle(store: Store, post: Post, route: Route, delivery: Delivery, ask: Ask) -> str:
    """Change each message that shows the question to who settled it; return the problem."""
    news = compose(delivery, post.url, ask)
    news = news._replace(card=chat_cards.build_settled(ask, _link(post, ask)))
    problems = [
        withdraw_message(post, route, Withdrawal("", one.message, news, None)).problem
        for one in list_messages(store, route, ask.id)
        if NoticeKind(one.kind) in chat_cards.QUESTIONS
    ]
    return next(filter(None, problems), "")


def settle_late(store: Store, post: Post, route: Route, delivery: Delivery) -> None:
    """Change a message whose ask was settled while it was sent, perhaps by another process."""
    if route.via in CHATS and delivery.kind in chat_cards.QUESTIONS:
        ask = store.asks.get(delivery.ask_id)
        if ask and not ask.pending:
            settle(store, post, route, delivery, ask)


def _link(post: Post, ask: Ask | None) -> str:
    return f"{post.url}/asks/{ask.id}" if post.url and ask else ""
