"""Web push: the content of a message to a browser, and which asks it may decide."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.requirements import ANY_PERSON
from gatebell.domain.digests import keyed_digest, text_digest
from gatebell.domain.enums import AskKind, Decision, NoticeKind, Priority
from gatebell.domain.text.display import inert_line
from gatebell.domain.text.redaction import redact

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.notifications.messages import NotificationMessage

# A lock screen shows about so much of a message.
_SHOWN_COLUMNS = 150
# A push service takes 4096 bytes, of which the encryption needs 103.
_MAX_BYTES = 3900
_TOPIC_CHARACTERS = 32
_MAX_TTL_SECONDS = 86400
_SHOW_THE_QUESTION = (NoticeKind.OPENED, NoticeKind.REMINDER, NoticeKind.ESCALATED)


def can_be_decided(ask: Ask) -> bool:
    """Return whether an ask may be approved or rejected on a lock screen.

    Only an approval that the message shows whole, that one person decides, and that holds no tool
    call: gates hold calls because they are dangerous.
    """
    question = ask.question
    return (
        ask.pending
        and question.kind == AskKind.APPROVAL
        and question.requirement == ANY_PERSON
        and question.call is None
        and question.session is None
        and not question.context
        and not question.attachments
        # Blanks push words out of sight, and marks take no column.
        and "  " not in question.prompt
        and len(question.prompt) <= _SHOWN_COLUMNS
        and inert_line(redact(question.prompt), _SHOWN_COLUMNS) == question.prompt
    )


def has_buttons(kind: NoticeKind, ask: Ask | None) -> bool:
    """Return whether a message has the buttons Approve and Reject."""
    return kind in _SHOW_THE_QUESTION and ask is not None and can_be_decided(ask)


def make_button(secret: bytes, device_id: str, ask: Ask, decision: Decision) -> str:
    """Return the token of one button: for this device, this question and this decision only."""
    return keyed_digest(["button", device_id, ask.id, ask.digest, decision], secret)


def build_payload(device_id: str, message: NotificationMessage) -> bytes:
    """Return the message for the service worker (`web/static/sw.js`)."""
    if message.kind == NoticeKind.WITHDRAWN:
        return _encode({"type": "close", "tag": message.id})
    content: dict[str, Any] = {
        "type": message.kind,
        "tag": message.id,
        "title": message.title,
        "body": message.body,
        "ask": message.ask_id,
    }
    whole = content | {"device": device_id} | dict(message.buttons)
    if len(_encode(whole)) <= _MAX_BYTES:
        return _encode(whole)
    # Without buttons: what is cut is not shown.
    while len(_encode(content)) > _MAX_BYTES:
        content["body"] = content["body"][: len(content["body"]) // 2] + "…"
    return _encode(content)


def _encode(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


def build_headers(message: NotificationMessage, now: datetime) -> dict[str, str]:
    """Return the headers that tell a push service how long and how urgently to try (RFC 8030)."""
    return {
        "ttl": str(_find_ttl(message, now)),
        "urgency": _find_urgency(message),
        # A withdrawal replaces the message itself if that still waits for the device.
        "topic": text_digest(f"topic {message.id}")[:_TOPIC_CHARACTERS],
    }


def _find_ttl(message: NotificationMessage, now: datetime) -> int:
    expires_at = message.document["data"].get("expires_at")
    if message.kind == NoticeKind.WITHDRAWN or not expires_at:
        return _MAX_TTL_SECONDS
    left = int((datetime.fromisoformat(expires_at) - now).total_seconds())
    return max(0, min(left, _MAX_TTL_SECONDS))


def _find_urgency(message: NotificationMessage) -> str:
    if message.kind == NoticeKind.WITHDRAWN:
        return "low"
    return "high" if message.priority <= Priority.HIGH else "normal"
