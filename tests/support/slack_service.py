"""An imitation of Slack on this machine, by its public reference: the Web API and Socket Mode.

The WebSocket is written out (RFC 6455), so that the real slack-sdk connects to it. A request of
Socket Mode stays until it was acknowledged, and goes again to the next connection.
"""

from __future__ import annotations

import hashlib
import json
import struct
import threading
from base64 import b64encode
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs

from tests.support.chat_service import ChatService

TOKENS = ("xoxb-stand-in-bot", "xapp-stand-in-app")
_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10


class SlackService(ChatService):
    def __init__(self):
        service = self
        self.waiting, self.acknowledged, self.links, self._next = {}, [], [], 1
        self.opened, self.scopes = 0, "chat:write,im:history"

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"] or 0)).decode()
                kind = self.headers.get("content-type", "")
                given = (
                    json.loads(body or "{}")
                    if "json" in kind
                    else {name: one[0] for name, one in parse_qs(body).items()}
                )
                token = self.headers.get("authorization", "").removeprefix("Bearer ")
                method = self.path.rpartition("/")[2]
                status, answer, headers = service.act(method, token, given)
                text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                with suppress(OSError):
                    self.send_response(status)
                    for name, value in {"content-length": str(len(text)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(text)

            do_GET_ = do_POST  # noqa: N815  http.server's name

            def do_GET(self):
                if self.headers.get("upgrade", "").lower() == "websocket":
                    self.close_connection = True
                    with suppress(OSError):
                        service.converse(self)

            def log_message(self, *_):
                """Print nothing."""

        super().__init__(Handler)
        self.url += "/api/"

    def close(self):
        self.cut()
        super().close()

    # The app's side

    def act(self, method, token, given):
        wanted = TOKENS[1] if method == "apps.connections.open" else TOKENS[0]
        with self.news:
            self.calls.append((method, given))
            try:
                if token != wanted:
                    return 200, {"ok": False, "error": "invalid_auth"}, {}
                if faults := self.faults.get(method):
                    return faults.pop(0)
                headers = {"x-oauth-scopes": self.scopes} if method == "auth.test" else {}
                return 200, {"ok": True, **self._answer(method, given)}, headers
            except LookupError as error:
                return 200, {"ok": False, "error": str(error.args[0])}, {}
            finally:
                self.news.notify_all()

    def _answer(self, method, given):
        if method == "apps.connections.open":
            return {"url": self.url.replace("http://", "ws://").replace("/api/", "/link")}
        if method == "chat.postMessage":
            return {"ts": self._keep(given), "channel": given["channel"]}
        if method == "chat.update":
            if given["ts"] not in self.messages:
                raise LookupError("message_not_found")
            self.messages[given["ts"]] = {**given, **_parts(given), "edited": True}
            return {"ts": given["ts"]}
        if method == "conversations.replies":
            found = [
                {"ts": at, **one}
                for at, one in self.messages.items()
                if given["ts"] in (at, one.get("thread_ts"))
            ]
            return {"messages": found}
        if method == "auth.test":
            return {"user": "gatebell", "team": "Stand-in"}
        if method == "chat.postEphemeral":
            return {"message_ts": "1.1"}
        raise LookupError("unknown_method")

    def _keep(self, given):
        at = f"1700000000.{self._next:06}"
        self._next += 1
        self.messages[at] = {**given, **_parts(given)}
        return at

    # Socket Mode

    def converse(self, handler):
        key = handler.headers["sec-websocket-key"] + _MAGIC
        accept = b64encode(hashlib.sha1(key.encode()).digest()).decode()
        link = _Link(handler, accept)
        with self.news:
            self.opened += 1
            self.links.append(link)
        link.send({"type": "hello", "num_connections": 1})
        with self.news:
            again = list(self.waiting.values())
            self.news.notify_all()
        for request in again:
            link.send(request)
        try:
            for answer in link.receive():
                with self.news:
                    envelope = answer.get("envelope_id")
                    if self.waiting.pop(envelope, None):
                        self.acknowledged.append(envelope)
                    self.news.notify_all()
        finally:
            with self.news:
                self.links.remove(link)
                self.news.notify_all()

    def cut(self):
        """End every connection without a word."""
        with self.news:
            links = list(self.links)
        for one in links:
            one.cut()

    def give(self, kind, payload, *, times=1):
        """Send a request; return the id by which it is acknowledged."""
        with self.news:
            self._next += 1
            envelope = f"e{self._next}"
            request = {"type": kind, "envelope_id": envelope, "payload": payload}
            self.waiting[envelope] = request
            links = list(self.links)
        for one in links:
            for _ in range(times):
                with suppress(OSError):
                    one.send(request)
        return envelope

    # The person's side

    def words(self, text, about="", account="U7", **more):
        with self.news:
            at = f"1700000000.{self._next:06}"
            self._next += 1
            thread = {"thread_ts": about} if about else {}
            event = {
                "type": "message", "channel_type": "im", "channel": "D7", "user": account,
                "text": text, "ts": at, **thread, **more,
            }  # fmt: skip
            if about and event["channel"] == "D7" and event["channel_type"] == "im":
                self.messages[at] = {name: event[name] for name in event if name != "ts"}
        return {"type": "event_callback", "team_id": "T1", "event": event}

    def say(self, *words, **more):
        return self.give("events_api", self.words(*words, **more))

    def pressed(self, at, label, account="U7", value=None):
        found = {one["text"]["text"]: one["value"] for one in self.buttons(at)}
        with self.news:
            self._next += 1
            pressed_at = f"1700000001.{self._next:06}"
        return {
            "type": "block_actions", "user": {"id": account},
            "container": {"type": "message", "message_ts": at, "channel_id": "D7"},
            "actions": [{"action_id": "gate-0", "value": value or found[label], "action_ts": pressed_at}],
        }  # fmt: skip

    def press(self, at, label, **more):
        return self.give("interactive", self.pressed(at, label, **more))

    def buttons(self, at):
        blocks = self.messages[at].get("blocks", [])
        return [one for block in blocks if block["type"] == "actions" for one in block["elements"]]

    def wait_acknowledged(self, envelope):
        self.wait(lambda: envelope in self.acknowledged, f"{envelope} was never acknowledged")

    def text(self, at):
        """Return every text of a message."""
        return "\n".join(_list_texts(self.messages[at].get("blocks", [])))

    def find(self, words):
        """Return the newest message of the app with these words."""
        with self.news:
            return max((at for at in self.messages if words in self.text(at)), default="")


def _parts(given):
    blocks = given.get("blocks", "[]")
    parts = json.loads(blocks) if isinstance(blocks, str) else blocks
    for one in _list_texts(parts):
        assert len(one) <= 3000
    return {"blocks": parts}


def _list_texts(part):
    if isinstance(part, list):
        for one in part:
            yield from _list_texts(one)
    elif isinstance(part, dict):
        if isinstance(part.get("text"), str):
            yield part["text"]
        for one in part.values():
            yield from _list_texts(one)


class _Link:
    """One WebSocket."""

    def __init__(self, handler, accept):
        self._socket, self._read, self._lock = handler.connection, handler.rfile, threading.Lock()
        lines = (
            "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
            f"Sec-WebSocket-Accept: {accept}", "", "",
        )  # fmt: skip
        self._socket.sendall("\r\n".join(lines).encode())

    def send(self, document):
        self._write(_TEXT, json.dumps(document).encode())

    def _write(self, opcode, data):
        size = bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack("!H", len(data))
        with self._lock:
            self._socket.sendall(bytes([0x80 | opcode]) + size + data)

    def receive(self):
        while head := self._read.read(2):
            opcode, size = head[0] & 15, head[1] & 127
            if size == 126:
                (size,) = struct.unpack("!H", self._read.read(2))
            mask = self._read.read(4)
            data = bytes(one ^ mask[at % 4] for at, one in enumerate(self._read.read(size)))
            if opcode == _PING:
                self._write(_PONG, data)
            elif opcode == _CLOSE:
                return
            elif opcode == _TEXT:
                yield json.loads(data)

    def cut(self):
        import socket

        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
