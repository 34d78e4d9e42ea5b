"""Routes and messages: recipients, times and texts of a notice."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gatebell.domain.asks.asks import Ask, Notice, Origin
from gatebell.domain.asks.questions import make_question
from gatebell.domain.asks.requirements import ANY_PERSON, Requirement
from gatebell.domain.enums import ChannelKind, Priority
from gatebell.domain.notifications import messages, routes, timing
from gatebell.domain.notifications.chats import ChatLink, build_route
from gatebell.domain.notifications.messages import Delivery, compose
from gatebell.domain.notifications.notes import Note
from gatebell.domain.notifications.routes import Route, parse_route
from gatebell.errors import UsageError

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
WHEN = "2026-01-01T12:00:00.000000+00:00"
WHERE = "notify number 2 in /c.toml"


def an_ask(prompt="Deploy?", priority=Priority.NORMAL, requirement=ANY_PERSON, **more):
    question = make_question("approval", prompt, context="the context", requirement=requirement)
    origin = Origin(project="/projects/shop", agent=more.pop("agent", "coder"))
    return Ask("a-222", question, origin, NOW, "d" * 64, priority, activity="going on", **more)


def letter(kind="opened", ask=None, words=None, to="", url="https://gate.example.org"):
    delivery = Delivery("i" * 32, kind, ask.id if ask else "", to, "desktop", NOW, NOW)
    return compose(delivery, url, ask, words)


@pytest.mark.proves("NTF-1")
def test_routes_are_read_from_the_settings():
    assert parse_route({"to": "desktop"}, WHERE) == Route("desktop", "")
    assert parse_route({"to": "command: ./ring.sh"}, WHERE) == Route("command", "./ring.sh")
    whole = {"to": "webhook: https://h.example/x?y=1", "person": "ada", "priority": "high",
             "quiet": "22:00-07:00", "secret": "whsec_c2VjcmV0"}  # fmt: skip
    route = parse_route(whole, WHERE)
    assert route[:4] == ("webhook", "https://h.example/x?y=1", "ada", 1)
    assert f"{route.quiet.begin:%H:%M} {route.quiet.end:%H:%M}" == "22:00 07:00"
    assert routes.signing_key(route.secret) == b"secret"
    assert parse_route({"to": "ntfy://h/t"}, WHERE) == Route("apprise", "ntfy://h/t")


@pytest.mark.proves("NTF-1", "LAW-10")
@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("desktop", "is not a table: write [[notify]]"),
        ({}, 'expected for to: "desktop"'),
        ({"to": "carrier pigeon"}, 'expected for to: "desktop"'),
        ({"to": "command:  "}, 'expected for to: "desktop"'),
        ({"to": "webhook: ftp://x"}, "webhook: https://HOST"),
        ({"to": "webhook: https://me:hunter2@x/"}, "without user@"),
        ({"to": "desktop", "form": "x"}, "sets 'form'; a route has only to, person"),
        ({"to": "desktop", "person": 7}, "a text in quotes for person"),
        ({"to": "desktop", "priority": "soon"}, "a priority from urgent, high"),
        ({"to": "desktop", "quiet": "late"}, 'such as "22:00-07:00" for quiet'),
        ({"to": "desktop", "quiet": "22:00-25:00"}, 'such as "22:00-07:00" for quiet'),
        ({"to": "desktop", "quiet": "22:00-22:00"}, "at the same time"),
        ({"to": "desktop", "secret": "c2VjcmV0"}, "only a webhook"),
        ({"to": "webhook: https://x", "secret": "whsec_hunter2!"}, "expected base64 for secret"),
    ],
)
def test_bad_routes_are_refused_without_showing_passwords(table, sentence):
    with pytest.raises(UsageError) as caught:
        parse_route(table, WHERE)
    assert sentence in str(caught.value) and str(caught.value).startswith(WHERE)
    assert "hunter2" not in str(caught.value)


@pytest.mark.proves("NTF-2")
@pytest.mark.parametrize(
    ("via", "target", "name"),
    [
        ("apprise", "mailto://ada:hunter2@gmail.com?to=x", "mailto://gmail.com"),
        ("apprise", "mailto://ada:hunter2/x@gmail.com", "mailto://"),
        ("apprise", "ntfy://ada:hunter2@ntfy.example.org:8080/hunter2", "ntfy://ntfy.example.org"),
        ("apprise", "ntfy://hunter2", "ntfy://"),
        ("apprise", "slack://hunter2/hunter2/hunter2", "slack://"),
        ("apprise", "tgram://hunter2:x/1", "tgram://"),
        ("apprise", "json://[::1]/hunter2", "json://"),
        ("webhook", "https://hooks.example.org/hunter2?k=hunter2", "webhook https://hooks.example.org"),
        ("command", "TOKEN=hunter2 /usr/bin/curl hunter2", "command curl"),
        ("command", "TOKEN=hunter2", "command"),
        ("command", "'hunter2 x'", "command"),
    ],
)  # fmt: skip
def test_shown_name_of_a_route_holds_no_password(via, target, name):
    route = Route(via, target, "ada", secret="hunter2")
    assert route.name.startswith(f"{name} #") and route.name.endswith(" of ada")
    assert "hunter2" not in repr(route)
    assert route.name != route._replace(target=target + "x").name
    assert Route("desktop", "").name == "desktop"


@pytest.mark.proves("NTF-2")
@pytest.mark.parametrize(
    "scheme",
    ["apprise", "form", "gotify", "http", "json", "mailto", "matrix", "mmost", "mqtt", "ncloud",
     "nctalk", "ntfy", "rocket", "xml", "xmpp"],
)  # fmt: skip
def test_host_of_an_own_server_is_shown(scheme):
    for spelling in (scheme, f"{scheme}s"):
        target = f"{spelling}://ada:hunter2@chat.example.org/hunter2"
        assert Route("apprise", target).name.startswith(f"{spelling}://chat.example.org #")
    assert Route("apprise", "ntfy://hunter2/").name.startswith("ntfy:// #")


@pytest.mark.proves("NTF-1")
@pytest.mark.parametrize(
    ("secret", "key"),
    [
        ("c2VjcmV0", b"secret"),
        ("whsec_c2VjcmV0cw==", b"secrets"),
        ("c2VjcmV0cw", b"secrets"),
        ("c2VjcmV0c2U", b"secretse"),
        ("c2VjcmV0~", b""),
        ("c2Vj!cmV0", b""),
        ("c2VjcmV0c", b""),
    ],
)
def test_signing_key_is_strict_base64(secret, key):
    assert routes.signing_key(secret) == key


DESKTOP, ADA, BOB = (
    Route("desktop", ""),
    Route("apprise", "a://x", "ada"),
    Route("desktop", "", "bob"),
)
HOOK, COMMAND = Route("webhook", "https://x"), Route("command", "x")
ALL = [DESKTOP, ADA, BOB, HOOK, COMMAND]


@pytest.mark.proves("NTF-3")
def test_notice_takes_the_routes_of_its_people():
    def list_reached(kind, ask=None, to="", ways=ALL):
        return routes.routes_for(Notice(kind, "a-222", to), ask, ways, {"ops": ("bob", "cy")})

    anybodys = an_ask()
    for kind in ("opened", "reminder", "replied"):
        assert list_reached(kind, anybodys) == ALL
    assert list_reached("note") == ALL
    adas = an_ask(requirement=Requirement(1, ("ada",)))
    assert list_reached("opened", adas) == [DESKTOP, ADA, HOOK, COMMAND]
    assert list_reached("opened", an_ask(requirement=Requirement(2, veto=("ada",)))) == ALL
    assert list_reached("settled", anybodys) == [HOOK]
    assert list_reached("escalated", anybodys, "ada") == [ADA, HOOK, COMMAND]
    assert list_reached("escalated", anybodys, "ops") == [BOB, HOOK, COMMAND]
    assert list_reached("escalated", anybodys, "nobody") == [DESKTOP, HOOK, COMMAND]


@pytest.mark.proves("NTF-3")
def test_route_takes_only_urgent_enough_notices():
    high = Route("desktop", "", priority=1)
    taken = [
        routes.routes_for(Notice("opened", "a-222"), an_ask(priority=p), [high], {}) != []
        for p in range(5)
    ]
    assert taken == [True, True, False, False, False]
    assert routes.routes_for(Notice("note", ""), None, [high], {}) == []
    assert routes.routes_for(Notice("note", ""), None, [high._replace(priority=2)], {})


@pytest.mark.proves("NTF-4")
def test_outdated_notices_are_recognized():
    over = an_ask(status="answered")
    assert [
        kind
        for kind in ("opened", "reminder", "escalated", "replied", "settled", "note")
        if timing.is_moot(kind, over)
    ] == ["opened", "reminder", "escalated", "replied"]
    assert not timing.is_moot("opened", an_ask())
    assert timing.is_moot("settled", None) and timing.is_moot("note", None) is False
    day = timedelta(days=1)
    assert not timing.is_stale("settled", NOW - day, NOW)
    assert timing.is_stale("settled", NOW - day - timedelta(seconds=1), NOW)
    assert not timing.is_stale("opened", NOW - 9 * day, NOW)


def quiet(hours):
    return parse_route({"to": "desktop", "quiet": hours}, WHERE)


def local(day, hour, minute=0, fold=0):
    return datetime(2026, *day, hour, minute, tzinfo=BERLIN, fold=fold).astimezone(UTC)


@pytest.mark.proves("NTF-5")
@pytest.mark.parametrize(
    ("hours", "at", "until"),
    [
        ("22:00-07:00", local((1, 10), 21, 59), None),
        ("22:00-07:00", local((1, 10), 22), local((1, 11), 7)),
        ("22:00-07:00", local((1, 11), 6, 59), local((1, 11), 7)),
        ("22:00-07:00", local((1, 11), 7), None),
        ("12:00-14:00", local((1, 10), 11, 59), None),
        ("12:00-14:00", local((1, 10), 13), local((1, 10), 14)),
        ("12:00-14:00", local((1, 10), 14), None),
        # One night lacks an hour, and one has an hour twice.
        ("22:00-07:00", local((3, 28), 23), datetime(2026, 3, 29, 5, tzinfo=UTC)),
        ("22:00-07:00", local((10, 24), 23), datetime(2026, 10, 25, 6, tzinfo=UTC)),
        ("22:00-02:30", local((3, 28), 23), datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
        ("22:00-02:30", local((10, 25), 2, 10), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        ("22:00-02:30", local((10, 25), 2, 10, 1), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
    ],
)
def test_quiet_hours_delay_notices_that_are_not_urgent(hours, at, until):
    assert timing.send_at(quiet(hours), an_ask(), at, BERLIN) == (until or at)
    assert timing.send_at(quiet(hours), None, at, BERLIN) == (until or at)
    assert timing.send_at(quiet(hours), an_ask(priority=Priority.URGENT), at, BERLIN) == at
    assert timing.send_at(DESKTOP, an_ask(), at, BERLIN) == at


@pytest.mark.proves("NTF-5")
def test_quiet_hours_without_a_zone_use_local_time(monkeypatch):
    at = datetime(2026, 7, 1, 10, tzinfo=UTC)
    here = at.astimezone()
    hours = f"{here:%H}:00-{here:%H}:30"
    assert timing.send_at(quiet(hours), None, at) == at + timedelta(minutes=30)


@pytest.mark.proves("NTF-6")
def test_retries_come_later_and_later_and_end():
    waits = [timing.retry_at(attempts, NOW) for attempts in range(1, 8)]
    assert [wait and (wait - NOW).total_seconds() for wait in waits] == [
        10, 60, 300, 1800, 7200, None, None,
    ]  # fmt: skip
    assert [timing.is_exhausted(attempts) for attempts in (1, 6, 7)] == [False, False, True]


@pytest.mark.proves("NTF-7")
def test_message_says_who_asks_and_where():
    told = letter(ask=an_ask(priority=Priority.URGENT))
    assert told.title == "Asked by coder (urgent)"
    assert told.body == "Deploy?\na-222 · approval · shop"
    assert told.link == "https://gate.example.org/asks/a-222" and told.priority == Priority.URGENT
    assert letter(ask=an_ask(), url="").link == ""
    titles = {
        kind: letter(kind, an_ask(agent=""), to="bob").title
        for kind in ("reminder", "escalated", "replied", "settled")
    }
    assert titles == {
        "reminder": "Still waiting, asked by an unnamed asker",
        "escalated": "Escalated to bob: asked by an unnamed asker",
        "replied": "Reply from an unnamed asker",
        "settled": "Settled: a-222 is pending",
    }
    over = an_ask(status="answered", decision="rejected")
    assert letter("settled", over).title == "Settled: a-222 is rejected"
    said = letter("replied", an_ask(), Note("claude/1", "", "on main", NOW))
    assert said.body.startswith("on main\n") and said.document["data"]["text"] == "on main"
    assert said.document["data"]["prompt"] == "Deploy?"


@pytest.mark.proves("FLT-8")
@pytest.mark.parametrize(
    ("author", "session", "title"),
    [
        ("agent:claude/s1", "claude/s1", "Reply from coder"),
        ("agent:claude/s2", "claude/s1", "Reply from claude/s2"),
        ("person:ada", "", "Reply from ada"),
        ("", "", "Reply from coder"),
    ],
)
def test_reply_has_the_name_of_its_author(author, session, title):
    ask = an_ask()
    ask = ask._replace(origin=ask.origin._replace(session=session))
    told = letter("replied", ask, Note(author, "", "proposes: yes", NOW))
    assert told.title == title
    assert told.document["data"]["agent"] == "coder"
    assert told.document["data"]["author"] == title.removeprefix("Reply from ")


@pytest.mark.proves("NTF-7")
def test_note_is_sent_with_its_author():
    told = letter("note", words=Note("coder", "/projects/shop/", "half way", NOW))
    assert (told.title, told.body) == ("Note from coder", "half way\nshop")
    assert told.link == "https://gate.example.org/" and told.document["type"] == "note.sent"
    gone = letter("note")
    assert (gone.title, gone.body) == ("Note from an unnamed asker", "")
    tried = messages.compose_test(Delivery("i", "test", "", "", "x", NOW, NOW), "")
    assert tried.document["type"] == "gate.tested" and tried.title == "Test from gate"


DETAILS = {
    "id": "a-222", "kind": "approval", "priority": "normal", "secret": False,
    "opened_at": WHEN, "expires_at": None, "deadline": None, "status": "pending",
    "decision": None, "settled_at": None, "settled_by": "", "settled_via": "", "prompt": "Deploy?",
    "agent": "coder", "project": "/projects/shop", "to": "",
    "link": "https://gate.example.org/asks/a-222",
}  # fmt: skip


@pytest.mark.proves("NTF-7")
@pytest.mark.parametrize(
    ("kind", "event"),
    [
        ("opened", "ask.opened"),
        ("reminder", "ask.reminded"),
        ("escalated", "ask.escalated"),
        ("replied", "ask.replied"),
        ("settled", "ask.settled"),
    ],
)
def test_program_gets_all_of_a_letter(kind, event):
    document = letter(kind, an_ask(), to="bob").document
    assert document == {"type": event, "timestamp": WHEN, "data": DETAILS | {"to": "bob"}}
    over = an_ask(status="answered", settled_by="person:ada", settled_via="cli")
    assert letter(kind, over).document["data"]["settled_by"] == "person:ada"


@pytest.mark.proves("NTF-7")
def test_program_gets_all_of_a_note():
    link = "https://gate.example.org/"
    told = letter("note", words=Note("coder", "/projects/shop", "half way", NOW)).document
    data = {"agent": "coder", "project": "/projects/shop", "text": "half way", "link": link}
    assert told == {"type": "note.sent", "timestamp": WHEN, "data": data}
    assert letter("note", words=Note("coder", "/p/shop~", "x", NOW)).body == "x\nshop~"
    nothing = {"agent": "", "project": "", "text": "", "link": link}
    assert letter("note").document["data"] == nothing


@pytest.mark.proves("NTF-7")
def test_letter_of_a_test_is_whole():
    delivery = Delivery("i", "test", "", "", "x", NOW, NOW)
    assert delivery[7:] == (0, None, None, None, "", "", "")
    assert messages.compose_test(delivery, "https://gate.example.org") == (
        "i", "test", "Test from gate", "This route works: you will get a message here when something waits for you.",
        "https://gate.example.org/", Priority.NORMAL, "",
        {"type": "gate.tested", "timestamp": WHEN, "data": {}}, (), (), None,
    )  # fmt: skip


@pytest.mark.proves("NTF-8")
def test_long_words_of_a_letter_are_cut():
    assert letter(ask=an_ask("p" * 300)).body.startswith("p" * 300 + "\n")
    assert letter(ask=an_ask("p" * 301)).body.startswith("p" * 299 + "…\n")
    assert letter(ask=an_ask(agent="c" * 60)).title == "Asked by " + "c" * 60
    assert letter(ask=an_ask(agent="c" * 61)).title == "Asked by " + "c" * 59 + "…"


@pytest.mark.proves("NTF-8")
def test_message_holds_no_secret_context_or_activity():
    secret = an_ask("Deploy with password=hunter2x9 now?", status="answered", value="hunter2x9",
                    note="hunter2x9 is it")  # fmt: skip
    for kind in ("opened", "settled", "replied"):
        told = json.dumps(letter(kind, secret))
        assert not any(word in told for word in ("hunter2x9", "the context", "going on"))
        assert "‹hidden›" in letter(kind, secret).body


@pytest.mark.proves("NTF-8", "LAW-8")
@pytest.mark.parametrize(
    "hostile",
    ["a\r\nBcc: x@y\r\n\r\nbody", "\x1b]0;title\x07", "a\x00b", "--help", "\u202egnp", "x" * 200_000],
)  # fmt: skip
def test_words_of_agents_are_inert_and_short(hostile):
    ask = an_ask(hostile, agent=hostile)._replace(
        origin=Origin(project=f"/p/{hostile}", agent=hostile)
    )
    for kind in ("opened", "escalated", "settled", "replied", "reminder"):
        told = letter(kind, ask, Note("x", "", hostile, NOW), to=hostile)
        assert "\n" not in told.title and told.body.count("\n") == 1
        assert (told.title + told.body.replace("\n", "")).isprintable()
        assert told.title[0] != "-" and len(told.title) < 200 and len(told.body) < 500
        whole = json.dumps(told.document, ensure_ascii=False)
        assert whole.isprintable() and len(whole) < 2_000


@pytest.mark.proves("NTF-8")
@pytest.mark.usefixtures("uncounted")
def test_prompt_of_a_megabyte_takes_no_time():
    ask = an_ask()
    ask = ask._replace(question=ask.question._replace(prompt="token: x" * 131_072))
    assert len(letter(ask=ask).body) < 400


@pytest.mark.proves("CHAT-9", "PUSH-2")
def test_route_of_a_device_or_chat_shows_no_address():
    device = Route(ChannelKind.WEBPUSH, "d-1", "ada", secret="https://fcm.example/secret")
    assert device.name == "device d-1 of ada" and "secret" not in repr(device)
    link = ChatLink("c-1", ChannelKind.TELEGRAM, "ada", True, "", NOW, account="7", room="990011")
    chat = build_route(link)
    assert (chat.via, chat.target, chat.person) == ("telegram", "990011", "ada")
    assert chat.name.startswith("telegram #") and chat.name.endswith(" of ada")
    assert "990011" not in repr(chat)
    assert chat.name != build_route(link._replace(room="990012")).name
