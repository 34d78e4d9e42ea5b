"""Every pair of verbs that share a row, one stopped before its COMMIT, in both orders.

SQLite has one writer at a time. PostgreSQL has many: without the row locks, some of these pairs
lose a wake-up or a count, and the usual tests do not notice it.
"""

from __future__ import annotations

from itertools import product

import pytest
from tests.support.interleaved_work import (
    AnsweredAsk,
    Needs,
    OneAsk,
    OneRun,
    Opening,
    SecretAsk,
    Session,
    Working,
    list_verbs,
)
from tests.support.interleaving import together
from tests.support.people import a_person
from tests.support.run_records import add_run, turn
from tests.support.task_records import add_task

from gatebell.adapters.tables.statements import Statements
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import NoticeKind
from gatebell.domain.notifications.messages import Delivery
from gatebell.errors import GateError, StoreError
from gatebell.services import audit
from gatebell.services.asks import answer_ask, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs import manage_runs
from gatebell.services.tasks import backlog

__all__ = ["together"]

ADA, BOB = a_person("ada", verified=True), a_person("bob", verified=True)


def check(store, *results):
    """Check that no verb failed, and that rows and events agree."""
    assert [one for one in results if isinstance(one, StoreError)] == []
    assert audit.verify(store) == []
    assert store.asks.without_events() == []
    settled = ("ask.answered", "ask.cancelled", "ask.timed_out")
    for entry in list(store.audit.entries()):
        if entry.event.kind in settled:
            kinds = [one.event.kind for one in store.audit.of_subject(entry.event.subject)]
            assert sum(kind in settled for kind in kinds) == 1, kinds


def pairs(scene):
    verbs = list(product(list_verbs(scene), repeat=2))
    return pytest.mark.parametrize(("first", "second"), verbs)


# After these the run has another claim, or is at its end.
WITH_A_NEW_CLAIM = ("raise_claims", "stop", "finish", "claim_it")


@pytest.mark.proves("PG-3", "LAW-2")
@pairs(OneAsk)
@pytest.mark.parametrize("scene", [OneAsk, SecretAsk, AnsweredAsk])
def test_two_verbs_on_one_ask(together, scene, first, second):
    store, ask = together.store, scene(together.store)
    results = together.run(getattr(ask, first), getattr(ask, second))
    check(store, *results)
    outcomes = [one.outcome for one in store.asks.answers(ask.id)]
    assert outcomes.count("settled") == (store.asks.get(ask.id).status == "answered")


@pytest.mark.proves("PG-3", "LAW-4")
def test_answer_is_taken_by_one_of_two(together):
    store = together.store
    ask = create_ask.ask(store, Request("Go?", "approval"), Origin("/p"), a_person()).ask
    answered = answer_ask.answer(store, ask.id, ADA, Given("yes"))[1]

    def take(own):
        return wait_for_ask.take(own, answered, "cli")

    results = together.run(take, take)
    check(store, *results)
    assert sorted(results) == [False, True]


@pytest.mark.proves("PG-3", "LAW-4")
@pairs(Opening)
def test_same_ask_opened_twice_is_one(together, first, second):
    opening = Opening(together.store)
    results = together.run(getattr(opening, first), getattr(opening, second))
    check(together.store, *results)
    is_same = first == second
    assert (results[0].ask.id == results[1].ask.id) is is_same
    assert len(together.store.asks.pending(9)) == (1 if is_same else 2)


@pytest.mark.proves("PG-3", "PG-4", "HOST-10")
@pytest.mark.parametrize("first", list_verbs(OneRun))
def test_two_verbs_on_one_run(together, first):
    store = together.store
    for second in list_verbs(OneRun):
        scene = OneRun(store)
        results = together.run(getattr(scene, first), getattr(scene, second))
        assert [one for one in results if isinstance(one, StoreError)] == [], second
        run, ask = store.runs.get(scene.run.id), store.asks.get(scene.ask.id)
        asked_back = ask.asked_back > ask.heard
        waits = run is not None and run.state == "waiting_human"
        assert not (waits and (not ask.pending or asked_back)), (second, "lost wake-up")
        if second in ("step", "begin_turn", "finish", "claim_it") and first in WITH_A_NEW_CLAIM:
            assert results[1] is False, (second, "it knew an older claim, so it may write nothing")
    check(store)


@pytest.mark.proves("PG-4")
@pytest.mark.parametrize(("first", "second"), [("answer", "park"), ("park", "answer")])
def test_without_locks_a_wake_up_is_lost(together, monkeypatch, first, second):
    monkeypatch.setattr(Statements, "lock", lambda *_: None)
    scene = OneRun(together.store)
    together.run(getattr(scene, first), getattr(scene, second))
    run, ask = together.store.runs.get(scene.run.id), together.store.asks.get(scene.ask.id)
    assert run.state == "waiting_human" and not ask.pending


@pytest.mark.proves("PG-3", "PG-5")
@pairs(Needs)
def test_two_verbs_on_dependent_tasks(together, first, second):
    scene = Needs(together.store)
    results = together.run(getattr(scene, first), getattr(scene, second))
    check(together.store, *results)
    assert scene.find_fault(together.store) == ""


@pytest.mark.proves("PG-5")
def test_without_locks_closed_needs_are_miscounted(together, monkeypatch):
    monkeypatch.setattr(Statements, "lock", lambda *_: None)
    scene = Needs(together.store)
    together.run(scene.close_one, scene.close_two)
    assert scene.find_fault(together.store) == "unmet is 1, not 0"


@pytest.mark.proves("PG-3")
@pairs(Working)
def test_two_verbs_on_a_task_with_its_run(together, first, second):
    store = together.store
    scene = Working(store)
    results = together.run(getattr(scene, first), getattr(scene, second))
    check(store, *results)
    task, run = store.tasks.get(scene.task.id), store.runs.get(scene.task.run)
    waits = run.state == "waiting_human"
    assert waits == (task.state == "awaiting_input"), (run.state, task.state)
    assert not (waits and not store.asks.get(scene.ask.id).pending)


@pytest.mark.proves("PG-3", "SES-129")
@pairs(Session)
def test_session_is_opened_by_one_of_two(together, first, second):
    store = together.store
    session = Session(store)
    results = together.run(getattr(session, first), getattr(session, second))
    check(store, *results)
    assert len(store.asks.open_visits()) <= 1
    assert not isinstance(results[0], GateError)
    # A person may answer while the session is open, and open another one after an answer.
    is_free = second == ("open_second" if first == "answer" else "answer")
    assert isinstance(results[1], GateError) is not is_free, results


@pytest.mark.proves("PG-3")
def test_task_is_taken_up_by_one_of_two(together):
    add_task(together.store)
    results = together.run(*[lambda own: backlog.take_up(own, "/p", "digest")] * 2)
    check(together.store, *results)
    assert len([one for one in results if one]) == len(together.store.runs.newest(9)) == 1


@pytest.mark.proves("PG-3")
def test_delivery_is_claimed_by_one_of_two(together):
    store = together.store
    create_ask.ask(store, Request("Why?"), Origin(), a_person())
    [posted] = store.outbox.list_posted(9)
    delivery = Delivery("d1", NoticeKind.OPENED, "a-222", "bob", "desk", store.now(), store.now())

    def spread(own):
        own.outbox.spread({posted: [delivery]})

    assert together.run(spread, spread) == (None, None)
    results = together.run(*[lambda own: own.outbox.claim("desk")] * 2)
    assert [one.id for one in results if one] == ["d1"]
    check(store)


@pytest.mark.proves("PG-3")
@pytest.mark.parametrize("is_offer_first", [True, False])
def test_signal_is_offered_only_before_the_stop(together, is_offer_first):
    store = together.store
    run = add_run(store, turns=[turn(store, "1", session="s-1")])
    [begun] = store.runs.turns(run.id)

    def offer(own):
        return own.runs.offer(begun.id, {"status": "done"})

    def stop(own):
        return manage_runs.stop(own, run.id, ADA, "enough")

    results = together.run(*((offer, stop) if is_offer_first else (stop, offer)))
    check(store, *results)
    assert results[0 if is_offer_first else 1] is is_offer_first
