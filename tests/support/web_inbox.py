"""A web inbox for one test, without a network: requests go to the application directly."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from starlette.testclient import TestClient

from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_logins, manage_people
from gatebell.testing import FakeClock
from gatebell.web.app import make_app, make_web_context
from gatebell.web.context import COOKIE, local_site
from tests.support.people import a_person

PORT = 4283
URL = f"http://127.0.0.1:{PORT}"


class Inbox:
    """One store and its inbox; people log in by link or with tokens."""

    def __init__(self, folder, site=None, clock=None):
        self.clock = clock or FakeClock()
        self.store = open_throwaway_store(str(folder / "gate.db"), self.clock)
        self.desk = make_web_context(self.store, site or local_site(PORT))
        self.app = make_app(self.desk)

    def token(self, *scopes, name="ada"):
        if name not in [one.name for one in self.store.people.all()]:
            return manage_people.add(self.store, a_person(), name, scopes)
        return manage_people.token(self.store, a_person(), name, scopes)

    @contextmanager
    def running(self):
        """Run the application with its watcher, for requests that wait or watch."""
        with TestClient(self.app, base_url=URL) as client:
            yield client

    def client(self, *scopes, name="ada", token=None):
        """Return a client with a token in the header; without scopes, one without a token."""
        client = TestClient(self.app, base_url=URL)
        if scopes or token:
            client.headers["authorization"] = f"Bearer {token or self.token(*scopes, name=name)}"
        return client

    def browser(self, name="ada"):
        """Return a client that logged in by a link and has a cookie."""
        link = manage_logins.make_link(self.store, a_person(name))
        secret = manage_logins.enter_by_link(self.store, link, {})
        client = TestClient(self.app, base_url=URL, follow_redirects=False)
        client.cookies.set(COOKIE, secret)
        client.headers["origin"] = URL
        return client

    def ask(self, prompt="Why?", kind="text", origin=None, **more):
        request = Request(prompt, kind, **more)
        origin = origin or Origin("/p", "/p/x", "coder", "", "", "person:sue")
        return create_ask.ask(self.store, request, origin, a_person("sue")).ask

    def answer(self, ask, value, name="bob"):
        return answer_ask.answer(self.store, ask.id, a_person(name), Given(value))[1]

    def get(self, ask):
        return self.store.asks.get(ask.id)

    def close(self):
        self.store.close()


@pytest.fixture
def inbox(tmp_path):
    made = Inbox(tmp_path)
    yield made
    made.close()


def in_order(text, *words):
    """Return whether these texts follow one another in the text."""
    at = 0
    for word in words:
        assert word in text[at:], (word, text[at : at + 300])
        at = text.index(word, at) + len(word)
