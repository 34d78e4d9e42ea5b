"""Act on what a person wrote or pressed in a chat, by the same verbs as everywhere.

Every verb has the key of its update, so an update that comes again changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.messages import warn_of_silence
from gatebell.domain.enums import AskKind
from gatebell.domain.notifications import chat_cards
from gatebell.domain.notifications.chats import ChatMessage, read_code
from gatebell.domain.people.principals import Caller, person
from gatebell.errors import GateError, StoreError
from gatebell.services.asks import answer_ask, ask_messages, create_ask
from gatebell.services.chats import link_chat

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.notifications.chats import ChatLink, ChatUpdate
    from gatebell.ports.store import Store

_OLD = "This message is not known here any more. Open the question in the inbox."
_WHICH = "Reply to the message of a question, so that it is clear which one you mean."
_HIDDEN = (
    "Nothing was sent on: the answer is secret. Delete your message if it has the secret, and "
    "answer in the inbox."
)


def take_update(store: Store, update: ChatUpdate, *, chat_calls: bool) -> str:
    """Act on an update; return what its author is told.

    An account that is not linked is told nothing.

    Raises:
        StoreError: Nothing is known about the update: it must come again.
    """
    link = store.chats.of_account(update.chat, update.account)
    code = read_code(update.text)
    if linked := link_chat.use_code(store, update, code) if code else None:
        end = f"To end that: gate person unlink {linked.id}"
        return f"This account now answers for {linked.person}. {end}"
    if link is None or link.room != update.room:
        return ""
    try:
        if update.button:
            return _press(store, link, update, chat_calls=chat_calls)
        return _write(store, link, update, chat_calls=chat_calls)
    except StoreError:
        raise
    except GateError as error:
        # Unlinked at this moment: it is told nothing any more.
        return str(error) if store.chats.get(link.id) else ""


def _press(store: Store, link: ChatLink, update: ChatUpdate, *, chat_calls: bool) -> str:
    pressed = chat_cards.read_button(update.button)
    if pressed is None:
        return _OLD
    ask = create_ask.get(store, pressed.ask_id)
    value = chat_cards.find_value(ask, pressed.choice)
    if value is None or not chat_cards.shows(pressed, ask):
        return f"This button does not belong to {ask.id}. Open it in the inbox."
    if reason := chat_cards.why_elsewhere(ask, link.chat, takes_calls=chat_calls):
        return reason
    # Perhaps a message of a sender that died before it could record it.
    shown = ChatMessage(
        link.chat, link.room, update.about, ask.id, ask.digest, chat_cards.QUESTIONS[0], store.now()
    )
    if update.about:
        store.chats.add_message(shown)
    return _answer(store, link, update, ask, value)


def _write(store: Store, link: ChatLink, update: ChatUpdate, *, chat_calls: bool) -> str:
    if not update.text.strip():
        return _WHICH
    about = store.chats.message(update.chat, update.room, update.about) if update.about else None
    if about is None:
        return _OLD if update.about else _WHICH
    ask = create_ask.get(store, about.ask_id)
    if update.is_again and _is_known(store, link, update, ask):
        return ""
    if ask.question.secret or ask.token_digest:
        return _HIDDEN
    kind, text = ask.question.answered_as, update.text.strip()
    takes_words = kind == AskKind.TEXT or (kind == AskKind.CHOICE and ask.question.other)
    elsewhere = chat_cards.why_elsewhere(ask, link.chat, takes_calls=chat_calls)
    if takes_words and not elsewhere and not text.startswith("?"):
        value: Any = text if kind == AskKind.TEXT else {"other": text}
        return _answer(store, link, update, ask, value, about.digest)
    said = text.removeprefix("?").strip() or text
    ask_messages.ask_back(store, ask.id, _caller(link, update), said, update.key)
    return f"Sent to the agent of {ask.id}. {warn_of_silence(ask)}".rstrip()


def _answer(
    store: Store, link: ChatLink, update: ChatUpdate, ask: Ask, value: Any, shown: str = ""
) -> str:
    given = Given(value, digest=shown or ask.digest, key=_key(update))
    answer, after = answer_ask.answer(store, ask.id, _caller(link, update), given)
    if after.pending:
        return f"Recorded. {ask.id} is not settled yet: it needs {ask.question.requirement}"
    return f"{ask.id}: {answer.decision or 'answered'}"


def _is_known(store: Store, link: ChatLink, update: ChatUpdate, ask: Ask) -> bool:
    """Return whether this update was handled before."""
    caller = _caller(link, update)
    return bool(
        store.asks.answer_with_key(ask.id, caller.actor, _key(update))
        or ask_messages.is_sent(store, ask.id, update.key)
        or not ask.pending
    )


def _caller(link: ChatLink, update: ChatUpdate) -> Caller:
    """Return the person of a link: the service of the chat proves the account."""
    evidence = {"chat": link.chat, "account": link.account, "link": link.id, "update": update.key}
    return Caller(
        person(link.person), link.verified, link.chat.value, None, evidence, link.token_id, link.id
    )


def _key(update: ChatUpdate) -> str:
    return f"{update.chat} {update.key}"
