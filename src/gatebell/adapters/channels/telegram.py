"""Telegram: send to a private conversation with a bot, and read what comes by long polling.

Texts have no markup. A part that is not ours is marked as code, by its place and length: Telegram
makes no link, mention or command of it.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, build_opener

from gatebell.adapters.system.short_requests import CuttableHandler, NoRedirects
from gatebell.domain.enums import ChannelKind
from gatebell.domain.notifications.chat_cards import (
    Button,
    Card,
    build_plain,
    count_units,
    find_card,
)
from gatebell.domain.notifications.chats import ChatUpdate
from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gatebell.domain.notifications.chats import ChatMessage
    from gatebell.domain.notifications.messages import NotificationMessage
    from gatebell.ports.channels import Withdrawal

_LIMIT_SECONDS = 15.0
_POLL_SECONDS = 25
_MAX_BYTES = 20_000_000
_MAX_TOAST = 190
_UPDATES = ["message", "callback_query"]
# A message with one of these has the words of another account or bot.
_OF_OTHERS = ("forward_origin", "forward_date", "via_bot", "sender_business_bot")
# An edit that changes nothing, or of a message that its reader has deleted.
_NOTHING_TO_EDIT = ("not modified", "to edit not found", "can't be edited")


class BotApi:
    """The methods of one bot. No error has the token in it."""

    def __init__(self, url: str, token: str) -> None:
        self._base = f"{url.rstrip('/')}/bot{token}/"
        self._handler: CuttableHandler | None = None

    def call(self, method: str, given: dict[str, Any], limit: float = _LIMIT_SECONDS) -> Any:
        """Call a method and return its result.

        Raises:
            DeliveryError: It failed, perhaps after the service has acted.
        """
        status, answer = self._post(method, json.dumps(given).encode(), limit)
        if status == 200 and answer.get("ok") is True:
            return answer.get("result")
        said = str(answer.get("description", ""))[:200]
        if status in (401, 404):
            raise DeliveryError("Telegram refuses the token of the bot: docs/chat.md")
        if status == 409:
            raise DeliveryError("another program reads the updates of this bot: end it")
        asked = answer.get("parameters", {})
        wait = asked.get("retry_after", 0) if isinstance(asked, dict) else 0
        raise DeliveryError(
            f"Telegram answered {status}: {said}" if said else f"Telegram answered {status}",
            wait_seconds=float(wait) if isinstance(wait, int | float) else 0.0,
        )

    def _post(self, method: str, body: bytes, limit: float) -> tuple[int, dict[str, Any]]:
        headers = {"content-type": "application/json", "user-agent": "gatebell"}
        request = Request(self._base + method, body, headers, method="POST")  # noqa: S310  the settings allow http and https only
        self._handler = handler = CuttableHandler()
        over = threading.Timer(limit + 5, handler.cut)
        over.daemon = True
        over.start()
        try:
            try:
                with build_opener(NoRedirects, handler).open(request, timeout=limit) as response:
                    status, text = int(response.status), response.read(_MAX_BYTES)
            except HTTPError as error:
                with error:
                    status, text = error.code, error.read(_MAX_BYTES)
            answer = json.loads(text)
        except ValueError:
            # A proxy in between may answer with a page.
            return (status if status != 200 else 502), {}
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            why = getattr(reason, "strerror", None) or type(reason).__name__
            raise DeliveryError(f"Telegram cannot be reached: {why}") from None
        finally:
            over.cancel()
            handler.cut()
        return status, answer if isinstance(answer, dict) else {}

    def cut(self) -> None:
        """End the call that runs now."""
        if self._handler:
            self._handler.cut()


class TelegramChannel:
    def __init__(self, url: str, token: str, room: str) -> None:
        self._api = BotApi(url, token)
        self._room = room

    def send(self, message: NotificationMessage) -> str:
        return _send(self._api, self._room, find_card(message))

    def withdraw(self, withdrawal: Withdrawal) -> None:
        given = {"chat_id": int(self._room), "message_id": int(withdrawal.receipt)}
        try:
            self._api.call("editMessageText", given | _build_text(find_card(withdrawal.news)))
        except DeliveryError as error:
            if not any(words in str(error) for words in _NOTHING_TO_EDIT):
                raise


class TelegramChat:
    """Reads the updates of the bot; each is confirmed by the next poll after it was taken."""

    kind = ChannelKind.TELEGRAM

    def __init__(self, url: str, token: str, poll_seconds: int = _POLL_SECONDS) -> None:
        self._polling = BotApi(url, token)
        self._api = BotApi(url, token)
        self._poll_seconds = poll_seconds
        self._stopped = threading.Event()
        self._offset = 0

    def listen(
        self, take: Callable[[ChatUpdate], str], threads: Callable[[], Iterable[ChatMessage]]
    ) -> None:
        while not self._stopped.is_set():
            updates = self._poll()
            for update in sorted(updates, key=_number):
                self._handle(update, take)
                self._offset = _number(update) + 1
            if not updates:
                # All are confirmed. After a quiet week the numbers begin anywhere, also below.
                self._offset = 0

    def check(self) -> str:
        return str(_dict(self._api.call("getMe", {})).get("username", ""))

    def stop(self) -> None:
        self._stopped.set()
        self._polling.cut()

    def _poll(self) -> list[dict[str, Any]]:
        given: dict[str, Any] = {"timeout": self._poll_seconds, "allowed_updates": _UPDATES}
        if self._offset:
            given["offset"] = self._offset
        try:
            found = self._polling.call("getUpdates", given, self._poll_seconds + 10.0)
        except DeliveryError:
            if self._stopped.is_set():
                return []
            raise
        return [one for one in found if _number(one)] if isinstance(found, list) else []

    def _handle(self, update: dict[str, Any], take: Callable[[ChatUpdate], str]) -> None:
        if (read := read_update(update)) and (said := take(read)):
            # The deed is recorded; a person who is not told sees it at the question.
            with suppress(DeliveryError):
                self._tell(update, read, said)

    def _tell(self, update: dict[str, Any], read: ChatUpdate, said: str) -> None:
        if read.button:
            toast = said if len(said) <= _MAX_TOAST else f"{said[:_MAX_TOAST]}…"
            given = {"callback_query_id": update["callback_query"]["id"], "text": toast}
            self._api.call("answerCallbackQuery", given | {"show_alert": len(said) > 60})
        else:
            card = build_plain(said)._replace(head="", thread=read.key.rpartition("/")[2])
            _send(self._api, read.room, card)


def _number(update: Any) -> int:
    found = update.get("update_id") if isinstance(update, dict) else 0
    return found if isinstance(found, int) else 0


def read_update(update: dict[str, Any]) -> ChatUpdate | None:
    """Read an update of a private conversation; None for any other one."""
    if pressed := _dict(update.get("callback_query")):
        message, author = _dict(pressed.get("message")), _dict(pressed.get("from"))
        if not _is_private(_dict(message.get("chat")), author) or not pressed.get("id"):
            return None
        account = str(author["id"])
        return ChatUpdate(
            ChannelKind.TELEGRAM, f"press/{pressed['id']}", account, account,
            str(message.get("message_id", "")), button=str(pressed.get("data", "")) or "-",
        )  # fmt: skip
    message = _dict(update.get("message"))
    author = _dict(message.get("from"))
    is_own = not any(message.get(name) for name in _OF_OTHERS)
    if not (is_own and _is_private(_dict(message.get("chat")), author)) or not message.get(
        "message_id"
    ):
        return None
    account, text = str(author["id"]), message.get("text")
    about = _dict(message.get("reply_to_message")).get("message_id", "")
    return ChatUpdate(
        ChannelKind.TELEGRAM, f"{account}/{message['message_id']}", account, account,
        str(about), text if isinstance(text, str) else "",
    )  # fmt: skip


def _is_private(chat: dict[str, Any], author: dict[str, Any]) -> bool:
    return (
        chat.get("type") == "private"
        and isinstance(author.get("id"), int)
        and chat.get("id") == author["id"]
        and not author.get("is_bot")
    )


def _dict(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _send(api: BotApi, room: str, card: Card) -> str:
    given: dict[str, Any] = {"chat_id": int(room)} | _build_text(card)
    if card.thread:
        thread = {"message_id": int(card.thread), "allow_sending_without_reply": True}
        given["reply_parameters"] = thread
    if card.buttons:
        given["reply_markup"] = {"inline_keyboard": _list_rows(card.buttons)}
    elif card.wants_text:
        given["reply_markup"] = {"force_reply": True}
    sent = _dict(api.call("sendMessage", given))
    return str(sent.get("message_id", ""))


def _build_text(card: Card) -> dict[str, Any]:
    """Return the text of a message and where its parts are."""
    head = f"{card.head}\n\n" if card.head else ""
    foot = "\n".join(part for part in (card.foot, card.link) if part)
    text = f"{head}{card.shown}" + (f"\n\n{foot}" if foot else "")
    marks = []
    if card.head:
        marks.append({"type": "bold", "offset": 0, "length": count_units(card.head)})
    if card.shown:
        place = {"offset": count_units(head), "length": count_units(card.shown)}
        marks.append({"type": "pre", **place})
    return {"text": text, "entities": marks, "link_preview_options": {"is_disabled": True}}


def _list_rows(buttons: Iterable[Button]) -> list[list[dict[str, str]]]:
    """Return yes and no beside each other, and every option on a line of its own."""
    made = [{"text": one.label, "callback_data": one.data} for one in buttons]
    return [made] if any(one.is_yes or one.is_no for one in buttons) else [[one] for one in made]
