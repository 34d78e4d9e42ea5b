"""Web push: endpoints that may be called, asks that a button may decide, and the content."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.devices import AUTH, BrowserKeys, encode

from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.deadlines import NO_DEADLINES
from gatebell.domain.asks.questions import make_question
from gatebell.domain.asks.requirements import Requirement
from gatebell.domain.enums import AskStatus, Decision, NoticeKind, Priority
from gatebell.domain.notifications import push
from gatebell.domain.notifications.devices import (
    PUSH_SERVICES,
    Device,
    build_route,
    check_endpoint,
    check_keys,
    describe_browser,
    make_device_id,
)
from gatebell.domain.notifications.messages import Delivery, compose, compose_test
from gatebell.domain.notifications.routes import can_withdraw
from gatebell.domain.permissions.calls import make_call
from gatebell.errors import GateError

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def an_ask(prompt="Deploy build 42?", kind="approval", **more):
    question = make_question(kind, prompt, **more)
    return Ask("a-7k2", question, Origin("/p", agent="bot"), NOW, "digest of it")


def a_message(ask=None, kind=NoticeKind.OPENED, prompt="Deploy build 42?"):
    ask = ask or an_ask(prompt)
    return compose(Delivery("n1", kind, ask.id, "", "device", NOW, NOW), "https://g", ask)


@pytest.mark.proves("PUSH-1")
@pytest.mark.parametrize(
    "endpoint",
    [
        "https://fcm.googleapis.com/fcm/send/abc:def-_",
        "https://updates.push.services.mozilla.com/wpush/v2/abc",
        "https://web.push.apple.com/abc",
        "https://wns2-par02p.notify.windows.com/w/?token=abc",
    ],
)
def test_push_services_of_browsers_may_be_called(endpoint):
    check_endpoint(endpoint, PUSH_SERVICES)


@pytest.mark.proves("PUSH-1")
@pytest.mark.parametrize(
    "endpoint",
    [
        "http://fcm.googleapis.com/x",
        "https://127.0.0.1/x",
        "https://localhost/x",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/x",
        "https://fcm.googleapis.com:8443/x",
        "https://fcm.googleapis.com@10.0.0.1/x",
        "https://10.0.0.1#.push.apple.com/x",
        "https://10.0.0.1?.push.apple.com/x",
        "https://10.0.0.1\\.push.apple.com/x",
        "https://me@x.push.apple.com/x",
        "https://evilfcm.googleapis.com/x",
        "https://fcm.googleapis.com.evil.example/x",
        "https://push.apple.com.evil.example/x",
        "https://[fcm.googleapis.com/x",
        "file:///etc/passwd",
        "gopher://fcm.googleapis.com/x",
        "https://fcm.googleapis.com/x\r\nHost: y",
        "https://fcm.googleapis.com/ü",
        "https://fcm.googleapis.com/" + "x" * 2000,
        "",
    ],
)
def test_other_endpoints_are_refused(endpoint):
    with pytest.raises(GateError):
        check_endpoint(endpoint, PUSH_SERVICES)


@pytest.mark.proves("PUSH-1")
def test_settings_may_allow_further_services():
    check_endpoint("https://push.example.org/x", (*PUSH_SERVICES, "push.example.org"))
    check_endpoint("http://127.0.0.1:8123/x", ("127.0.0.1:8123",))
    for endpoint in ("http://push.example.org/x", "http://127.0.0.1:8124/x"):
        with pytest.raises(GateError):
            check_endpoint(endpoint, ("push.example.org", "127.0.0.1:8123"))


@pytest.mark.proves("PUSH-1")
def test_keys_of_no_browser_are_refused():
    good = BrowserKeys().subscription("x")
    check_keys(good.p256dh, good.auth)
    for p256dh, auth in (
        ("", good.auth), ("!", good.auth), (encode(b"\x04" * 64), good.auth),
        (encode(b"\x05" + b"x" * 64), good.auth), (good.p256dh, encode(AUTH[:-1])),
        (good.p256dh, "A" * 201), ("A", good.auth),
    ):  # fmt: skip
        with pytest.raises(GateError):
            check_keys(p256dh, auth)


@pytest.mark.proves("PUSH-5")
def test_apple_gets_no_message_that_shows_nothing():
    for host, closes in (("web.push.apple.com", False), ("fcm.googleapis.com", True)):
        device = Device("d-1", "ada", f"https://{host}/x", "k", "a", "s", "", "Safari", NOW)
        assert can_withdraw(build_route(device)) is closes
        assert repr(device) == "Device('d-1')"


@pytest.mark.proves("PUSH-4")
def test_device_is_named_without_its_endpoint():
    assert make_device_id("https://fcm.googleapis.com/secret").startswith("d-")
    assert describe_browser("Mozilla/5.0 (X11; Linux) Gecko Firefox/140") == "Firefox on Linux"
    assert describe_browser("Mozilla (Linux; Android 16) Chrome/156 Safari") == "Chrome on Android"
    assert describe_browser("<script>") == "a browser"


@pytest.mark.proves("PUSH-6")
def test_plain_approval_may_be_decided_by_a_button():
    assert push.can_be_decided(an_ask())
    assert push.has_buttons(NoticeKind.REMINDER, an_ask())
    assert not push.has_buttons(NoticeKind.REPLIED, an_ask())
    assert not push.has_buttons(NoticeKind.OPENED, None)


@pytest.mark.proves("PUSH-6")
@pytest.mark.parametrize(
    "ask",
    [
        an_ask(kind="text"),
        an_ask(kind="choice", options=("Red", "Blue")),
        an_ask(requirement=Requirement(n=2)),
        an_ask(requirement=Requirement(of=("ada",))),
        an_ask(requirement=Requirement(not_author=True)),
        an_ask(context={"tests": "green"}),
        an_ask(context="diff --git a/x b/x"),
        an_ask("Run this command? ls", call=make_call("Bash", {"command": "ls"}, "/p", "")),
        an_ask("Deploy?\nAnd delete the old one?"),
        an_ask("Deploy \u202egnihtyna?"),
        an_ask("Deploy with password=hunter2hunter2?"),
        an_ask("Deploy? " + "really " * 40),
        an_ask("Run the tests?" + " " * 100 + "And deploy?"),
        an_ask("Deploy?" + "\u0301" * 200),
        an_ask()._replace(status=AskStatus.ANSWERED),
    ],
)
def test_ask_that_must_be_seen_has_no_buttons(ask):
    assert not push.can_be_decided(ask)


@pytest.mark.proves("PUSH-7")
def test_button_is_for_one_device_question_and_decision():
    ask, secret = an_ask(), b"s" * 32
    tokens = {
        push.make_button(secret, "d-1", ask, Decision.APPROVED),
        push.make_button(secret, "d-1", ask, Decision.REJECTED),
        push.make_button(secret, "d-2", ask, Decision.APPROVED),
        push.make_button(secret, "d-1", ask._replace(id="a-7k3"), Decision.APPROVED),
        push.make_button(secret, "d-1", ask._replace(digest="other"), Decision.APPROVED),
        push.make_button(b"t" * 32, "d-1", ask, Decision.APPROVED),
    }
    assert len(tokens) == 6


@pytest.mark.proves("PUSH-5")
def test_headers_say_how_long_and_how_urgently_to_try():
    ask = an_ask()
    later = push.build_headers(a_message(ask), NOW)
    assert (later["ttl"], later["urgency"]) == ("86400", "normal")
    soon = ask._replace(
        priority=Priority.URGENT,
        deadlines=NO_DEADLINES._replace(expires_at=NOW + timedelta(minutes=5)),
    )
    urgent = push.build_headers(a_message(soon), NOW)
    assert (urgent["ttl"], urgent["urgency"]) == ("300", "high")
    assert push.build_headers(a_message(soon), NOW + timedelta(hours=1))["ttl"] == "0"
    assert urgent["topic"] == later["topic"] and len(later["topic"]) == 32
    assert ask.id not in later["topic"]
    closed = push.build_headers(a_message(soon, NoticeKind.WITHDRAWN), NOW)
    assert (closed["ttl"], closed["urgency"]) == ("86400", "low")
    assert closed["topic"] == later["topic"]
    test = compose_test(Delivery("n2", NoticeKind.TEST, "", "", "device", NOW, NOW), "")
    assert push.build_headers(test, NOW)["topic"] != later["topic"]


@pytest.mark.proves("PUSH-5")
def test_payload_fits_and_loses_its_buttons_when_cut():
    buttons = ((Decision.APPROVED, "y" * 64), (Decision.REJECTED, "n" * 64))
    message = a_message()._replace(buttons=buttons)
    assert b"y" * 64 in push.build_payload("d-1", message)
    long = push.build_payload("d-1", message._replace(body="é" * 5000))
    assert len(long) <= 3900 and b"yyy" not in long and "…".encode() in long


@pytest.mark.proves("PUSH-5")
def test_withdrawal_closes_the_message_of_its_ask():
    message = a_message(kind=NoticeKind.WITHDRAWN)
    assert json.loads(push.build_payload("d-1", message)) == {"type": "close", "tag": message.id}
