"""Patience, presence, bundles and withdrawals, with scripted channels and a manual clock."""

from __future__ import annotations

import pytest
from tests.support.people import a_person
from tests.support.recorded_channels import (
    HOOK,
    ROAD,
    Channels,
    Recorder,
    fail,
    open_ask,
    post_to,
    send_all,
)

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.notifications.routes import Route
from gatebell.domain.permissions.calls import make_call
from gatebell.ports.channels import Post
from gatebell.services.asks import answer_ask, apply_deadlines, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.notifications import send_notices
from gatebell.services.notifications.send_notices import Sender
from gatebell.testing import MemoryStore

RING = Route("command", "ring", withdrawn=True)
QUIET_RING = Route("command", "ring")


@pytest.fixture
def store():
    return MemoryStore()


def settle(store, ask):
    answer_ask.answer(store, ask.id, a_person(), Given("because"))


def wait(store, post, seconds):
    store.clock.advance(seconds)
    send_all(store, post)


@pytest.mark.proves("NTF-34", "NTF-4")
def test_host_dialog_has_a_minute_before_a_message(store):
    channel = Recorder()
    post = post_to(channel, ROAD, HOOK)
    request = Request("Run it?", "approval", call=make_call("Bash", {"command": "ls"}, "/p"))
    asks = [create_ask.ask(store, request, Origin(agent="coder"), a_person()).ask for _ in "ab"]
    send_all(store, post)
    assert [letter.kind for letter in channel.sent] == ["opened", "opened"], "only the webhook"
    answer_ask.answer(store, asks[0].id, a_person(), Given("yes"))
    wait(store, post, 59)
    assert [letter.kind for letter in channel.sent[2:]] == ["settled"]
    wait(store, post, 1)
    assert [letter.ask_id for letter in channel.sent[3:]] == [asks[1].id]


@pytest.mark.proves("NTF-34", "NTF-16")
def test_sender_without_a_daemon_waits_for_the_patience(store):
    channel = Recorder()
    ask = open_ask(store)
    began = store.now()
    looks = []

    def look():
        looks.append((store.now() - began).total_seconds())

    # It returns None, which is false: the visitor did nothing.
    store.visitors.append(look)
    Sender(store, post_to(channel, ROAD._replace(after=600.0))).drain()
    look()
    assert [letter.ask_id for letter in channel.sent] == [ask.id]
    # While the thread sends, there may be any number of looks, a second apart.
    assert looks[:2] == [0, 600]


@pytest.mark.proves("NTF-35")
def test_new_route_sends_old_asks_in_one_message(store):
    channel, hook = Recorder(), Recorder()
    asks = []
    for number in range(4):
        asks.append(open_ask(store, f"Why {number}?"))
        store.clock.advance(400)
    settle(store, asks[0])
    post = Post((ROAD, HOOK), Channels(None, {ROAD.name: channel, HOOK.name: hook}), "https://g")
    send_all(store, post)
    (letter,) = channel.sent
    assert (letter.kind, letter.title, letter.link) == ("bundle", "3 asks wait", "https://g/")
    assert letter.ask_ids == tuple(ask.id for ask in asks[1:])
    assert [letter.kind for letter in hook.sent] == ["opened"] * 3 + ["settled"]
    wait(store, post, 86400)
    assert len(channel.sent) == 1


@pytest.mark.proves("NTF-35")
def test_flood_of_asks_is_one_message_and_a_bundle(store):
    channel = Recorder()
    post = post_to(channel)
    first = open_ask(store)
    send_all(store, post)
    for number in range(9):
        store.clock.advance(2)
        open_ask(store, f"Why {number}?")
        send_all(store, post)
    assert [letter.ask_id for letter in channel.sent] == [first.id]
    wait(store, post, 12)
    assert [letter.title for letter in channel.sent[1:]] == ["9 asks wait"]
    urgent = open_ask(store, "Now?", priority="urgent")
    send_all(store, post)
    assert channel.sent[-1].ask_id == urgent.id, "it waits for no other"


@pytest.mark.proves("NTF-35")
def test_last_open_ask_of_several_is_sent_alone(store):
    channel = Recorder()
    post = post_to(channel)
    asks = [open_ask(store, f"Why {number}?") for number in range(3)]
    send_notices.spread(store, post)
    for ask in asks[1:]:
        settle(store, ask)
    send_all(store, post)
    assert [(letter.kind, letter.ask_id) for letter in channel.sent] == [("opened", asks[0].id)]


@pytest.mark.proves("NTF-35", "NTF-5")
def test_asks_of_a_night_are_one_message(store):
    channel = Recorder()
    post = post_to(channel, ROAD._replace(quiet=send_at_night()))
    for number in range(3):
        open_ask(store, f"Why {number}?")
        send_all(store, post)
        store.clock.advance(60)
    assert channel.sent == []
    wait(store, post, 7 * 3600)
    assert [letter.title for letter in channel.sent] == ["3 asks wait"]


def send_at_night():
    from gatebell.domain.notifications.routes import parse_route

    return parse_route({"to": "desktop", "quiet": "22:00-07:00"}, "x").quiet


@pytest.mark.proves("NTF-35", "NTF-6")
def test_failed_messages_become_one_when_the_route_works(store):
    channel = Recorder(fail, fail)
    post = post_to(channel)
    open_ask(store, "One?")
    send_all(store, post)
    store.clock.advance(1)
    open_ask(store, "Two?")
    send_all(store, post)
    first = store.outbox.problems(9)[-1]
    wait(store, post, 10)
    assert [(letter.title, letter.id) for letter in channel.sent] == [("2 asks wait", first.id)]
    assert store.outbox.problems(9) == []


@pytest.mark.proves("NTF-40", "NTF-14")
def test_killed_sender_of_a_bundle_repeats_it_unchanged(store):
    channel = Recorder()
    post = post_to(channel)
    asks = [open_ask(store, f"Why {number}?") for number in range(3)]
    send_notices.spread(store, post)
    # A sender claims, sends, and dies before it records that.
    dead = store.outbox.gather(store.outbox.claim(ROAD.name), 99)
    assert {one.message for one in dead} == {dead[0].id} and len(dead) == 3
    late = open_ask(store, "Late?")
    wait(store, post, 59)
    assert [letter.ask_id for letter in channel.sent] == [late.id]
    wait(store, post, 1 + 30)
    assert [letter.id for letter in channel.sent[1:]] == [dead[0].id]
    assert set(channel.sent[1].ask_ids) == {ask.id for ask in asks}
    wait(store, post, 3600)
    assert len(channel.sent) == 2


@pytest.mark.proves("NTF-40")
def test_repeated_bundle_that_waits_gains_no_ask(store):
    channel = Recorder()
    post = post_to(channel, person="ada")
    asks = [open_ask(store, f"Why {number}?") for number in range(2)]
    send_notices.spread(store, post)
    dead = store.outbox.gather(store.outbox.claim(ROAD.name), 99)
    store.clock.advance(60)
    store.presence.see(["ada"])
    late = open_ask(store, "Late?")
    send_all(store, post)
    assert channel.sent == []
    wait(store, post, 60)
    wait(store, post, 30)
    told = {letter.id: set(letter.ask_ids) for letter in channel.sent}
    assert len(told) == 2 and told[dead[0].id] == {ask.id for ask in asks}
    assert {late.id} in told.values()


@pytest.mark.proves("NTF-40")
def test_repeated_bundle_leaves_out_settled_asks(store):
    channel = Recorder()
    post = post_to(channel)
    asks = [open_ask(store, f"Why {number}?") for number in range(3)]
    send_notices.spread(store, post)
    dead = store.outbox.gather(store.outbox.claim(ROAD.name), 99)
    settle(store, asks[0])
    wait(store, post, 60)
    (letter,) = channel.sent
    assert (letter.id, set(letter.ask_ids)) == (dead[0].id, {ask.id for ask in asks[1:]})
    assert channel.withdrawn[0].message_id == dead[0].id, "it may have been shown"


@pytest.mark.proves("NTF-37", "NTF-38")
def test_person_who_is_here_gets_no_message_yet(store):
    channel = Recorder()
    post = post_to(channel, person="ada")
    store.presence.see(["ada"])
    ask = open_ask(store)
    send_all(store, post)
    assert channel.sent == [] and send_notices.due_in(store, post, otherwise=7) == 60
    wait(store, post, 60)
    assert [letter.ask_id for letter in channel.sent] == [ask.id]
    store.clock.advance(60)
    store.presence.see(["ada"])
    settled = open_ask(store, "And why?")
    send_all(store, post)
    settle(store, settled)
    wait(store, post, 60)
    assert len(channel.sent) == 1, "it was settled first"


@pytest.mark.proves("NTF-37", "NTF-38")
def test_person_who_stays_here_hears_after_five_minutes(store):
    channel = Recorder()
    post = post_to(channel, person="ada")
    ask = open_ask(store)
    for _ in range(15):
        store.presence.see(["ada"])
        send_all(store, post)
        assert channel.sent == []
        store.clock.advance(20)
    store.presence.see(["ada"])
    send_all(store, post)
    assert [letter.ask_id for letter in channel.sent] == [ask.id]


@pytest.mark.proves("NTF-38")
def test_presence_of_one_person_delays_no_other(store):
    channel, bobs = Recorder(), Route("command", "bob", "bob")
    adas = Route("command", "ada", "ada")
    for name in ("ada", "bob"):
        store.people.add(name, [])
    store.presence.see(["ada"])
    open_ask(store)
    post = post_to(channel, ROAD, adas, bobs, person="ada")
    send_notices.spread(store, post)
    due = {route.name: store.outbox.next_due(route.name) for route in post.routes}
    now = store.now()
    assert [due[route.name] == now for route in (ROAD, adas, bobs)] == [True, False, True]


@pytest.mark.proves("NTF-39")
def test_message_about_a_settled_ask_is_taken_back(store):
    channel = Recorder()
    post = post_to(channel)
    ask = open_ask(store)
    send_all(store, post)
    settle(store, ask)
    send_all(store, post)
    (back,) = channel.withdrawn
    assert back.message_id == channel.sent[0].id and back.rest is None
    assert (back.news.kind, back.news.ask_id) == ("withdrawn", ask.id)
    assert back.news.title == f"Settled: {ask.id} is answered"
    wait(store, post, 3600)
    assert len(channel.withdrawn) == len(channel.sent) == 1


@pytest.mark.proves("NTF-39")
def test_bundle_shrinks_and_is_taken_back_at_last(store):
    channel = Recorder()
    post = post_to(channel)
    asks = [open_ask(store, f"Why {number}?") for number in range(3)]
    send_all(store, post)
    for ask in asks:
        settle(store, ask)
        wait(store, post, 1)
    titles = [back.rest and back.rest.title for back in channel.withdrawn]
    assert titles == ["2 asks wait", "1 ask waits", None]
    assert {back.message_id for back in channel.withdrawn} == {channel.sent[0].id}
    assert channel.withdrawn[0].rest.id == channel.sent[0].id


@pytest.mark.proves("NTF-39")
def test_unsent_message_is_not_taken_back(store):
    channel = Recorder()
    post = post_to(channel, ROAD._replace(after=60.0), QUIET_RING)
    ask = open_ask(store)
    send_all(store, post)
    settle(store, ask)
    wait(store, post, 60)
    assert channel.withdrawn == [] and len(channel.sent) == 1
    assert store.outbox.next_due(ROAD.name) is None


@pytest.mark.proves("NTF-39")
def test_failed_withdrawal_is_tried_again_and_then_forgotten(store):
    channel = Recorder()
    post = post_to(channel)
    ask = open_ask(store)
    send_all(store, post)
    channel.deeds = [fail] * 9
    settle(store, ask)
    send_all(store, post)
    assert store.outbox.problems(9)[0].kind == "withdrawn"
    for seconds in (10, 60, 300, 1800, 7200):
        wait(store, post, seconds)
    assert store.outbox.problems(9) == [] and len(channel.deeds) == 3
    assert store.outbox.next_due(ROAD.name) is None


@pytest.mark.proves("NTF-39")
def test_reminder_replaces_the_message_before_it(store):
    channel, ring = Recorder(), Recorder()
    ways = {ROAD.name: channel, RING.name: ring}
    post = Post((ROAD, RING), Channels(None, ways))
    ask = open_ask(store, remind_every_seconds=1800)
    send_all(store, post)
    store.clock.advance(1800)
    apply_deadlines.sweep(store)
    send_all(store, post)
    assert [letter.kind for letter in channel.sent] == ["opened", "reminder"]
    assert [back.message_id for back in channel.withdrawn] == [channel.sent[0].id]
    assert ring.withdrawn == [], "nothing is settled"
    settle(store, ask)
    send_all(store, post)
    assert channel.withdrawn[-1].message_id == channel.sent[1].id
    assert {back.news.ask_id for back in ring.withdrawn} == {ask.id}


@pytest.mark.proves("NTF-39")
def test_message_that_failed_is_not_taken_back(store):
    channel = Recorder(fail)
    post = post_to(channel)
    ask = open_ask(store)
    send_all(store, post)
    settle(store, ask)
    wait(store, post, 1)
    wait(store, post, 60)
    assert channel.sent == channel.withdrawn == [] and store.outbox.problems(9) == []
