"""A real inbox, a real browser that is logged in to it, and a hostile site beside it."""

from __future__ import annotations

import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

import pytest
import uvicorn
from tests.security.fingerprint import Fingerprint
from tests.support.people import a_person
from tests.support.waiting import eventually

from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.asks.asks import Origin
from gatebell.domain.digests import text_digest
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_logins, manage_people
from gatebell.web.app import make_app, make_web_context
from gatebell.web.context import COOKIE, local_site


class Seen(NamedTuple):
    """One request as it arrived at a server."""

    method: str
    path: str
    headers: dict[str, str]
    status: int = 0
    query: str = ""
    body: str = ""


class RealInbox:
    """The inbox on a real port, with a list of the requests."""

    def __init__(self, folder):
        path = str(folder / "gate.db")
        self.store = open_throwaway_store(path)
        self.fingerprint = Fingerprint(path)
        self.seen: list[Seen] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.host, self.url = f"127.0.0.1:{self.port}", f"http://127.0.0.1:{self.port}"
        self.desk = make_web_context(self.store, local_site(self.port))
        config = uvicorn.Config(
            self._record(make_app(self.desk)), log_level="warning", access_log=False, ws="none"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()
        eventually(lambda: self._server.started, what="the server has started")

    def _record(self, app):
        async def recording(scope, receive, send):
            read: list[bytes] = []

            async def receiving():
                message = await receive()
                read.append(message.get("body", b""))
                return message

            async def sending(message):
                if message["type"] == "http.response.start":
                    headers = {
                        n.decode("latin-1"): v.decode("latin-1") for n, v in scope["headers"]
                    }
                    method, path, status = scope["method"], scope["path"], message["status"]
                    query = scope.get("query_string", b"").decode("latin-1")
                    body = b"".join(read).decode("latin-1")
                    self.seen.append(Seen(method, path, headers, status, query, body))
                await send(message)

            await app(scope, receiving, sending)

        return recording

    def ask(self, prompt="Why?", kind="text", origin=None, **more):
        origin = origin or Origin("/p", "/p/x", "coder", "", "", "person:sue")
        return create_ask.ask(
            self.store, Request(prompt, kind, **more), origin, a_person("sue")
        ).ask

    def get(self, ask):
        return self.store.asks.get(ask.id)

    def token(self, *scopes, name="ada"):
        if name not in [one.name for one in self.store.people.all()]:
            return manage_people.add(self.store, a_person(), name, scopes)
        return manage_people.token(self.store, a_person(), name, scopes)

    def link(self, name="ada"):
        return manage_logins.make_link(self.store, a_person(name))

    def login(self, name="ada"):
        return manage_logins.enter_by_link(self.store, self.link(name), {})

    def proof(self, secret):
        return text_digest(f"csrf {secret}")

    def raw(self, first, lines, body=""):
        """Send these exact bytes; return the status and the text of the response."""
        self.desk.limits._buckets.clear()
        head = [first, *lines, "Content-Type: application/json", f"Content-Length: {len(body)}"]
        sent = "\r\n".join([*head, "Connection: close", "", body]).encode()
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(sent)
            with connection.makefile("rb") as answer:
                text = answer.read().decode("utf-8", "replace")
        return int(text.split(" ", 2)[1]), text

    def forget(self):
        """Reset the limits, and the list of requests."""
        self.desk.limits._buckets.clear()
        self.seen.clear()

    def close(self):
        self.desk.hub.close()
        self._server.should_exit = True
        self._thread.join(20)
        self._socket.close()
        self.fingerprint.close()
        self.store.close()


class Evil:
    """Another site with the pages of a test, and a list of its requests."""

    def __init__(self):
        evil = self
        self.seen: list[Seen] = []
        self.pages: dict[str, str] = {}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                headers = {name.lower(): value for name, value in self.headers.items()}
                evil.seen.append(Seen(self.command, self.path, headers))
                self.send_response(200)
                self.send_header("content-type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(evil.pages.get(self.path, "<title>evil</title>").encode())

            def log_message(self, *words):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        port = self._server.server_port
        self.foreign = f"http://localhost:{port}"
        """For a browser, another site than 127.0.0.1: cookies are not sent."""
        self.neighbour = f"http://127.0.0.1:{port}"
        """The same site, because cookies ignore ports; but another origin."""
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    made = RealInbox(tmp_path_factory.mktemp("real"))
    yield made
    made.close()


@pytest.fixture
def evil():
    made = Evil()
    yield made
    made.close()


@pytest.fixture
def logged_in(chromium, real):
    """A browser window of a logged-in person; `.secret` is the value of their cookie."""
    real.forget()
    secret = real.login()
    with contextlib.closing(chromium.new_context()) as context:
        cookie = {"name": COOKIE, "value": secret, "url": real.url, "httpOnly": True}
        context.add_cookies([cookie | {"sameSite": "Strict"}])
        context.secret = secret
        yield context
