"""Messages of people who ask back, and the asker's replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.arguments import must_be_text

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask, Message
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backends.backend import Backend


def list_new_messages(backend: Backend, ask: Ask) -> list[Message]:
    """Return the messages of people that the asker has not received."""
    messages = [message for message in backend.messages(ask.id) if not message.by_asker]
    return messages[ask.heard : ask.asked_back]


def send_reply(backend: Backend, caller: Caller, ask: Ask, text: str) -> None:
    """Send the asker's reply to people who asked back."""
    must_be_text(text, "the result of reply=", "return the words for the person")
    backend.reply(ask.id, caller, text)
