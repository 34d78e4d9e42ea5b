"""A client of the event stream of the web inbox."""

from __future__ import annotations

import json
import socket

from gatebell.web.context import COOKIE
from tests.support.waiting import eventually


class Stream:
    """A client of the event stream, as a program would write one."""

    def __init__(self, server, token="", last="", cookie=""):
        # Earlier events are not sent to this stream.
        eventually(lambda: server._hub.seq == server.store.audit.head().seq)
        self.connection = socket.create_connection(("127.0.0.1", server.port), 10)
        again = f"Last-Event-ID: {last}\r\n" if last else ""
        login = f"Cookie: {COOKIE}={cookie}" if cookie else f"Authorization: Bearer {token}"
        head = (
            f"GET /api/events/stream HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"{login}\r\nConnection: close\r\n{again}\r\n"
        )
        self.connection.sendall(head.encode())
        self.lines = self.connection.makefile("r", encoding="utf-8")
        self.status = int(self.lines.readline().split()[1])

    def next(self):
        """Return (id, data) of the next message, or None at the end."""
        found = {}
        for line in self.lines:
            name, _, value = line.strip().partition(": ")
            if name in ("id", "data", "event"):
                found[name] = value
            elif not name and "data" in found:
                return found.get("id"), json.loads(found["data"])
        return None

    def close(self):
        self.lines.close()
        self.connection.close()
