"""Attacks on devices and on the buttons of notifications."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient
from tests.support.devices import BrowserKeys, add_device
from tests.support.people import a_person
from tests.support.web_inbox import URL, inbox

from gatebell.domain.digests import text_digest
from gatebell.domain.enums import AskStatus, Decision
from gatebell.domain.notifications.push import make_button
from gatebell.services.people import manage_logins, manage_people
from gatebell.web.context import COOKIE

__all__ = ["inbox"]
SEAL = "5" * 64


class Phone:
    """A browser of a person, with its login and its seal."""

    def __init__(self, inbox, name="ada", seal=SEAL, token=""):
        if token:
            self.secret = manage_logins.enter_by_token(inbox.store, token, {}, seal)
        else:
            link = manage_logins.make_link(inbox.store, a_person(name))
            self.secret = manage_logins.enter_by_link(inbox.store, link, {}, seal)
        self.seal = seal
        self.client = TestClient(inbox.app, base_url=URL, follow_redirects=False)
        self.client.cookies.set(COOKIE, self.secret)
        self.client.headers["origin"] = URL

    def post(self, path, **data):
        """Post as a page does."""
        proofs = {"csrf": text_digest(f"csrf {self.secret}"), "seal": self.seal}
        return self.client.post(path, data=proofs | data)

    def sign_up(self, endpoint="https://fcm.googleapis.com/mine"):
        return self.post("/devices", **BrowserKeys().subscription(endpoint)._asdict())

    def press(self, device, ask, decision="approved", token=None, **headers):
        """Post as the service worker does: with the cookie, without the proofs of a page."""
        data = {"device": device, "ask": ask.id, "decision": decision, "token": token}
        return self.client.post("/push/answer", data=data, headers=headers)


@pytest.fixture
def phone(inbox):
    return Phone(inbox)


@pytest.fixture
def device(phone):
    response = phone.sign_up()
    assert response.status_code == 201, response.text
    return response.json()["id"]


def button(inbox, device, ask, decision=Decision.APPROVED):
    return make_button(inbox.store.push_key(), device, ask, decision)


@pytest.mark.proves("PUSH-7")
def test_button_decides_once_and_is_recorded_as_push(inbox, phone, device):
    ask = inbox.ask("Deploy?", "approval")
    token = button(inbox, device, ask)
    response = phone.press(device, ask, token=token)
    assert response.status_code == 201 and "approved" in response.json()["detail"]
    after = inbox.get(ask)
    assert (after.decision, after.settled_via, after.settled_by) == ("approved", "push", "person:ada")  # fmt: skip
    event = inbox.store.audit.of_subject(ask.id)[-1].event
    assert event.content["evidence"]["device"] == device
    second = phone.press(device, ask, token=token)
    assert second.status_code == 403 and "used before" in second.json()["detail"]
    other = phone.press(device, ask, "rejected", button(inbox, device, ask, Decision.REJECTED))
    assert other.status_code == 409 and inbox.get(ask).decision == "approved"
    assert len(inbox.store.asks.answers(ask.id)) == 2


@pytest.mark.proves("PUSH-7")
def test_button_of_another_ask_device_or_decision_is_refused(inbox, phone, device):
    ask, other = inbox.ask("Deploy?", "approval"), inbox.ask("Delete?", "approval")
    foreign = add_device(inbox.store, "bob", "https://fcm.googleapis.com/bob", seal="b").id
    good = button(inbox, device, ask)
    for given in (
        (device, ask, "approved", button(inbox, device, ask, Decision.REJECTED)),
        (device, ask, "rejected", good),
        (device, other, "approved", good),
        (foreign, ask, "approved", button(inbox, foreign, ask)),
        (foreign, ask, "approved", good),
        ("d-0000000000", ask, "approved", good),
        ("", ask, "approved", ""),
        (device, ask, "approved", ""),
        (device, ask, "approved", "ü" * 64),
        (device, ask, "approved", good.upper()),
    ):
        assert phone.press(*given).status_code == 403, given
    assert phone.press(device, ask, "yes", good).status_code == 400
    gone = ask._replace(id="a-zzzz")
    assert phone.press(device, gone, "approved", good).status_code == 404
    for one in (ask, other):
        assert inbox.get(one).status == AskStatus.PENDING
        assert inbox.store.asks.answers(one.id) == []


@pytest.mark.proves("PUSH-8")
def test_button_needs_the_login_of_its_person(inbox, phone, device):
    ask = inbox.ask("Deploy?", "approval")
    token = button(inbox, device, ask)
    data = {"device": device, "ask": ask.id, "decision": "approved", "token": token}
    nobody = TestClient(inbox.app, base_url=URL)
    assert nobody.post("/push/answer", data=data, headers={"origin": URL}).status_code == 401
    bob = Phone(inbox, "bob", seal="b" * 64)
    assert bob.press(device, ask, token=token).status_code == 403
    reader = Phone(inbox, token=inbox.token("read"), seal="r" * 64)
    assert reader.press(device, ask, token=token).status_code == 403
    agent = inbox.client("ask", "answer", "read", "admin", name="eve")
    assert agent.post("/push/answer", data=data).status_code == 403
    own = inbox.client("ask", "answer", "read", "admin", name="ada")
    assert own.post("/push/answer", data=data).status_code == 403
    assert phone.press(device, ask, token=token, origin="http://evil.example").status_code == 403
    del phone.client.headers["origin"]
    assert phone.press(device, ask, token=token).status_code == 403
    assert inbox.get(ask).status == AskStatus.PENDING


@pytest.mark.proves("PUSH-8")
def test_cookie_without_seal_signs_no_device_up(inbox, phone):
    """Every server of this host gets the cookie, and can compute the proof of a form from it."""
    phone.seal = "6" * 64
    assert phone.sign_up().status_code == 403
    phone.seal = ""
    assert phone.sign_up().status_code == 403
    unsealed = Phone(inbox, seal="")
    assert unsealed.sign_up().status_code == 403
    keys = BrowserKeys().subscription("https://fcm.googleapis.com/x")._asdict()
    by_token = inbox.client("ask", "answer", "read", "admin")
    assert by_token.post("/devices", data=keys).status_code == 403
    assert inbox.store.devices.all() == []


@pytest.mark.proves("PUSH-1")
def test_server_calls_no_address_that_a_person_chose(inbox, phone):
    for endpoint in (
        "https://169.254.169.254/x",
        "http://127.0.0.1:5432/",
        "https://intra.example/x",
    ):
        assert phone.sign_up(endpoint).status_code in (400, 403)
    assert inbox.store.devices.all() == []


@pytest.mark.proves("PUSH-4")
def test_device_ends_with_login_token_person_and_newcomer(inbox, phone, device):
    phone.post("/logout")
    assert inbox.store.devices.all() == []
    again = Phone(inbox)
    assert again.sign_up().status_code == 201
    Phone(inbox, "bob")
    assert inbox.store.devices.all() == [], "another person signed in to the same browser"
    token = inbox.token("ask", "answer", "read", name="zoe")
    zoe = Phone(inbox, token=token)
    assert zoe.sign_up().status_code == 201
    inbox.clock.advance(31 * 24 * 3600)
    assert len(inbox.store.devices.all()) == 1, "an old login ends, its notifications go on"
    (found,) = inbox.store.people.tokens()
    manage_people.revoke(inbox.store, a_person(), found.id)
    assert inbox.store.devices.all() == []
    Phone(inbox, token=inbox.token("ask", "answer", "read", name="zoe")).sign_up()
    manage_people.remove(inbox.store, a_person(), "zoe")
    assert inbox.store.devices.all() == []


@pytest.mark.proves("PUSH-7")
def test_button_of_a_removed_device_does_nothing(inbox, phone, device):
    ask = inbox.ask("Deploy?", "approval")
    token = button(inbox, device, ask)
    assert phone.post(f"/devices/{device}/remove").status_code == 303
    assert phone.press(device, ask, token=token).status_code == 403
    assert inbox.get(ask).status == AskStatus.PENDING


@pytest.mark.proves("PUSH-4")
def test_only_its_person_or_an_admin_removes_a_device(inbox, device):
    bob = Phone(inbox, token=inbox.token("answer", "read", name="bob"), seal="b" * 64)
    assert bob.post(f"/devices/{device}/remove").status_code == 404
    assert bob.post(f"/devices/{device}/test").status_code == 404
    admin = Phone(inbox, token=inbox.token("admin", name="root"), seal="c" * 64)
    page = admin.client.get("/people").text
    assert device in page and "fcm.googleapis.com" not in page
    response = admin.post(f"/devices/{device}/remove", next="/people")
    assert response.headers["location"] == "/people" and inbox.store.devices.all() == []


@pytest.mark.proves("PUSH-4")
def test_person_has_a_limited_number_of_devices(inbox, phone):
    for number in range(20):
        assert phone.sign_up(f"https://fcm.googleapis.com/{number}").status_code == 201
    assert phone.sign_up("https://fcm.googleapis.com/21").status_code == 400
    assert phone.sign_up("https://fcm.googleapis.com/3").status_code == 201
    assert len(inbox.store.devices.all()) == 20


@pytest.mark.proves("PUSH-2")
def test_no_page_or_document_holds_keys_or_endpoints(inbox, phone, device):
    (row,) = inbox.store.devices.all()
    secret = inbox.store.push_key().hex()
    admin = inbox.client("ask", "answer", "read", "admin", name="eve")
    texts = [
        admin.get(path).text for path in ("/", "/people", "/api/people", "/api/events?limit=1000")
    ]
    texts.append(phone.client.get("/").text)
    for text in texts:
        for hidden in (row.endpoint, row.p256dh, row.auth, row.seal, secret):
            assert hidden not in text
    assert re.search(f'data-devices="{device}"', texts[-1])


@pytest.mark.proves("PUSH-9")
def test_public_files_say_nothing_of_a_store(inbox):
    inbox.ask("Which secret port?")
    nobody = TestClient(inbox.app, base_url=URL)
    for path, kind in (
        ("/sw.js", "text/javascript; charset=utf-8"),
        ("/manifest.webmanifest", "application/manifest+json"),
        ("/offline", "text/html; charset=utf-8"),
    ):
        response = nobody.get(path)
        assert response.status_code == 200 and response.headers["content-type"] == kind
        assert "secret port" not in response.text and "set-cookie" not in response.headers
        assert "script-src 'self'" in response.headers["content-security-policy"]
        assert response.headers["cache-control"] == "no-store"
