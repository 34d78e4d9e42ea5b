"""A link of another site, such as one in a notification, opens the ask for a signed-in person."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect
from tests.support.web_server import PHONE


class _Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(f'<a href="{self.server.target}">1 ask waits</a>'.encode())

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def elsewhere():
    """Serve another site: for browsers, localhost and 127.0.0.1 are two."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def tap(page, elsewhere, target):
    elsewhere.target = target
    page.goto(f"http://localhost:{elsewhere.server_port}/")
    page.get_by_role("link", name="1 ask waits").click()


@pytest.mark.parametrize("scripted", [True, False], ids=["script", "without"])
@pytest.mark.proves("SETUP-8")
def test_tap_on_a_notification_lands_on_the_ask(web, tab, elsewhere, scripted):
    asked = web.ask("Deploy build 42?", kind="approval")
    page = tab(size=PHONE, java_script_enabled=scripted)
    replies = []
    page.on("response", lambda one: one.request.is_navigation_request() and replies.append(one))
    tap(page, elsewhere, f"{web.url}/asks/{asked.id}?from=ntfy")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    statuses = [one.status for one in replies if one.url.startswith(web.url)]
    assert statuses == [401, 200]
    assert "from=ntfy" in page.url and web.get(asked.id).pending


@pytest.mark.parametrize("scripted", [True, False], ids=["script", "without"])
@pytest.mark.proves("SETUP-8")
def test_second_miss_shows_sign_in(web, tab, elsewhere, scripted):
    asked = web.ask("Deploy?", kind="approval")
    page = tab("/login", who="", size=PHONE, java_script_enabled=scripted)
    replies = []
    page.on("response", lambda one: one.request.is_navigation_request() and replies.append(one))
    tap(page, elsewhere, f"{web.url}/asks/{asked.id}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    assert [one.status for one in replies if one.url.startswith(web.url)] == [401, 401]
    expect(page.locator('input[name="next"]')).to_have_value(f"/asks/{asked.id}")
    assert page.locator('meta[http-equiv="refresh"]').count() == 0
