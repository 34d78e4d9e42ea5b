"""The page that finds no login and opens itself once more: where to, and when not."""

from __future__ import annotations

import re
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from starlette.requests import Request
from tests.support.web_inbox import URL, inbox

from gatebell.web.people.login import find_retry

__all__ = ["inbox"]


def refresh(text):
    found = re.search(r'<meta http-equiv="refresh" content="0;url=([^"]*)">', text)
    return found and found[1].replace("&amp;", "&")


@pytest.mark.parametrize(
    ("path", "again"),
    [
        ("/", "/?tried=1"),
        ("/history?q=a&page=2", "/history?q=a&page=2&tried=1"),
        ("/tasks/%22%3E%3Cscript%3E", "/tasks/%22%3E%3Cscript%3E?tried=1"),
        ("/asks/a-7k2?x=%3C%22", "/asks/a-7k2?x=%3C%22&tried=1"),
    ],
)
@pytest.mark.proves("SETUP-9")
def test_page_opens_itself_once(inbox, path, again):
    client = inbox.client()
    reply = client.get(path)
    assert (reply.status_code, refresh(reply.text)) == (401, again)
    second = client.get(again)
    assert (second.status_code, refresh(second.text)) == (401, None)
    assert "<h1>Sign in</h1>" in second.text


@pytest.mark.parametrize(
    "path", ["//evil.example", "//evil.example/asks/a", "/%5Cevil.example", "/%2Fevil.example"]
)
@pytest.mark.proves("SETUP-9")
def test_page_opens_no_other_site(path):
    scope = {"type": "http", "method": "GET", "path": unquote(path), "query_string": b"",
             "headers": [(b"host", b"127.0.0.1")], "server": ("127.0.0.1", 80)}  # fmt: skip
    found = find_retry(Request(scope))
    assert found == "" or urlsplit(urljoin(URL, found)).netloc == urlsplit(URL).netloc


@pytest.mark.proves("SETUP-9")
def test_change_without_a_login_is_not_repeated(inbox):
    client = inbox.client()
    client.headers["origin"] = URL
    reply = client.post("/asks/a-7k2/answer", data={"value": "yes"})
    assert reply.status_code == 401 and refresh(reply.text) is None
    assert 'value="/asks/a-7k2"' in reply.text


@pytest.mark.proves("SETUP-9")
def test_wrong_cookie_leads_to_sign_in_at_once(inbox):
    client = inbox.client()
    client.cookies.set("gatebell", "old")
    assert refresh(client.get("/").text) is None
