"""An imitation of Telegram's Bot API on this machine, by its public reference.

Updates are kept until a poll with a higher offset confirms them. Long polls wait. Texts, marks and
buttons beyond the limits are refused as the reference says.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler

from tests.support.chat_service import PATIENCE_SECONDS, ChatService

TOKEN = "123456:stand-in-token-of-the-tests-abc"


def units(text):
    return len(text.encode("utf-16-le")) // 2


class TelegramService(ChatService):
    def __init__(self):
        service = self
        self.waits, self.updates = True, []
        self.confirmed, self._next_update, self._next_message, self._polls = 0, 100, 1, 0

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                size = int(self.headers["content-length"])
                sent = self.rfile.read(size)
                if len(sent) < size:
                    return  # the client was killed
                given = json.loads(sent or b"{}")
                _, bot, method = self.path.split("/")
                status, answer = service.act(bot, method, given)
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                try:
                    self.send_response(status)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass  # the client was killed

            def log_message(self, *_):
                """Print nothing."""

        self._methods = {
            "sendMessage": self._send, "editMessageText": self._edit,
            "answerCallbackQuery": lambda _: _ok(True),
            "getMe": lambda _: _ok({"id": 123456, "is_bot": True, "username": "gate_test_bot"}),
        }  # fmt: skip
        super().__init__(Handler)

    def close(self):
        with self.news:
            self.updates, self.waits = None, False
            self.news.notify_all()
        super().close()

    # The bot's side

    def act(self, bot, method, given):
        if bot != f"bot{TOKEN}":
            return _fail(401, "Unauthorized")
        with self.news:
            self.calls.append((method, given))
            self.news.notify_all()
            if faults := self.faults.get(method):
                return faults.pop(0)
        if method == "getUpdates":
            return self._poll(given)
        with self.news:
            try:
                return self._methods[method](given)
            finally:
                self.news.notify_all()

    def _poll(self, given):
        with self.news:
            # A second poll ends the first one.
            self._polls = mine = self._polls + 1
            self.news.notify_all()
            if offset := given.get("offset", 0):
                self.updates = [one for one in self.updates or [] if one["update_id"] >= offset]
                self.confirmed = max(self.confirmed, offset - 1)
                self.news.notify_all()

            def fitting():
                return [one for one in self.updates or [] if one["update_id"] >= offset]

            self.news.wait_for(
                lambda: not self.waits or fitting() or self._polls != mine,
                given.get("timeout", 0) if self.waits else 0,
            )
            self.waits = self.updates is not None
            if self._polls != mine:
                return _fail(409, "Conflict: terminated by other getUpdates request")
            return _ok(fitting()[: given.get("limit", 100)])

    def _send(self, given):
        if wrong := _find_fault(given):
            return _fail(400, f"Bad Request: {wrong}")
        number = self._next_message
        self._next_message += 1
        self.messages[number] = dict(given)
        return _ok({"message_id": number, "chat": {"id": given["chat_id"]}})

    def _edit(self, given):
        old = self.messages.get(given["message_id"])
        if old is None:
            return _fail(400, "Bad Request: message to edit not found")
        if old["text"] == given["text"]:
            return _fail(400, "Bad Request: message is not modified")
        if wrong := _find_fault(given):
            return _fail(400, f"Bad Request: {wrong}")
        self.messages[given["message_id"]] = {**given, "edited": True}
        return _ok({"message_id": given["message_id"]})

    # The person's side

    def give(self, *updates, number=None):
        """Put updates into the queue, in this order; return the number of the last one."""
        with self.news:
            for update in updates:
                self._next_update = number or self._next_update + 1
                self.updates.append({"update_id": self._next_update, **update})
            self.news.notify_all()
            return self._next_update

    def end_poll(self):
        """Let the poll that waits now end without an update, as after its time."""
        with self.news:
            before = self._polls
            self.waits = False
            self.news.notify_all()
            assert self.news.wait_for(lambda: self._polls > before, PATIENCE_SECONDS)

    def say(self, text, about=0, account=7, **more):
        return self.give(self.words(text, about, account, **more))

    def words(self, text, about=0, account=7, **more):
        with self.news:
            number = self._next_message
            self._next_message += 1
        message = {
            "message_id": number, "date": 1, "text": text, "from": {"id": account, "is_bot": False},
            "chat": {"id": account, "type": "private"},
        }  # fmt: skip
        if about:
            message["reply_to_message"] = {"message_id": about}
        return {"message": message | more}

    def press(self, about, label, account=7):
        return self.give(self.pressed(about, label, account))

    def pressed(self, about, label, account=7, data=None, query=None):
        buttons = [
            one for row in self.messages[about].get("reply_markup", {}).get("inline_keyboard", [])
            for one in row
        ]  # fmt: skip
        data = data or next(one["callback_data"] for one in buttons if one["text"] == label)
        with self.news:
            self._next_message += 1
            query = query or f"q{self._next_message}"
        return {
            "callback_query": {
                "id": query, "from": {"id": account, "is_bot": False}, "data": data,
                "message": {"message_id": about, "chat": {"id": account, "type": "private"}},
            }
        }  # fmt: skip

    def wait_confirmed(self, number):
        self.wait(lambda: self.confirmed >= number, f"update {number} was never confirmed")

    def find(self, words):
        """Return the number of the newest message with these words."""
        with self.news:
            return max((n for n, one in self.messages.items() if words in one["text"]), default=0)

    def labels(self, number):
        rows = self.messages[number].get("reply_markup", {}).get("inline_keyboard", [])
        return [one["text"] for row in rows for one in row]


def _ok(result):
    return 200, {"ok": True, "result": result}


def _fail(status, words, **parameters):
    more = {"parameters": parameters} if parameters else {}
    return status, {"ok": False, "error_code": status, "description": words, **more}


def busy(seconds):
    """Return the answer of a service with too many messages."""
    return _fail(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


def _find_fault(given):
    text, marks = given["text"], given.get("entities", [])
    if not text.strip() or units(text) > 4096:
        return "message is too long" if text.strip() else "message text is empty"
    if "parse_mode" in given:
        return "the tests expect no markup"
    if any(one["offset"] < 0 or one["offset"] + one["length"] > units(text) for one in marks):
        return "ENTITY_BOUNDS_INVALID"
    rows = given.get("reply_markup", {}).get("inline_keyboard", [])
    if any(not 1 <= len(one["callback_data"].encode()) <= 64 for row in rows for one in row):
        return "BUTTON_DATA_INVALID"
    return ""
