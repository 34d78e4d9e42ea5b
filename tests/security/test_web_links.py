"""Scanners open links in mails and chats first: they decide nothing and use up no link."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from itertools import cycle

import pytest
from starlette.testclient import TestClient
from tests.security.fingerprint import Fingerprint
from tests.support.people import a_person
from tests.support.web_inbox import URL, Inbox

from gatebell.domain.permissions.calls import Call
from gatebell.services.people import manage_logins

LINKS, FEWER_LINKS = 1000, 240
UNFURLERS = (
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "facebookexternalhit/1.1", "Twitterbot/1.0",
    "TelegramBot (like TwitterBot)", "Mozilla/5.0 (compatible; Discordbot/2.0)", "WhatsApp/2.2", "SkypeUriPreview",
    "Mozilla/5.0 (Windows NT 10.0) SafeLinks", "Barracuda Sentinel", "curl/8", "",
)  # fmt: skip

_UNFURLERS = cycle(UNFURLERS)


@pytest.fixture
def inbox(tmp_path):
    made = Inbox(tmp_path)
    made.fingerprint = Fingerprint(tmp_path / "gate.db")
    yield made
    made.fingerprint.close()
    made.close()


def looks(client, path):
    client.get(path)


def looks_at_the_head(client, path):
    client.head(path)


def follows_everything(client, path):
    """A crawler: it opens every address on the page."""
    found = client.get(path, follow_redirects=True).text
    for address in set(re.findall(r'(?:href|src|action)="(/[^"]*)"', found)):
        client.get(address, follow_redirects=True)


def looks_five_times_from_two_places(client, path):
    elsewhere = TestClient(client.app, base_url=URL, client=("192.0.2.7", 50000))
    for one in (client, elsewhere, client, elsewhere, client):
        one.get(path)


def asks_what_may_be_done(client, path):
    client.options(path)
    client.options(path, headers={"access-control-request-method": "POST", "origin": "null"})


def fetches_ahead(client, path):
    for headers in (
        {"purpose": "prefetch"},
        {"sec-purpose": "prefetch;prerender"},
        {"x-moz": "prefetch"},
    ):
        client.get(
            path, headers=headers | {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
        )


def unfurls(client, path):
    for name in (next(_UNFURLERS), next(_UNFURLERS)):
        client.get(path, headers={"user-agent": name, "range": "bytes=0-65535", "accept": "*/*"})


def posts_from_nowhere(client, path):
    client.post(path)
    client.post(path, data={"next": "/", "csrf": "", "value": "yes", "text": "yes", "sure": "yes"})


def posts_from_another_site(client, path):
    for origin in (
        "https://scanner.example",
        "null",
        URL.replace("http:", "https:"),
        "http://127.0.0.1",
    ):
        client.post(path, headers={"origin": origin, "referer": URL + path})


def changes_the_address(client, path):
    """The link wrapped, with marks added, or written in another way."""
    for more in (
        "?utm_source=mail",
        "?next=//scanner.example",
        "?value=yes&confirm=1",
        "/",
        "?_method=POST",
    ):
        client.get(path + more, headers={"x-http-method-override": "POST"})


def tries_other_methods(client, path):
    for method in ("PUT", "PATCH", "DELETE", "PROPFIND", "TRACE", "CONNECT"):
        client.request(method, path, headers={"origin": URL})


def keeps_what_it_is_given(client, path):
    """Come back with every cookie and the referring address, and send JSON."""
    client.get(path)
    client.get(path, headers={"referer": URL + path})
    client.post(path, json={"value": "yes"})
    client.cookies.clear()


SCANNERS = (
    looks, looks_at_the_head, follows_everything, looks_five_times_from_two_places, asks_what_may_be_done, fetches_ahead,
    unfurls, posts_from_nowhere, posts_from_another_site, changes_the_address, tries_other_methods, keeps_what_it_is_given,
)  # fmt: skip


@pytest.mark.proves("WEB-16")
def test_scanners_answer_nothing_enter_nowhere_and_use_no_link(inbox, whole):
    """Every scanner on some links, every link with some scanner; the whole run tries all."""
    half = (LINKS if whole else FEWER_LINKS) // 2
    asks = [inbox.ask(f"Question {n}?", "approval") for n in range(half)]
    links = [manage_logins.make_link(inbox.store, a_person()) for _ in range(half)]
    addresses = [f"/link/{link}" for link in links] + [f"/asks/{ask.id}" for ask in asks]
    before = inbox.fingerprint.take()
    with inbox.running() as client:
        for number, address in enumerate(addresses):
            for scanner in SCANNERS if whole or number % 24 == 0 else [SCANNERS[number % 12]]:
                inbox.desk.limits._buckets.clear()
                scanner(client, address)
                assert not client.cookies, scanner
        assert len(SCANNERS) == 12 and inbox.fingerprint.take() == before

        # Then the person comes.
        logins = set()
        client.headers["origin"] = URL
        for link in links:
            inbox.desk.limits._buckets.clear()
            first = client.post(f"/link/{link}", data={"next": "/"}, follow_redirects=False)
            logins.add(client.cookies.get("gatebell"))
            client.cookies.clear()
            assert first.status_code == 303
        for link in links[::5]:
            inbox.desk.limits._buckets.clear()
            assert client.post(f"/link/{link}", follow_redirects=False).status_code == 403
        assert len(logins) == len(links)
        client.cookies.set("gatebell", logins.pop())
        assert client.get(f"/asks/{asks[0].id}").status_code == 200
    assert all(inbox.get(ask).pending for ask in asks)


@pytest.mark.proves("WEB-16")
def test_link_expires_after_fifteen_minutes_however_often_viewed(inbox):
    client = inbox.client()
    client.headers["origin"] = URL
    for seconds, codes in ((899, (200, 303)), (900, (404, 403)), (3600, (404, 403))):
        link = manage_logins.make_link(inbox.store, a_person())
        client.get(f"/link/{link}")
        inbox.clock.advance(seconds)
        seen = client.get(f"/link/{link}").status_code
        entered = client.post(f"/link/{link}", follow_redirects=False).status_code
        client.cookies.clear()
        assert (seen, entered) == codes, seconds


@pytest.mark.proves("WEB-16")
def test_browser_that_does_not_click_does_nothing(real, chromium):
    asks = [real.ask(f"Seen {n}?", "approval") for n in range(4)]
    links = [real.link() for _ in asks]
    real.forget()
    before = real.fingerprint.take()
    context = chromium.new_context()
    page = context.new_page()
    for address in [f"/link/{link}" for link in links] + [f"/asks/{ask.id}" for ask in asks]:
        page.goto(real.url + address)
        if address.startswith("/asks/"):
            # Without a login, the page opens itself once more; a reload would cross that.
            page.wait_for_url("**/asks/*tried=1")
        page.keyboard.press("Enter")
        page.mouse.wheel(0, 2000)
        page.reload()
    page.wait_for_load_state("networkidle")
    assert {one.method for one in real.seen} == {"GET"}
    assert context.cookies() == [] and real.fingerprint.take() == before
    page.goto(f"{real.url}/link/{links[0]}?next=/asks/{asks[0].id}")
    page.get_by_role("button", name="Open the inbox").click()
    page.wait_for_url(f"{real.url}/asks/{asks[0].id}")
    context.close()


@pytest.mark.proves("WEB-16")
def test_logged_in_browser_that_only_looks_answers_nothing(real, logged_in):
    """A key that is pressed by accident does nothing either."""
    ask = real.ask("Deploy?", "approval")
    before, page = real.fingerprint.take(), logged_in.new_page()
    page.goto(f"{real.url}/asks/{ask.id}?value=yes&note=x", wait_until="load")
    for key in ("Enter", "a", "r", "y", "j", "k", "Escape"):
        page.keyboard.press(key)
    page.reload()
    assert not [one for one in real.seen if one.method not in ("GET", "HEAD")]
    assert real.fingerprint.take() == before


@pytest.mark.proves("WEB-76", "LAW-3")
def test_no_address_focuses_a_button_that_decides(real, logged_in):
    call = Call("Bash", {"command": "git push"}, "/p", "main")
    ask = real.ask("Deploy?", "approval", call=call)
    before, page = real.fingerprint.take(), logged_in.new_page()
    page.goto(f"{real.url}/asks/{ask.id}")
    places = page.eval_on_selector_all("[id], [name]", "all => all.flatMap(e => [e.id, e.name])")
    page.goto(f"{real.url}/asks/{ask.id}#approve")
    for place in {*places, "approve", "reject", "yes"} - {"", None}:
        page.evaluate("place => { location.hash = place }", place)
        focused = page.evaluate("[document.activeElement.type, document.activeElement.value]")
        assert focused not in (["submit", "yes"], ["submit", "no"], ["submit", "edited"]), place
    assert real.get(ask).pending and real.fingerprint.take() == before


@pytest.mark.proves("WEB-7", "WEB-16")
def test_links_logins_and_tokens_are_not_logged_by_up(tmp_path):
    environment = {**os.environ, "GATE_STORE": str(tmp_path / "gate.db"), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "gatebell", "up", "--port", "0"]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            url = re.search(r"http://\S+", server.stdout.readline()).group()
            origin, _, secret = url.partition("/link/")
            token = "gate_" + "a" * 64
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            codes = [
                status(opener, url),
                status(opener, origin + "/login", f"token={token}", {"Origin": origin}),
                status(opener, origin + "/api/asks", None, {"Authorization": f"Bearer {token}"}),
                status(opener, url, "", {"Origin": "http://evil.example"}),
                status(opener, url, "next=/", {"Origin": origin}),
                status(opener, url, "next=/", {"Origin": origin}),
                status(opener, origin + "/api/asks?limit=x"),
            ]
            assert codes == [200, 403, 401, 403, 200, 403, 400]
            (cookie,) = [
                one for handler in opener.handlers for one in getattr(handler, "cookiejar", ())
            ]
        finally:
            server.send_signal(signal.SIGTERM)
            rest = server.communicate(timeout=60)[0]
    said = rest + (tmp_path / "log").read_text()
    assert [one for one in (secret, token, cookie.value) if one in said] == []


def status(opener, url, body=None, headers=None):
    request = urllib.request.Request(url, None if body is None else body.encode(), headers or {})
    try:
        return opener.open(request, timeout=20).status
    except urllib.error.HTTPError as error:
        return error.code
