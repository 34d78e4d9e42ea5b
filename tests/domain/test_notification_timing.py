"""When a notice is sent: now, later, together with others, or never."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.questions import make_question
from gatebell.domain.enums import NoticeKind, Priority
from gatebell.domain.notifications import timing
from gatebell.domain.notifications.messages import Delivery, compose, compose_bundle
from gatebell.domain.notifications.ntfy_topics import Topic, parse_topic
from gatebell.domain.notifications.routes import Route, can_withdraw, parse_route
from gatebell.domain.notifications.timing import Facts, choose_time
from gatebell.domain.permissions.calls import headline, make_call
from gatebell.errors import UsageError

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
DESKTOP, HOOK = Route("desktop", ""), Route("webhook", "https://x")
PUSH = Route("apprise", "ntfys://ntfy.example.org/topic")
CALL = make_call("Bash", {"command": "ls"}, "/p")


def after(seconds):
    return NOW + timedelta(seconds=seconds)


def an_ask(ask_id="a-222", prompt="Deploy?", call=None, owner="", **more):
    question = make_question("approval", prompt)._replace(call=call)
    return Ask(ask_id, question, Origin(agent="coder", owner=owner), NOW, "d" * 64, **more)


HELD, PLAIN = an_ask(call=CALL), an_ask()
URGENT = an_ask(priority=Priority.URGENT)
URGENT_HELD = an_ask(call=CALL, priority=Priority.URGENT)


@pytest.mark.proves("NTF-34")
@pytest.mark.parametrize(
    ("kind", "route", "ask", "seconds"),
    [
        ("opened", DESKTOP, PLAIN, 0),
        ("opened", DESKTOP, HELD, 60),
        ("opened", DESKTOP, an_ask(call=CALL, deferred=True), 0),
        ("opened", DESKTOP, an_ask(call=CALL, owner="run:1"), 0),
        ("opened", DESKTOP, URGENT_HELD, 0),
        ("opened", HOOK, HELD, 0),
        ("reminder", DESKTOP, HELD, 0),
        ("opened", DESKTOP._replace(after=5), HELD, 5),
        ("opened", DESKTOP._replace(after=0), HELD, 0),
        ("opened", DESKTOP._replace(after=300), PLAIN, 300),
        ("opened", DESKTOP._replace(after=300), URGENT, 300),
        ("opened", HOOK._replace(after=300), PLAIN, 300),
        ("escalated", DESKTOP._replace(after=300), PLAIN, 0),
    ],
)
def test_ask_waits_as_long_as_its_route_says(kind, route, ask, seconds):
    assert choose_time(NoticeKind(kind), route, ask, NOW, Facts(NOW)) == after(seconds)
    assert choose_time(NoticeKind(kind), route, ask, NOW, Facts(after(900))) == after(900)


@pytest.mark.proves("NTF-37")
@pytest.mark.parametrize(
    ("kind", "route", "ask", "seen", "now", "seconds"),
    [
        ("opened", DESKTOP, PLAIN, 0, 0, 60),
        ("opened", DESKTOP, PLAIN, -59, 0, 1),
        ("opened", DESKTOP, PLAIN, -60, 0, 0),
        ("opened", DESKTOP, PLAIN, 290, 290, 300),
        ("opened", DESKTOP, PLAIN, 301, 301, 301),
        ("opened", DESKTOP, HELD, 50, 60, 110),
        ("opened", DESKTOP, HELD, 355, 355, 360),
        ("opened", DESKTOP, HELD, 360, 361, 361),
        ("opened", DESKTOP, URGENT, 0, 0, 0),
        ("opened", HOOK, PLAIN, 0, 0, 0),
        ("reminder", DESKTOP, PLAIN, 0, 0, 60),
        ("replied", DESKTOP, PLAIN, 0, 0, 60),
        ("escalated", DESKTOP, PLAIN, 0, 0, 60),
        ("note", DESKTOP, None, 0, 0, 60),
        ("settled", HOOK, PLAIN, 0, 0, 0),
        ("withdrawn", DESKTOP, PLAIN, 0, 0, 0),
    ],
)
def test_person_who_is_here_hears_later(kind, route, ask, seen, now, seconds):
    facts = Facts(after(now), seen_at=after(seen))
    assert choose_time(NoticeKind(kind), route, ask, NOW, facts) == after(seconds)


@pytest.mark.proves("NTF-35")
@pytest.mark.parametrize(
    ("kind", "route", "ask", "told", "seconds"),
    [
        ("opened", DESKTOP, PLAIN, -29, 1),
        ("opened", DESKTOP, PLAIN, -30, 0),
        ("reminder", DESKTOP, PLAIN, -10, 20),
        ("opened", DESKTOP, PLAIN, 3600, 30),
        ("opened", DESKTOP, URGENT, -1, 0),
        ("opened", HOOK, PLAIN, -1, 0),
        ("replied", DESKTOP, PLAIN, -1, 0),
        ("note", DESKTOP, None, -1, 0),
    ],
)
def test_asks_soon_after_a_message_wait_for_each_other(kind, route, ask, told, seconds):
    facts = Facts(NOW, told_at=after(told))
    assert choose_time(NoticeKind(kind), route, ask, NOW, facts) == after(seconds)


@pytest.mark.proves("NTF-38")
@given(
    st.sampled_from([None, 0.0, 60.0, 600.0]),
    st.booleans(),
    st.lists(st.integers(0, 40), max_size=40),
)
def test_open_ask_is_sent_after_all_delays(patience, held, seen):
    route, now = DESKTOP._replace(after=patience), NOW
    for gap in [*seen, 0, 0]:
        # The person gives a sign again and again, and other asks are told just before.
        facts = Facts(
            now, seen_at=now - timedelta(seconds=gap), told_at=now - timedelta(seconds=40)
        )
        at = choose_time(NoticeKind.OPENED, route, HELD if held else PLAIN, NOW, facts)
        assert at is not None and at >= now
        assert at - now < timedelta(minutes=15), "a sender lives no longer without work"
        if at == now:
            break
        now = at
    limit = (60 if patience is None and held else patience or 0) + 300
    assert now <= after(limit)


@pytest.mark.proves("NTF-38", "NTF-4")
def test_settled_ask_is_never_sent():
    over = an_ask(status="answered")
    for kind in ("opened", "reminder", "escalated", "replied"):
        assert choose_time(NoticeKind(kind), DESKTOP, over, NOW, Facts(NOW)) is None
    assert choose_time(NoticeKind.WITHDRAWN, DESKTOP, over, NOW, Facts(NOW)) == NOW


@pytest.mark.proves("NTF-5")
def test_presence_moves_a_notice_into_quiet_hours():
    route = parse_route({"to": "desktop", "quiet": "12:01-13:00"}, "x")
    facts = Facts(after(30), seen_at=after(30), zone=UTC)
    assert choose_time(NoticeKind.OPENED, route, PLAIN, NOW, facts) == after(3600)
    assert choose_time(NoticeKind.REMINDER, route, PLAIN, NOW, facts) is None
    urgent = choose_time(NoticeKind.OPENED, route, URGENT, NOW, Facts(after(90), zone=UTC))
    assert urgent == after(90)


@pytest.mark.proves("NTF-1", "NTF-34")
@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("00", 0), ("90s", 90), ("5m", 300), (" 10m ", 600), ("45", 45)]
)
def test_after_of_a_route_is_a_time(text, seconds):
    assert parse_route({"to": "desktop", "after": text}, "x").after == seconds


@pytest.mark.proves("NTF-1", "LAW-10")
@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"to": "desktop", "after": "soon"}, 'a time such as "90s" or "5m" for after'),
        ({"to": "desktop", "after": "601s"}, 'at most "10m"'),
        ({"to": "desktop", "after": "-5s"}, "for after"),
        ({"to": "desktop", "after": 60}, "a text in quotes for after"),
        ({"to": "desktop", "withdrawn": "yes"}, "only a command has withdrawn"),
        ({"to": "command: x", "withdrawn": "maybe"}, 'expected "yes" or "no" for withdrawn'),
    ],
)
def test_wrong_time_or_withdrawn_is_refused(table, sentence):
    with pytest.raises(UsageError) as caught:
        parse_route(table, "here")
    assert str(caught.value).startswith("here") and sentence in str(caught.value)


@pytest.mark.proves("NTF-39")
@pytest.mark.parametrize(
    ("route", "can"),
    [
        (DESKTOP, True),
        (PUSH, True),
        (HOOK, False),
        (Route("command", "x"), False),
        (Route("command", "x", withdrawn=True), True),
        (Route("apprise", "mailto://x"), False),
        (Route("apprise", "ntfys://h/a/b"), False),
    ],
)
def test_some_channels_can_take_messages_back(route, can):
    assert can_withdraw(route) is can


@pytest.mark.proves("NTF-42")
@pytest.mark.parametrize(
    ("address", "topic"),
    [
        ("ntfy://my-topic", Topic("https://ntfy.sh", "my-topic")),
        ("ntfys://ntfy.sh/t", Topic("https://ntfy.sh", "t")),
        ("ntfy://ntfy.sh/t/", Topic("https://ntfy.sh", "t")),
        ("ntfy://127.0.0.1:8080/t", Topic("http://127.0.0.1:8080", "t")),
        ("ntfys://ada:p%40ss@h.example/t", Topic("https://h.example", "t", "ada", "p@ss")),
        ("ntfys://tk_abc@h.example/t", Topic("https://h.example", "t", token="tk_abc")),
        ("ntfys://tk_abc:@h.example/t", Topic("https://h.example", "t", "tk_abc")),
        ("ntfy://ada@topic", None),
        ("ntfy://ntfy.sh", None),
        ("ntfys://h/a/b", None),
        ("ntfys://h/t?priority=high", None),
        ("ntfys://h/a b", None),
        ("json://h/t", None),
    ],
)
def test_plain_address_of_a_topic_is_understood(address, topic):
    assert parse_topic(address) == topic
    assert "p@ss" not in repr(topic) and "tk_abc" not in repr(topic)


@pytest.mark.proves("NTF-35", "NTF-8")
def test_bundle_names_the_most_urgent_asks_first():
    asks = [an_ask(f"a-{n}", f"Question {n}?\r\nBcc: x") for n in range(7)]
    asks[6] = an_ask("a-6", "Now! password=hunter2x9", priority=Priority.HIGH)
    delivery = Delivery("i" * 32, NoticeKind.OPENED, "a-0", "", "x", NOW, NOW)
    told = compose_bundle(delivery, "https://g", asks)
    lines = told.body.splitlines()
    assert told.title == "7 asks wait (high)" and told.link == "https://g/"
    assert lines[0].startswith("Now! password=‹hidden›") and lines[0].endswith("a-6 · coder")
    assert lines[-1] == "and 2 more" and len(lines) == 6
    assert told.body.replace("\n", "").isprintable() and told.id == "i" * 32
    assert told.ask_ids == ("a-6", *(f"a-{n}" for n in range(6))) and told.ask_id == ""
    assert told.document["data"]["ids"] == list(told.ask_ids)
    assert compose_bundle(delivery, "", asks[:1]).title == "1 ask waits"
    assert timing.is_told_together(NoticeKind.OPENED, DESKTOP)
    long = [an_ask(f"a-{n}", "p" * 5000) for n in range(5)]
    assert len(compose_bundle(delivery, "", long).body) < 700


@pytest.mark.proves("WEB-114")
def test_message_names_a_file_as_in_its_project():
    call = make_call("Edit", {"file_path": "/p/shop/x.py", "old_string": "", "new_string": ""})
    ask = an_ask(prompt=headline(call), call=call)
    ask = ask._replace(origin=ask.origin._replace(project="/p"))
    delivery = Delivery("i" * 32, NoticeKind.OPENED, "a-222", "", "x", NOW, NOW)
    sent, bundle = compose(delivery, "", ask), compose_bundle(delivery, "", [ask])
    assert sent.body.splitlines()[0] == "Change shop/x.py?"
    assert bundle.body.startswith("Change shop/x.py? · ")
    # Programs get the question as it was asked.
    assert sent.document["data"]["prompt"] == "Change /p/shop/x.py?"
