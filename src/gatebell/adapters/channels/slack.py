"""Slack: send to a direct conversation with an app, and read what comes by Socket Mode.

Texts are parts of blocks that Slack does not read as markup: no link, mention or emoji is made of
them.
"""

from __future__ import annotations

import logging
import re
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import ChannelKind
from gatebell.domain.notifications.chat_cards import Card, build_plain, find_card
from gatebell.domain.notifications.chats import ChatUpdate
from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slack_sdk import WebClient

    from gatebell.domain.notifications.chats import ChatMessage
    from gatebell.domain.notifications.messages import NotificationMessage
    from gatebell.ports.channels import Withdrawal

_LIMIT_SECONDS = 15
# A connection that ended without a word is noticed after five pings; until then the library spins.
_PING_SECONDS = 2.0
_MAX_MISSED = 200
# Messages that a person has written; other kinds report edits, joins and the like.
_WRITTEN = (None, "file_share", "thread_broadcast")
_EVENTS, _PRESSES = ("events_api",), ("interactive",)
_NOTHING_TO_EDIT = ("message_not_found", "cant_update_message", "edit_window_closed")
_REFUSED = (
    "invalid_auth",
    "not_authed",
    "token_revoked",
    "account_inactive",
    "not_allowed_token_type",
)
_SCOPES = ("chat:write", "im:history")
_LINK = re.compile(r"<((?:https?|mailto|tel):[^|>]*)(?:\|([^>]*))?>")

_log = logging.getLogger(__name__)


def _open_client(url: str, token: str) -> WebClient:
    try:
        # Imported here: it is an extra, and loads slowly.
        from slack_sdk import WebClient
    except ImportError:
        raise DeliveryError("Slack needs slack-sdk: pip install 'gatebell[notify]'") from None
    # No retries of its own: it would send a message again that may have arrived.
    return WebClient(
        token, base_url=f"{url.rstrip('/')}/", timeout=_LIMIT_SECONDS, retry_handlers=[]
    )


def _call(method: Callable[..., Any], **given: Any) -> dict[str, Any]:
    """Call a method of the API and return its answer.

    Raises:
        DeliveryError: It failed. The text has no token.
    """
    answer = getattr(_try(method, **given), "data", None)
    return answer if isinstance(answer, dict) else {}


def _try(method: Callable[..., Any], **given: Any) -> Any:
    from slack_sdk.errors import SlackApiError, SlackClientError

    try:
        return method(**given)
    except SlackApiError as error:
        status = getattr(error.response, "status_code", 0)
        headers = getattr(error.response, "headers", {})
        word = str(error.response.get("error", ""))[:100] if status < 500 else ""
        if word in _REFUSED:
            raise DeliveryError(f"Slack refuses the token ({word}): docs/chat.md") from None
        wait = str(headers.get("Retry-After", headers.get("retry-after", "")))
        raise DeliveryError(
            f"Slack answered {status}{f': {word}' if word else ''}",
            wait_seconds=float(wait) if status == 429 and wait.isdecimal() else 0.0,
        ) from None
    except (SlackClientError, OSError, ValueError) as error:
        raise DeliveryError(f"Slack cannot be reached: {type(error).__name__}") from None


class SlackChannel:
    def __init__(self, url: str, token: str, room: str) -> None:
        self._client = _open_client(url, token)
        self._room = room

    def send(self, message: NotificationMessage) -> str:
        return _send(self._client, self._room, find_card(message))

    def withdraw(self, withdrawal: Withdrawal) -> None:
        given = {"channel": self._room, "ts": withdrawal.receipt}
        try:
            _call(self._client.chat_update, **given, **_build_text(find_card(withdrawal.news)))
        except DeliveryError as error:
            if not any(word in str(error) for word in _NOTHING_TO_EDIT):
                raise


class SlackChat:
    """Reads what is written and pressed; each is confirmed after it was taken."""

    kind = ChannelKind.SLACK

    def __init__(
        self, url: str, token: str, app_token: str, ping_seconds: float = _PING_SECONDS
    ) -> None:
        self._url, self._token, self._app_token = url, token, app_token
        self._ping_seconds = ping_seconds
        self._stopped = threading.Event()
        self._taking = threading.Lock()
        self._known: set[str] = set()
        """The replies that were taken, so that nothing is said about them again."""

    def listen(
        self, take: Callable[[ChatUpdate], str], threads: Callable[[], Iterable[ChatMessage]]
    ) -> None:
        web = _open_client(self._url, self._token)
        # Imported here, as above.
        from slack_sdk.socket_mode import SocketModeClient
        from slack_sdk.socket_mode.response import SocketModeResponse

        # One at a time, in their order.
        client = SocketModeClient(
            self._app_token, logger=_log, web_client=web, concurrency=1,
            ping_interval=self._ping_seconds,
        )  # fmt: skip

        def take_once(read: ChatUpdate) -> str:
            # A reply may come as an event while it is read below its question.
            with self._taking:
                said = take(read) if read.key not in self._known else ""
                self._known.add(read.key)
            return said

        def handle(_: Any, request: Any) -> None:
            try:
                read = read_request(request.type, request.payload)
                said = take_once(read) if read else ""
            except Exception as error:
                # Without a confirmation: Slack brings it again, or shows that it did not work.
                _log.warning("an update was not recorded: %s", error)
                return
            client.send_socket_mode_response(SocketModeResponse(request.envelope_id))
            if read and said:
                _tell(web, read, said)

        def catch_up(_: Any, message: dict[str, Any], __: Any = None) -> None:
            if message.get("type") == "hello":
                with self._taking:
                    self._known = _read_missed(web, take, threads, self._known)

        client.message_listeners.append(catch_up)
        client.socket_mode_request_listeners.append(handle)
        try:
            # From then on the client connects again by itself.
            _try(client.connect)
            if not client.is_connected():
                raise DeliveryError("Slack cannot be reached: no connection")
            while not self._stopped.wait(1.0):
                pass
        finally:
            _close(client)

    def check(self) -> str:
        answer = _try(_open_client(self._url, self._token).auth_test)
        # The header that lists the scopes of the token.
        headers = {name.lower(): value for name, value in answer.headers.items()}
        scopes = str(headers.get("x-oauth-scopes", ",".join(_SCOPES))).replace(" ", "").split(",")
        if missing := [one for one in _SCOPES if one not in scopes]:
            raise DeliveryError(f"the bot lacks the scopes {', '.join(missing)}: docs/chat.md")
        app = _open_client(self._url, self._app_token)
        _call(app.apps_connections_open, app_token=self._app_token)
        return str(answer.get("user", ""))

    def stop(self) -> None:
        self._stopped.set()


def _close(client: Any) -> None:
    # A read that waits would keep the library from closing for seconds.
    with suppress(Exception):
        client.current_session.sock.shutdown(socket.SHUT_RDWR)
    client.close()


def _read_missed(
    web: WebClient,
    take: Callable[[ChatUpdate], str],
    threads: Callable[[], Iterable[ChatMessage]],
    known: set[str],
) -> set[str]:
    """Take the replies that came while nothing listened: Slack brings them only for minutes.

    Returns:
        the keys of the replies that it found, for the next time
    """
    seen = set()
    for thread in threads():
        try:
            given = {"channel": thread.room, "ts": thread.message, "limit": _MAX_MISSED}
            found = _call(web.conversations_replies, **given).get("messages", [])
            for message in found if isinstance(found, list) else []:
                read = _read_message({**message, "channel": thread.room, "channel_type": "im"})
                if not (read and read.about):
                    continue
                is_new = read.key not in known
                if is_new and (said := take(read._replace(is_again=True))):
                    _tell(web, read, said)
                seen.add(read.key)
        except Exception as error:
            _log.warning("replies below a question could not be read: %s", error)
    return seen


def _tell(web: WebClient, read: ChatUpdate, said: str) -> None:
    card = build_plain(said)._replace(head="", thread=read.about)
    # The deed is recorded; a person who is not told sees it at the question.
    with suppress(DeliveryError):
        if read.button:
            given = {"channel": read.room, "user": read.account}
            _call(web.chat_postEphemeral, **given, **_build_text(card))
        else:
            _send(web, read.room, card)


def read_request(kind: str, payload: dict[str, Any]) -> ChatUpdate | None:
    """Read a request of Socket Mode; None for one that is not about an ask."""
    if kind in _EVENTS:
        return _read_message(_dict(payload.get("event")))
    if kind in _PRESSES and payload.get("type") == "block_actions":
        return _read_press(payload)
    return None


def _read_message(event: dict[str, Any]) -> ChatUpdate | None:
    account, room, at = (event.get(name) for name in ("user", "channel", "ts"))
    is_ours = event.get("type") == "message" and event.get("channel_type") == "im"
    is_written = event.get("subtype") in _WRITTEN and not event.get("bot_id")
    if not (is_ours and is_written and account and room and at):
        return None
    thread = str(event.get("thread_ts", ""))
    about = thread if thread != at else ""
    text = event.get("text")
    words = _read_text(text) if isinstance(text, str) else ""
    return ChatUpdate(ChannelKind.SLACK, f"{room}/{at}", str(account), str(room), about, words)


def _read_press(payload: dict[str, Any]) -> ChatUpdate | None:
    container, actions = _dict(payload.get("container")), payload.get("actions")
    account = _dict(payload.get("user")).get("id")
    room, message = container.get("channel_id"), container.get("message_ts")
    action = _dict(actions[0]) if isinstance(actions, list) and actions else {}
    if not (account and room and message and action.get("action_ts")):
        return None
    key = f"press/{message}/{action['action_ts']}/{account}"
    button = str(action.get("value", "")) or "-"
    return ChatUpdate(ChannelKind.SLACK, key, str(account), str(room), str(message), button=button)


def _read_text(text: str) -> str:
    """Return what was typed: Slack marks links and hides three characters."""
    plain = _LINK.sub(lambda found: found.group(2) or found.group(1), text)
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _dict(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _send(web: WebClient, room: str, card: Card) -> str:
    given: dict[str, Any] = {"channel": room, "unfurl_links": False, "unfurl_media": False}
    if card.thread:
        given["thread_ts"] = card.thread
    return str(_call(web.chat_postMessage, **given, **_build_text(card)).get("ts", ""))


def _build_text(card: Card) -> dict[str, Any]:
    """Return the blocks of a message; `text` is what a notification of Slack shows."""
    blocks: list[dict[str, Any]] = []
    if card.head:
        blocks.append({"type": "section", "text": _plain(card.head)})
    if card.shown:
        code = {"type": "rich_text_preformatted", "elements": [_text(card.shown)]}
        blocks.append({"type": "rich_text", "elements": [code]})
    foot = [_text(f"{card.foot} ")] if card.foot else []
    if card.link:
        foot.append({"type": "link", "url": card.link, "text": "Open it in the inbox"})
    if foot:
        section = {"type": "rich_text_section", "elements": foot}
        blocks.append({"type": "rich_text", "elements": [section]})
    if card.buttons:
        buttons = [
            {
                "type": "button", "action_id": f"gate-{number}", "value": one.data,
                "text": _plain(one.label),
            }
            | ({"style": "primary"} if one.is_yes else {"style": "danger"} if one.is_no else {})
            for number, one in enumerate(card.buttons)
        ]  # fmt: skip
        blocks.append({"type": "actions", "elements": buttons})
    return {"text": card.head or "gate", "blocks": blocks, "parse": "none", "link_names": False}


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
