"""Sending, with scripted channels and a manual clock."""

from __future__ import annotations

import threading
from contextlib import closing
from datetime import timedelta
from functools import partial

import pytest
from tests.support.people import a_person, an_agent
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
from tests.support.run_records import add_run, ask_of
from tests.support.waiting import eventually

from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Notice, Origin
from gatebell.domain.asks.deadlines import Escalation
from gatebell.domain.notifications.routes import Route, parse_route
from gatebell.errors import StoreError
from gatebell.ports.channels import Post
from gatebell.services import watcher
from gatebell.services.asks import answer_ask, apply_deadlines, ask_messages, create_ask
from gatebell.services.notifications import notes, send_notices
from gatebell.services.notifications.send_notices import Sender
from gatebell.services.watcher import Watcher
from gatebell.testing import MemoryStore

HOOK2 = Route("webhook", "https://y")
PATIENCE_SECONDS = 20


@pytest.fixture
def store():
    return MemoryStore()


@pytest.mark.proves("NTF-14")
def test_ask_is_sent_once(store):
    channel = Recorder()
    ask = open_ask(store)
    post = post_to(channel, url="https://g")
    assert send_notices.due_in(store, post, otherwise=7) == 0
    send_all(store, post)
    send_all(store, post)
    (letter,) = channel.sent
    assert (letter.ask_id, letter.link) == (ask.id, f"https://g/asks/{ask.id}")
    assert send_notices.due_in(store, post, otherwise=7) == 7


@pytest.mark.proves("ACT-5", "LAW-8")
def test_message_names_the_prompt_and_age_of_a_run(store):
    run = add_run(
        store, prompt="Add \x1b[31mlogin with password=hunter2secret\nmore", state="running"
    )
    store.clock.advance(300)
    ask_of(store, run.id, "1")
    channel = Recorder()
    send_all(store, post_to(channel))
    (letter,) = channel.sent
    assert f"Run {run.id}, feature: Add ␛[31mlogin" in letter.body
    assert "started 5m before" in letter.body and "more" not in letter.body
    assert "hunter2secret" not in letter.body
    data = letter.document["data"]
    assert data["run"] == run.id and data["run_title"].startswith("feature: Add ␛")


@pytest.mark.proves("ACT-5")
def test_bundle_tells_two_runs_of_one_flow_apart(store):
    runs = [add_run(store, prompt=f"Add {what}") for what in ("login", "logout")]
    store.clock.advance(300)
    for run in runs:
        ask_of(store, run.id, "1")
    channel = Recorder()
    send_all(store, post_to(channel))
    (letter,) = channel.sent
    ends = {line.rpartition(" · ")[2] for line in letter.body.splitlines()}
    assert ends == {f"Run {run.id}, {run.title}, started 5m before" for run in runs}


@pytest.mark.proves("NTF-6", "NTF-14")
def test_failure_is_retried_and_then_given_up(store):
    channel = Recorder(fail, lambda _: 1 / 0)
    open_ask(store)
    post = post_to(channel)
    send_all(store, post)
    assert send_notices.due_in(store, post, otherwise=7) == 10
    (problem,) = store.outbox.problems(9)
    assert problem.problem == "no such luck"
    store.clock.advance(10)
    send_all(store, post)
    (worse,) = store.outbox.problems(9)
    assert "ZeroDivisionError" in worse.problem and (worse.id, worse.attempts) == (problem.id, 2)
    store.clock.advance(60)
    send_all(store, post)
    assert [letter.id for letter in channel.sent] == [problem.id]
    assert store.outbox.problems(9) == []
    channel.deeds = [fail] * 9
    store.clock.advance(30)
    open_ask(store, "Again?")
    for seconds in (0, 10, 60, 300, 1800, 7200):
        store.clock.advance(seconds)
        send_all(store, post)
    (given_up,) = store.outbox.problems(9)
    assert given_up.given_up_at == store.now() and given_up.attempts == 6
    assert len(channel.deeds) == 3


@pytest.mark.proves("NTF-11", "NTF-14")
def test_delivery_that_kills_its_senders_is_given_up(store):
    open_ask(store)
    channel = Recorder()
    post = post_to(channel)
    send_notices.spread(store, post)
    for _ in range(6):
        store.outbox.claim(ROAD.name)
        store.clock.advance(60)
    send_all(store, post)
    assert (
        channel.sent == [] and "every sender process ended" in store.outbox.problems(1)[0].problem
    )


@pytest.mark.proves("NTF-4")
def test_ask_settled_before_sending_is_not_sent(store):
    channel = Recorder()
    post = post_to(channel, ROAD, HOOK)
    ask = open_ask(store)
    send_notices.spread(store, post)
    answer_ask.answer(store, ask.id, a_person(), Given("because"))
    send_all(store, post)
    assert [letter.kind for letter in channel.sent] == ["settled"]
    other = open_ask(store)
    create_ask.cancel(store, other.id, a_person(), "")
    send_all(store, post)
    assert [letter.kind for letter in channel.sent] == ["settled", "settled"]


@pytest.mark.proves("NTF-4")
def test_old_news_is_not_sent_on_a_new_route(store):
    channel = Recorder()
    ask = open_ask(store, remind_every_seconds=3600)
    for _ in range(30):
        store.clock.advance(3600)
        apply_deadlines.sweep(store)
    store.clock.advance(23 * 3600)
    send_all(store, post_to(channel))
    kinds = [letter.kind for letter in channel.sent]
    assert kinds[0] == "opened" and len(kinds) < 5 and ask.id == channel.sent[0].ask_id


@pytest.mark.proves("NTF-4")
def test_waiting_ask_is_sent_once_a_route_exists(store):
    channel = Recorder()
    ask = open_ask(store)
    nowhere = Post((), Channels(channel))
    Sender(store, nowhere).drain()
    assert send_notices.due_in(store, nowhere, otherwise=7) == 7
    send_all(store, post_to(channel))
    assert [letter.ask_id for letter in channel.sent] == [ask.id]


@pytest.mark.proves("NTF-5")
def test_quiet_hours_hold_a_delivery_until_they_end(store):
    route = parse_route({"to": "desktop", "quiet": "22:00-07:00"}, "x")
    channel = Recorder(fail)
    post = post_to(channel, route)
    open_ask(store, "At midnight?")
    open_ask(store, "At once?", priority="urgent")
    send_notices.spread(store, post)
    assert not send_notices.send_next(store, post, route)
    assert send_notices.due_in(store, post, otherwise=1) == 10
    store.clock.advance(10)
    send_all(store, post)
    assert [letter.body[:8] for letter in channel.sent] == ["At once?"]
    store.clock.advance(7 * 3600 - 10)
    channel.deeds = [fail]
    send_all(store, post)
    store.clock.advance(15 * 3600)
    send_all(store, post)
    assert len(channel.sent) == 1, "it was due in the day, but nobody was there to send it"
    assert store.outbox.problems(1)[0].attempts == 1
    store.clock.advance(9 * 3600)
    send_all(store, post)
    assert [letter.body[:12] for letter in channel.sent][1:] == ["At midnight?"]


@pytest.mark.proves("NTF-5", "ASK-16")
def test_reminders_of_a_night_are_not_made_up_for(store):
    route = parse_route({"to": "desktop", "quiet": "22:00-07:00"}, "x")
    channel = Recorder()
    post = post_to(channel, route)
    store.clock.advance(20 * 3600)
    open_ask(store, remind_every_seconds=1800)
    kinds = []
    for _ in range(26):
        send_all(store, post)
        kinds.append([letter.kind for letter in channel.sent])
        channel.sent.clear()
        store.clock.advance(1800)
        apply_deadlines.sweep(store)
    assert kinds == [["opened"], *[["reminder"]] * 3, *[[]] * 18, *[["reminder"]] * 4]


@pytest.mark.proves("NTF-5", "ASK-16")
def test_unsent_reminder_is_dropped_after_the_night(store):
    route = parse_route({"to": "desktop", "quiet": "22:00-07:00"}, "x")
    channel = Recorder()
    post = post_to(channel, route)
    store.clock.advance(20 * 3600)
    open_ask(store, remind_every_seconds=1800)
    send_all(store, post)
    store.clock.advance(1800)
    apply_deadlines.sweep(store)
    send_notices.spread(store, post)
    store.clock.advance(2 * 3600)
    assert send_notices.send_next(store, post, route) and store.outbox.next_due(route.name) is None
    assert [letter.kind for letter in channel.sent] == ["opened"]


@pytest.mark.proves("NTF-3")
def test_escalations_reach_the_members_of_a_group(store):
    channel = Recorder()
    bobs = Route("desktop", "", "bob")
    store.people.add("bob", [])
    store.people.set_group("ops", ["bob"], [])
    open_ask(store, escalations=(Escalation(60, "ops"),))
    post = post_to(channel, ROAD, bobs)
    send_all(store, post)
    store.clock.advance(60)
    apply_deadlines.sweep(store)
    send_notices.spread(store, post)
    assert not send_notices.send_next(store, post, ROAD) and send_notices.send_next(
        store, post, bobs
    )
    assert channel.sent[-1].title == "Escalated to ops: asked by coder"


@pytest.mark.proves("NTF-7")
def test_replies_and_notes_are_sent_with_their_words(store):
    channel = Recorder()
    post = post_to(channel)
    ask = open_ask(store)
    send_all(store, post)
    ask_messages.ask_back(store, ask.id, a_person(), "Which one?")
    ask_messages.reply(store, ask.id, an_agent(), "the blue one")
    store.clock.advance(1)
    notes.tell(store, Origin(agent="coder", project="/p/shop"), an_agent(), "half way")
    store.clock.advance(1)
    notes.tell(store, Origin(agent="coder"), an_agent(), "done")
    send_all(store, post)
    assert [letter.body.partition("\n")[0] for letter in channel.sent[1:]] == [
        "the blue one", "half way", "done",
    ]  # fmt: skip


@pytest.mark.proves("FLT-8")
@pytest.mark.parametrize("spread_first", [True, False])
def test_reply_about_a_settled_ask_is_not_sent(store, spread_first):
    channel = Recorder()
    post = post_to(channel)
    ask = open_ask(store)
    send_all(store, post)
    ask_messages.ask_back(store, ask.id, a_person(), "Which one?")
    ask_messages.reply(store, ask.id, an_agent(), "the blue one")
    if spread_first:
        send_notices.spread(store, post)
    answer_ask.answer(store, ask.id, a_person(), Given("yes"))
    send_all(store, post)
    assert [letter.kind for letter in channel.sent] == ["opened"]


@pytest.mark.proves("NTF-7")
def test_missing_reply_is_sent_without_words(store):
    channel = Recorder()
    ask = open_ask(store)
    store.record([], [Notice("replied", ask.id)])
    send_all(store, post_to(channel))
    assert channel.sent[-1].body.startswith("Why?")


@pytest.mark.proves("NTF-15")
def test_test_message_uses_each_route_and_reports_errors(store):
    channel = Recorder(fail)
    tried = send_notices.send_test(store, post_to(channel, ROAD, HOOK), (ROAD, HOOK))
    assert [one.problem for one in tried] == ["no such luck", ""]
    assert channel.sent[0].title == "Test from gate" and store.outbox.list_posted(1) == []


@pytest.fixture
def real(tmp_path):
    made = open_throwaway_store(str(tmp_path / "gate.db"))
    yield made
    made.close()


@pytest.mark.proves("NTF-16")
def test_slow_route_does_not_delay_another(real):
    let_go, slow, fast = threading.Event(), Recorder(), Recorder()
    slow.deeds = [lambda _: let_go.wait(PATIENCE_SECONDS)]
    ways = {HOOK2.name: slow, HOOK.name: fast}
    sender = Sender(real, Post((HOOK2, HOOK), Channels(named=ways)))
    sender.start()
    open_ask(real)
    open_ask(real, "And why?")
    assert fast.arrived.acquire(timeout=PATIENCE_SECONDS)
    assert fast.arrived.acquire(timeout=PATIENCE_SECONDS)
    assert slow.sent == []
    let_go.set()
    assert slow.arrived.acquire(timeout=PATIENCE_SECONDS)
    assert slow.arrived.acquire(timeout=PATIENCE_SECONDS)
    sender.stop()
    assert len(slow.sent) == len(fast.sent) == 2


@pytest.mark.proves("NTF-16")
def test_two_senders_at_once_send_everything_once(real):
    channel = Recorder()
    for number in range(20):
        open_ask(real, f"Question {number}?")
    senders = [Sender(real, post_to(channel, HOOK2, HOOK)) for _ in range(2)]
    for sender in senders:
        sender.start()
    for _ in range(40):
        assert channel.arrived.acquire(timeout=PATIENCE_SECONDS)
    for sender in senders:
        sender.stop()
    assert len(channel.sent) == len({letter.id for letter in channel.sent}) == 40


@pytest.mark.proves("NTF-16")
def test_draining_ends_when_nothing_is_due_for_a_while(store):
    channel = Recorder(*[fail] * 4)
    open_ask(store)
    Sender(store, post_to(channel)).drain()
    (problem,) = store.outbox.problems(9)
    assert problem.attempts == 4 and problem.due_at - store.now() > timedelta(minutes=15)
    Sender(store, post_to(channel)).drain()
    assert channel.sent == []


@pytest.mark.proves("NTF-16")
def test_sender_survives_an_error_of_its_store(real, monkeypatch):
    channel = Recorder()
    problems = [StoreError(), StoreError()]
    claim = real.outbox.claim

    def fail_once(*args):
        if problems:
            raise problems.pop()
        return claim(*args)

    monkeypatch.setattr(real.outbox, "claim", fail_once)
    people = real.people.groups
    monkeypatch.setattr(
        real.people, "groups", lambda: fail_once() if len(problems) > 1 else people()
    )
    monkeypatch.setattr(send_notices, "_LOOK_AROUND_SECONDS", 0.01)
    sender = Sender(real, post_to(channel))
    sender.start()
    open_ask(real)
    assert channel.arrived.acquire(timeout=PATIENCE_SECONDS)
    sender.stop()
    assert problems == []
    Sender(real, post_to(channel)).stop()


def until_all_have_ended(sender):
    for thread in [sender._thread, *sender._threads.values()]:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


@pytest.mark.proves("NTF-24")
def test_stopping_waits_a_moment_and_lets_the_rest_be(real, monkeypatch):
    monkeypatch.setattr(send_notices, "_ENDS_WITHIN_SECONDS", 0.2)
    let_go, at_it, channel = threading.Event(), threading.Event(), Recorder()
    channel.deeds = [lambda _: at_it.set() or let_go.wait(PATIENCE_SECONDS)]
    sender = Sender(real, post_to(channel))
    sender.start()
    open_ask(real)
    assert at_it.wait(PATIENCE_SECONDS)
    began = real.monotonic()
    sender.stop()
    assert real.monotonic() - began < 5 and channel.sent == []
    assert all(thread.daemon for thread in sender._threads.values())
    let_go.set()
    until_all_have_ended(sender)


@pytest.mark.proves("NTF-25")
def test_store_error_during_a_slow_route_stops_no_other(real, monkeypatch):
    monkeypatch.setattr(send_notices, "_LOOK_AROUND_SECONDS", 0.01)
    let_go, at_it, slow, fast = threading.Event(), threading.Event(), Recorder(), Recorder()
    slow.deeds = [lambda _: at_it.set() or let_go.wait(PATIENCE_SECONDS)]
    ways = {HOOK2.name: slow, HOOK.name: fast}
    sender = Sender(real, Post((HOOK2, HOOK), Channels(named=ways)))
    sender.start()
    open_ask(real)
    assert at_it.wait(PATIENCE_SECONDS) and fast.arrived.acquire(timeout=PATIENCE_SECONDS)
    fail_next(monkeypatch, real.people, "groups", StoreError())
    open_ask(real, "And why?")
    assert fast.arrived.acquire(timeout=PATIENCE_SECONDS) and slow.sent == []
    let_go.set()
    assert slow.arrived.acquire(timeout=PATIENCE_SECONDS)
    assert slow.arrived.acquire(timeout=PATIENCE_SECONDS)
    sender.stop()


def fail_next(monkeypatch, whose, name, error):
    """Only the next call fails."""
    method, errors = getattr(whose, name), [error]

    def once(*args, **more):
        if errors:
            raise errors.pop()
        return method(*args, **more)

    monkeypatch.setattr(whose, name, once)


@pytest.mark.proves("NTF-25")
@pytest.mark.parametrize(
    ("noun", "verb"), [("people", "groups"), ("outbox", "next_due"), ("outbox", "claim")]
)
def test_whatever_goes_wrong_is_logged_and_sending_goes_on(real, monkeypatch, caplog, noun, verb):
    monkeypatch.setattr(send_notices, "_LOOK_AROUND_SECONDS", 0.01)
    fail_next(monkeypatch, getattr(real, noun), verb, ZeroDivisionError("a bug"))
    channel = Recorder()
    sender = Sender(real, post_to(channel))
    sender.start()
    open_ask(real)
    assert channel.arrived.acquire(timeout=PATIENCE_SECONDS)
    sender.stop()
    assert "ZeroDivisionError: a bug" in caplog.text


@pytest.mark.proves("NTF-25")
def test_thread_that_cannot_start_blocks_no_route(real, monkeypatch, caplog):
    monkeypatch.setattr(send_notices, "_LOOK_AROUND_SECONDS", 0.01)
    channel = Recorder()
    sender = Sender(real, post_to(channel, HOOK))
    open_ask(real)
    sender.start()
    assert channel.arrived.acquire(timeout=PATIENCE_SECONDS)
    # The thread may send before the sender records it.
    for thread in list(eventually(lambda: sender._threads).values()):
        thread.join(PATIENCE_SECONDS)
    fail_next(monkeypatch, threading.Thread, "start", RuntimeError("can't start new thread"))
    open_ask(real, "And why?")
    assert channel.arrived.acquire(timeout=PATIENCE_SECONDS)
    sender.stop()
    assert "can't start new thread" in caplog.text


@pytest.mark.proves("NTF-25", "SRV-53")
def test_repeated_error_is_logged_once(real, caplog):
    sender = Sender(real, post_to(Recorder()))
    for words in ("one", "one", "two"):
        sender._complain(StoreError(words))
    sender._complain(ValueError("a fault of the program"))
    one, two, fault = caplog.records
    assert one.getMessage().endswith("again: one") and not (one.exc_info or two.exc_info)
    assert fault.exc_info, "its place is needed to repair it"


@pytest.mark.proves("NTF-26")
def test_unsent_reminders_do_not_pile_up(store):
    ask = open_ask(store, remind_every_seconds=1)
    channel = Recorder(*[fail] * 99)
    for _ in range(50):
        store.clock.advance(1)
        apply_deadlines.sweep(store)
    assert [notice.kind for notice in store.outbox.waiting(99)] == ["opened", "reminder"]
    for _ in range(50):
        store.clock.advance(1)
        apply_deadlines.sweep(store)
        send_all(store, post_to(channel))
    kinds = [delivery.kind for delivery in store.outbox.problems(999)]
    assert kinds.count("reminder") == 1 and store.asks.get(ask.id).deadlines.remind_at > store.now()


@pytest.mark.proves("NTF-28")
def test_sweep_is_bounded_and_continues_next_time(store):
    for number in range(5):
        open_ask(store, f"Question {number}?", expires_seconds=number + 1)
    store.clock.advance(9)
    assert apply_deadlines.sweep(store, most=3) == 3
    assert [ask.question.prompt for ask in store.asks.pending(9)] == ["Question 3?", "Question 4?"]
    assert [apply_deadlines.sweep(store, most=3) for _ in range(2)] == [2, 0]


@pytest.mark.proves("NTF-28")
def test_watcher_goes_on_until_all_due_asks_fell_due(real, monkeypatch):
    for number in range(9):
        open_ask(real, f"Question {number}?", expires_seconds=0.001)
    monkeypatch.setattr(watcher, "sweep", partial(apply_deadlines.sweep, most=2))
    with closing(Watcher(real).changes()) as changes:
        assert any(not real.asks.pending(1) for _ in changes)
