"""The outbox of each store sends each delivery once, after a crash once more."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from tests.support.people import a_person

from gatebell.app.wiring import open_store, open_throwaway_store
from gatebell.domain.asks.asks import Notice, Origin
from gatebell.domain.notifications.messages import Delivery, Posted
from gatebell.services.asks import apply_deadlines, create_ask
from gatebell.services.asks.create_ask import Request


def read_last_posted(store):
    create_ask.ask(store, Request("Why?"), Origin(), a_person())
    return store.outbox.list_posted(9)[-1]


def a_delivery(store, name="d1", route="desktop", **more):
    return Delivery(name, "opened", "a-222", "bob", route, store.now(), store.now(), **more)


def spread(store, *deliveries):
    store.outbox.spread({read_last_posted(store): deliveries or (a_delivery(store),)})
    return deliveries


@pytest.mark.proves("NTF-10", "STORE-1")
def test_notice_is_spread_once(store):
    first = read_last_posted(store)
    assert first == Posted(1, Notice("opened", first.notice.ask_id), store.now())
    store.outbox.spread({first: [a_delivery(store), a_delivery(store, "d2", "other")]})
    assert store.outbox.list_posted(9) == store.outbox.waiting(9) == []
    store.outbox.spread({first: [a_delivery(store, "d3")]})
    assert store.outbox.claim("desktop").id == "d1" and store.outbox.claim("desktop") is None
    assert store.outbox.claim("other").id == "d2"


@pytest.mark.proves("NTF-10", "STORE-1")
def test_later_notice_is_not_taken_for_a_spread_one(store):
    first = read_last_posted(store)
    store.outbox.spread({first: []})
    store.clock.advance(1)
    second = read_last_posted(store)
    store.outbox.spread({first: [a_delivery(store)]})
    assert store.outbox.list_posted(9) == [second] and store.outbox.claim("desktop") is None


@pytest.mark.proves("NTF-32", "STORE-1")
def test_first_written_delivery_goes_out_first(store):
    now = store.now()
    names = ["d3", "d1", "d2"]
    store.outbox.spread({
        read_last_posted(store): [
            a_delivery(store, name)._replace(due_at=now + timedelta(seconds=9), written_at=now + timedelta(seconds=number))
            for number, name in enumerate(names)
        ]
    })  # fmt: skip
    store.clock.advance(10)
    assert [store.outbox.claim("desktop").id for _ in names] == names


@pytest.mark.proves("NTF-11", "STORE-1")
def test_delivery_can_be_claimed_again_after_a_minute(store):
    spread(store)
    claimed = store.outbox.claim("desktop")
    until = store.now() + timedelta(seconds=60)
    assert claimed == a_delivery(store, attempts=1, claimed_until=until)
    assert store.outbox.next_due("desktop") == until
    store.clock.advance(59)
    assert store.outbox.claim("desktop") is None
    store.clock.advance(1)
    again = store.outbox.claim("desktop")
    assert (again.id, again.attempts) == ("d1", 2)
    store.outbox.sent(again)
    store.clock.advance(3600)
    assert store.outbox.claim("desktop") is None and store.outbox.next_due("desktop") is None


@pytest.mark.proves("NTF-11", "STORE-1")
def test_failed_delivery_is_due_later_and_given_up_never(store):
    spread(store)
    again_at = store.now() + timedelta(seconds=10)
    store.outbox.record_failure(store.outbox.claim("desktop"), "a trouble", again_at)
    assert store.outbox.claim("desktop") is None and store.outbox.next_due("desktop") == again_at
    (problem,) = store.outbox.problems(9)
    assert (problem.problem, problem.given_up_at, problem.due_at) == ("a trouble", None, again_at)
    store.clock.advance(10)
    store.outbox.record_failure(store.outbox.claim("desktop"), "worse", None)
    (problem,) = store.outbox.problems(9)
    assert (problem.problem, problem.given_up_at) == ("worse", store.now())
    store.clock.advance(86400)
    assert store.outbox.claim("desktop") is None and store.outbox.next_due("desktop") is None
    assert (store.outbox.try_again(), store.outbox.try_again()) == (1, 0)
    claimed = store.outbox.claim("desktop")
    assert (claimed.id, claimed.attempts) == ("d1", 1)
    store.outbox.sent(claimed)
    assert store.outbox.problems(9) == []


@pytest.mark.proves("NTF-11", "STORE-1")
def test_sender_that_was_too_slow_changes_nothing(store):
    spread(store)
    slow = store.outbox.claim("desktop")
    store.clock.advance(60)
    fast = store.outbox.claim("desktop")
    store.outbox.record_failure(slow, "late", None)
    store.outbox.put_off(slow, store.now())
    assert store.outbox.problems(9) == []
    assert store.outbox.next_due("desktop") == fast.claimed_until
    store.outbox.sent(fast)
    store.outbox.record_failure(fast, "no", None)
    store.outbox.drop(fast)
    assert store.outbox.problems(9) == []


@pytest.mark.proves("NTF-11", "STORE-1")
def test_delivery_can_be_delayed_or_dropped(store):
    spread(store, a_delivery(store), a_delivery(store, "d2", "other"))
    until = store.now() + timedelta(hours=9)
    store.outbox.put_off(store.outbox.claim("desktop"), until)
    assert store.outbox.next_due("desktop") == until
    store.clock.advance(9 * 3600)
    assert store.outbox.claim("desktop").attempts == 1
    store.outbox.drop(store.outbox.claim("other"))
    assert store.outbox.next_due("other") is None and store.outbox.problems(9) == []


@pytest.mark.proves("NTF-11", "STORE-1")
def test_oldest_due_comes_first_and_newest_failures_first(store):
    later = a_delivery(store)._replace(due_at=store.now() + timedelta(seconds=5))
    spread(store, later, a_delivery(store, "d2"))
    assert store.outbox.claim("desktop").id == "d2" and store.outbox.claim("desktop") is None
    store.clock.advance(5)
    assert store.outbox.claim("desktop").id == "d1"
    for name in ("d3", "d4"):
        store.clock.advance(1)
        spread(store, a_delivery(store, name, "x"))
        store.outbox.record_failure(store.outbox.claim("x"), "t", None)
    assert [one.id for one in store.outbox.problems(9)] == ["d4", "d3"]
    assert [one.id for one in store.outbox.problems(1)] == ["d4"]


@pytest.mark.proves("NTF-12", "STORE-1")
def test_old_deliveries_are_forgotten(store):
    spread(store, a_delivery(store), a_delivery(store, "d2", "other"))
    store.outbox.sent(store.outbox.claim("desktop"))
    store.outbox.record_failure(store.outbox.claim("other"), "t", None)
    store.clock.advance(7 * 86400)
    store.outbox.spread({})
    assert len(store.outbox.problems(9)) == 1
    store.clock.advance(1)
    store.outbox.spread({})
    assert store.outbox.problems(9) == []


@pytest.mark.proves("NTF-26", "STORE-1")
def test_of_an_asks_reminders_one_waits_to_be_spread(store):
    ask = create_ask.ask(store, Request("Why?", remind_every_seconds=1), Origin(), a_person()).ask
    other = create_ask.ask(store, Request("How?", remind_every_seconds=1), Origin(), a_person()).ask
    for _ in range(3):
        store.clock.advance(1)
        apply_deadlines.sweep(store)
    reminders = sorted([Notice("reminder", ask.id), Notice("reminder", other.id)])
    assert sorted(store.outbox.waiting(9)[2:]) == reminders
    store.outbox.spread({one: [] for one in store.outbox.list_posted(9)})
    store.clock.advance(1)
    apply_deadlines.sweep(store)
    assert sorted(store.outbox.waiting(9)) == reminders


@pytest.mark.proves("NTF-26", "STORE-1")
def test_one_reminder_of_an_ask_waits_on_each_route(store):
    def remind(name, route="desktop", ask_id="a-222"):
        spread(store, a_delivery(store, name, route)._replace(kind="reminder", ask_id=ask_id))

    remind("d1")
    remind("d2")
    remind("d3", "other")
    remind("d4", ask_id="a-333")
    claims = [store.outbox.claim(route) for route in ("desktop", "desktop", "desktop", "other")]
    assert sorted(one.id for one in claims if one) == ["d1", "d3", "d4"]
    remind("d5")
    assert store.outbox.claim("desktop") is None, "d1 is being sent"
    for claimed in claims[:2]:
        store.outbox.sent(claimed)
    remind("d6")
    store.outbox.record_failure(store.outbox.claim("desktop"), "t", None)
    remind("d7")
    assert store.outbox.claim("desktop").id == "d7"


@pytest.mark.proves("NTF-10", "NTF-11")
def test_of_many_senders_at_once_one_gets_each_delivery(place):
    store = open_store(place)
    news = [read_last_posted(store) for _ in range(5)]
    got, start = [], threading.Barrier(4)

    def send(number):
        mine = open_store(place)
        start.wait()
        mine.outbox.spread({one: [a_delivery(mine, f"{one.seq}/{number}")] for one in news})
        while claimed := mine.outbox.claim("desktop"):
            got.append(claimed.id)
            mine.outbox.sent(claimed)
        mine.close()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while claimed := store.outbox.claim("desktop"):
        got.append(claimed.id)
        store.outbox.sent(claimed)
    assert sorted(one.partition("/")[0] for one in got) == ["1", "2", "3", "4", "5"]


@pytest.mark.proves("NTF-13")
def test_news_follows_the_commit_and_never_a_throwaway_store(tmp_path, monkeypatch):
    seen = []
    path = str(tmp_path / "gate.db")

    def close_other(has_devices):
        assert not has_devices
        other = open_store(path)
        seen.append(len(other.outbox.waiting(99)))
        other.close()

    monkeypatch.setattr("gatebell.adapters.system.notifier_process.Starter", lambda _: close_other)
    store = open_store(path)
    ask = create_ask.ask(store, Request("Why?"), Origin(), a_person()).ask
    assert seen == [1]
    store.people.set_group("ops", [], [])
    store.outbox.spread({one: [] for one in store.outbox.list_posted(9)})
    assert seen == [1]
    create_ask.cancel(store, ask.id, a_person(), "")
    assert seen == [1, 1]
    store.close()
    thrown = str(tmp_path / "thrown.db")
    open_throwaway_store(thrown).close()
    create_ask.ask(open_store(thrown), Request("Why?"), Origin(), a_person())
    assert seen == [1, 1]


@pytest.mark.proves("NTF-40", "STORE-1")
def test_due_asks_are_claimed_for_one_message(store):
    later = a_delivery(store, "d4")._replace(due_at=store.now() + timedelta(seconds=5))
    spread(
        store,
        *(a_delivery(store, f"d{number}") for number in (1, 2, 3)),
        later,
        a_delivery(store, "d5")._replace(kind="note", written_at=later.due_at),
        a_delivery(store, "d6", "other"),
    )
    first = store.outbox.claim("desktop")
    store.clock.advance(1)
    gathered = store.outbox.gather(first, 99)
    assert gathered[0].id == first.id
    assert {one.id for one in gathered} == {"d1", "d2", "d3"}
    assert {(one.message, one.attempts, one.claimed_until) for one in gathered} == {
        (first.id, 1, store.now() + timedelta(seconds=60))
    }
    assert store.outbox.gather(first._replace(attempts=9), 99) == [], "it is claimed again"
    store.outbox.sent(*gathered, receipt="r")
    assert store.outbox.last_told("desktop") == store.now()
    assert store.outbox.last_told("other") is None
    assert {one.receipt for one in store.outbox.list_in_message(first.id)} == {"r"}
    assert store.outbox.list_in_message("") == []
    about = store.outbox.list_about("a-222")
    assert {one.id for one in about} == {one.id for one in gathered}


@pytest.mark.proves("NTF-40", "STORE-1")
def test_message_of_a_dead_sender_is_claimed_whole(store):
    spread(store, a_delivery(store), a_delivery(store, "d2"))
    dead = store.outbox.gather(store.outbox.claim("desktop"), 99)
    assert len(dead) == 2 and store.outbox.claim("desktop") is None
    store.clock.advance(60)
    spread(store, a_delivery(store, "d3"))
    claimed = store.outbox.claim("desktop")
    again = store.outbox.gather(claimed, 99)
    assert {(one.id, one.message, one.attempts) for one in again} == {
        (one.id, dead[0].id, 2) for one in dead
    }
    failed, other = again
    store.outbox.record_failure(failed, "t", store.now(), [other])
    assert len(store.outbox.problems(9)) == 2
    merged = store.outbox.gather(store.outbox.claim("desktop"), 1)
    assert len(merged) == 3, "one that is known to have failed takes others"
    store.outbox.put_off(merged[2], store.now())
    store.outbox.sent(*merged[:2])
    assert store.outbox.claim("desktop").message == "", "it goes out by itself"


@pytest.mark.proves("NTF-37", "STORE-1")
def test_people_are_seen_at_a_time(store):
    assert store.presence.last_seen("ada") is None
    store.presence.see(["bob", "ada", "ada"])
    first = store.now()
    store.clock.advance(5)
    store.presence.see(["ada"])
    assert store.presence.last_seen("ada") == store.now()
    assert store.presence.last_seen("bob") == first
    assert not list(store.audit.entries())
