"""Every pair of verbs that share a row, one stopped before its COMMIT, in both orders.

SQLite has one writer at a time. PostgreSQL has many: without the row locks, some of these pairs
lose a wake-up or a count, and the usual tests do not notice it.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest
from tests.support.devices import add_device
from tests.support.interleaving import together
from tests.support.people import a_person
from tests.support.run_claims import an_ask, claim
from tests.support.run_records import add_run, turn
from tests.support.task_records import add_task, awaiting

from gatebell.adapters.tables.statements import Statements
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Notice, Origin
from gatebell.domain.enums import NoticeKind, RuleKind
from gatebell.domain.notifications.messages import Delivery
from gatebell.domain.permissions.rules import Rule
from gatebell.domain.runs import runs
from gatebell.domain.runs.runs import FlowCall, RunChange
from gatebell.errors import StoreError
from gatebell.services import audit
from gatebell.services.asks import answer_ask, ask_messages, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_logins, manage_people
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


def pairs(names):
    return pytest.mark.parametrize(("first", "second"), list(product(names, repeat=2)))


ASK_VERBS = {
    "yes": lambda store, ask: answer_ask.answer(store, ask, ADA, Given("yes")),
    "no": lambda store, ask: answer_ask.answer(store, ask, BOB, Given("no")),
    "cancel": lambda store, ask: create_ask.cancel(store, ask, ADA, "not needed"),
    "ask_back": lambda store, ask: ask_messages.ask_back(store, ask, BOB, "which build?"),
    "draft": lambda store, ask: answer_ask.save_draft(store, ask, ADA, "ye"),
    "take": lambda store, ask: wait_for_ask.take(store, store.asks.get(ask), "cli"),
}


@pytest.mark.proves("PG-3", "LAW-2")
@pairs(ASK_VERBS)
def test_two_verbs_on_one_ask(together, first, second):
    store = together.store
    ask = create_ask.ask(store, Request("Go?", "approval"), Origin("/p"), a_person()).ask
    results = together.run(
        *(lambda own, verb=verb: ASK_VERBS[verb](own, ask.id) for verb in (first, second))
    )
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
@pytest.mark.parametrize("key", ["", "k1"])
def test_same_ask_opened_twice_is_one(together, key):
    def open_it(own):
        origin = Origin("/p", session="" if key else "claude/1")
        return create_ask.ask(own, Request("Go?"), origin, a_person(), key)

    results = together.run(open_it, open_it)
    check(together.store, *results)
    assert results[0].ask.id == results[1].ask.id
    assert len(together.store.asks.pending(9)) == 1


class Parking:
    """A run that is about to wait for its ask."""

    def __init__(self, store) -> None:
        self.run = claim(store, store.runs.get(add_run(store, state="ready").id))
        self.ask = an_ask(store, self.run)

    def park(self, store):
        call = FlowCall(
            self.run.id, "1", "run", "coder", "d", store.now(), state="waiting", ask_id=self.ask.id
        )
        parked = runs.park(self.run, [call], [self.ask]).run
        return store.runs.change(RunChange(parked, (call,)), self.run)

    def answer(self, store):
        return answer_ask.answer(store, self.ask.id, ADA, Given("this way"))

    def ask_back(self, store):
        return ask_messages.ask_back(store, self.ask.id, ADA, "which one?")

    def stop(self, store):
        return manage_runs.stop(store, self.run.id, ADA, "enough")

    def extend(self, store):
        return store.runs.extend([self.run], store.now() + timedelta(minutes=1))

    def finish(self, store):
        return store.runs.change(runs.complete(self.run, None, store.now()), self.run)


RUN_VERBS = ("park", "answer", "ask_back", "stop", "extend", "finish")


@pytest.mark.proves("PG-3", "PG-4")
@pairs(RUN_VERBS)
def test_two_verbs_on_one_run(together, first, second):
    store = together.store
    scene = Parking(store)
    results = together.run(getattr(scene, first), getattr(scene, second))
    check(store, *results)
    run, ask = store.runs.get(scene.run.id), store.asks.get(scene.ask.id)
    asked_back = ask.asked_back > ask.heard
    assert not (run.state == "waiting_human" and (not ask.pending or asked_back)), "lost wake-up"


@pytest.mark.proves("PG-4")
@pytest.mark.parametrize(("first", "second"), [("answer", "park"), ("park", "answer")])
def test_without_locks_a_wake_up_is_lost(together, monkeypatch, first, second):
    monkeypatch.setattr(Statements, "lock", lambda *_: None)
    scene = Parking(together.store)
    together.run(getattr(scene, first), getattr(scene, second))
    run, ask = together.store.runs.get(scene.run.id), together.store.asks.get(scene.ask.id)
    assert run.state == "waiting_human" and not ask.pending


class Needs:
    """A task that needs two others, and a fourth one."""

    def __init__(self, store) -> None:
        self.one, self.two, self.free = (add_task(store, name).id for name in "ABC")
        self.task = add_task(store, "D", needs=[self.one, self.two]).id

    def close_one(self, store):
        return backlog.close(store, self.one, ADA)

    def close_two(self, store):
        return backlog.close(store, self.two, ADA)

    def close_free(self, store):
        return backlog.close(store, self.free, ADA)

    def need_free(self, store):
        return backlog.depend(store, self.task, ADA, [self.free])

    def need_less(self, store):
        return backlog.free(store, self.task, ADA, [self.two])

    def rename(self, store):
        return backlog.update(store, self.task, ADA, {"title": "E"})

    def close_task(self, store):
        return backlog.close(store, self.task, ADA)

    def reopen_one(self, store):
        backlog.close(store, self.one, ADA)
        return backlog.reopen(store, self.one, ADA)

    def find_fault(self, store):
        task = store.tasks.get(self.task)
        unmet = [one for one in task.needs if store.tasks.get(one).state != "closed"]
        return "" if task.unmet == len(unmet) else f"unmet is {task.unmet}, not {len(unmet)}"


TASK_VERBS = [name for name in vars(Needs) if not name.startswith(("_", "find"))]


@pytest.mark.proves("PG-3", "PG-5")
@pairs(TASK_VERBS)
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


class Working:
    """A task whose run waits for an answer."""

    def __init__(self, store) -> None:
        self.task, self.ask = awaiting(store)

    def answer(self, store):
        return answer_ask.answer(store, self.ask.id, ADA, Given("this way"))

    def close(self, store):
        return backlog.close(store, self.task.id, ADA)

    def stop(self, store):
        return manage_runs.stop(store, self.task.run, ADA, "enough")

    def update(self, store):
        return backlog.update(store, self.task.id, ADA, {"priority": 1})

    def ask_back(self, store):
        return ask_messages.ask_back(store, self.ask.id, ADA, "which one?")


@pytest.mark.proves("PG-3")
@pairs([name for name in vars(Working) if not name.startswith("_")])
def test_two_verbs_on_a_task_with_its_run(together, first, second):
    store = together.store
    scene = Working(store)
    results = together.run(getattr(scene, first), getattr(scene, second))
    check(store, *results)
    task, run = store.tasks.get(scene.task.id), store.runs.get(scene.task.run)
    waits = run.state == "waiting_human"
    assert waits == (task.state == "awaiting_input"), (run.state, task.state)
    assert not (waits and not store.asks.get(scene.ask.id).pending)


@pytest.mark.proves("PG-3")
def test_task_is_taken_up_by_one_of_two(together):
    add_task(together.store)
    results = together.run(*[lambda own: backlog.take_up(own, "/p", "digest")] * 2)
    check(together.store, *results)
    assert len([one for one in results if one]) == len(together.store.runs.newest(9)) == 1


@pytest.mark.proves("PG-3")
@pairs(["use", "end"])
def test_last_use_of_a_grant_is_used_once(together, first, second):
    store = together.store
    now = store.now()
    rule = Rule("g-1", RuleKind.GRANT, "git push", "person:ada", now, project="/p", uses_left=1)
    store.rules.add([rule], [])
    results = together.run(
        *(lambda own, v=v: getattr(own.rules, v)("g-1", []) for v in (first, second))
    )
    check(store, *results)
    assert results[0] is True
    assert results[1] is ((first, second) == ("use", "end"))


@pytest.mark.proves("PG-3")
@pytest.mark.parametrize("verb", ["revoke", "remove"])
@pytest.mark.parametrize("is_login_first", [True, False])
def test_login_ends_with_its_token(together, verb, is_login_first):
    store = together.store
    manage_people.add(store, ADA, "ada")
    token = manage_people.token(store, ADA, "ada")
    found = manage_people.whose(store, token)

    def enter(own):
        return manage_logins.enter_by_token(own, token, {})

    def end(own):
        if verb == "revoke":
            return manage_people.revoke(own, ADA, found.id)
        return manage_people.remove(own, ADA, "ada")

    results = together.run(*((enter, end) if is_login_first else (end, enter)))
    check(store, *results)
    login = results[0 if is_login_first else 1]
    assert not isinstance(login, str) or manage_logins.whose_login(store, login) is None


GROUP_VERBS = {
    "ada": lambda store: manage_people.set_group(store, ADA, "team", ["ada", "eve"]),
    "bob": lambda store: manage_people.set_group(store, BOB, "team", ["bob", "eve"]),
    "remove": lambda store: manage_people.remove(store, ADA, "eve"),
}


@pytest.mark.proves("PG-3")
@pairs(GROUP_VERBS)
def test_group_has_the_members_of_one_list(together, first, second):
    store = together.store
    for name in ("ada", "bob", "eve"):
        manage_people.add(store, ADA, name)
    manage_people.set_group(store, ADA, "team", ["ada", "eve"])
    results = together.run(GROUP_VERBS[first], GROUP_VERBS[second])
    check(store, *results)
    assert not {"ada", "bob"} <= set(store.people.groups()["team"])


@pytest.mark.proves("PG-3")
@pytest.mark.parametrize("is_device_first", [True, False])
def test_device_ends_with_its_token(together, is_device_first):
    store = together.store
    manage_people.add(store, ADA, "ada")
    found = manage_people.whose(store, manage_people.token(store, ADA, "ada"))

    def sign_up(own):
        return add_device(own, "ada", token_id=found.id)

    def revoke(own):
        return manage_people.revoke(own, ADA, found.id)

    results = together.run(*((sign_up, revoke) if is_device_first else (revoke, sign_up)))
    check(store, *results)
    assert store.devices.all() == []


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
def test_one_reminder_of_an_ask_waits(together):
    def remind(own):
        with own.transaction() as at:
            own.outbox.put(at, [Notice(NoticeKind.REMINDER, "a-222")])

    together.run(remind, remind)
    assert len(together.store.outbox.waiting(9)) == 1
    check(together.store)


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
