"""What the imitated services of chats have in common: the calls that came, and waits for them."""

from __future__ import annotations

import threading
from http.server import ThreadingHTTPServer

PATIENCE_SECONDS = 60


class ChatService:
    """A server on this machine that keeps the calls of the bot."""

    def __init__(self, handler):
        self.news = threading.Condition()
        self.calls, self.faults, self.messages = [], {}, {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def wait(self, true, what="it never came"):
        with self.news:
            assert self.news.wait_for(true, PATIENCE_SECONDS), f"{what}: {self.calls[-5:]}"

    def called(self, method):
        with self.news:
            return [given for name, given in self.calls if name == method]
