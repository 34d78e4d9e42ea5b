"""A real server of the inbox on a throwaway store, in a thread; it can be restarted."""

from __future__ import annotations

import os
import socket
import threading

import uvicorn

from gatebell.adapters.sqlite.bell import ring
from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.calls import make_call
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_logins, manage_people
from gatebell.web.app import make_app, make_web_context
from gatebell.web.context import local_site
from gatebell.web.server import LimitedConnection
from tests.support.people import a_person
from tests.support.waiting import eventually

AGENT = a_person("root")._replace(via="mcp")
WIDE, PHONE = (1280, 800), (390, 844)
FORM = {
    "type": "object",
    "required": ["host", "replicas"],
    "properties": {
        "host": {"type": "string", "title": "Host", "minLength": 3},
        "replicas": {"type": "integer", "minimum": 1},
        "tls": {"type": "boolean"},
        "owner": {"type": "object", "properties": {"team": {"type": "string"}}},
        "ports": {
            "type": "array",
            "items": {"type": "object", "properties": {"port": {"type": "integer"}}},
        },
    },
}
CHANGES = """It works on:
Round the totals

Changes:
diff --git a/shop/totals.py b/shop/totals.py
--- a/shop/totals.py
+++ b/shop/totals.py
@@ -1,2 +1,2 @@
 def total(items):
-    return sum(items)
+    return round(sum(items), 2)
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class _Server(uvicorn.Server):
    def install_signal_handlers(self):
        """Signals belong to the main thread, which runs the test."""


class WebServer:
    """One store and one port; it opens asks as agents do, and creates logins by link."""

    def __init__(self, folder, clock=None, store=None):
        self.path = str(folder / "store" / "gate.db")
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        self.store = store or open_throwaway_store(self.path, clock)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = None

    def start(self):
        desk = make_web_context(self.store, local_site(self.port))
        config = uvicorn.Config(
            make_app(desk), host="127.0.0.1", port=self.port, log_level="error", access_log=False,
            ws="none", timeout_graceful_shutdown=1, http=LimitedConnection,
        )  # fmt: skip
        self._server, self._hub = _Server(config), desk.hub
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        eventually(lambda: self._server.started or not self._thread.is_alive())
        assert self._server.started, "the server did not start"
        return self

    def stop(self):
        if self._thread:
            self._hub.close()
            self._server.should_exit = True
            # The watcher ends when it wakes, at the latest after a second.
            eventually(lambda: ring(f"{self.path}-bell") or not self._thread.is_alive())
            self._thread = None

    def streams(self):
        """Return the number of listeners."""
        return len(self._hub._streams)

    def close(self):
        self.stop()
        self.store.close()

    def ask(self, prompt, agent="deployer", **more):
        where = {
            name: more.pop(name)
            for name in ("project", "cwd", "session", "owner", "tool_use_id", "started_by")
            if name in more
        }
        origin = Origin(**{"project": "/projects/shop", "agent": agent, **where})
        return create_ask.ask(self.store, Request(prompt, **more), origin, AGENT).ask

    def get(self, ask_id):
        return self.store.asks.get(ask_id)

    def token(self, name="ada", scopes=("ask", "answer", "read", "admin")):
        return manage_people.add(self.store, a_person("root"), name, scopes)

    def link(self, name="ada"):
        """Return a login link for a person whose name is only claimed."""
        return f"{self.url}/link/{manage_logins.make_link(self.store, a_person(name))}"

    def login(self, name="ada"):
        """Return the secret of a login, as in its cookie."""
        secret = manage_logins.make_link(self.store, a_person(name))
        return manage_logins.enter_by_link(self.store, secret, {})


def push(web, **more):
    """Add a tool call that its host holds."""
    call = make_call("Bash", {"command": "git push origin main"}, "/projects/shop", "main")
    return web.ask(
        "Run this command? git push origin main", agent="claude", kind="approval", call=call,
        session="claude/s1", cwd="/projects/shop", activity=CHANGES, **more,
    )  # fmt: skip


def button(page, words):
    return page.get_by_role("button", name=words, exact=True)


def must_suit_everybody(page, path, size):
    """Check that a page fits its window with all parts open, and that axe finds no fault."""
    # Imported here: only browsers need it.
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0], path
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], (path, found)
    assert page.locator("h1").count() == 1, path
