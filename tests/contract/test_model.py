"""A model of the ask's life; the store must agree with it after each step."""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.support import postgres_server
from tests.support.people import a_person, an_agent

from gatebell.app.wiring import open_store, open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.text.display import storable
from gatebell.errors import GateError
from gatebell.services import audit
from gatebell.services.asks import (
    answer_ask,
    apply_deadlines,
    ask_messages,
    create_ask,
    wait_for_ask,
)
from gatebell.services.asks.create_ask import Request
from gatebell.testing import FakeClock

PEOPLE = ["ada", "bob", "cy"]
KINDS = ["approval", "choice", "text"]
VALUES = ["yes", "no", "A", "B", "words", "", "YES", "nope"]
NUMBERS = st.integers(0, 99)


class Model(RuleBasedStateMachine):
    """Steps on a store and their expected results, checked by a second connection."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = self.find_place()
        self.clock = FakeClock()
        self.store = open_throwaway_store(self.path, self.clock)
        self.onlooker = open_store(self.path, self.clock)
        self.ids = []
        self.questions = {}
        self.expected = {}
        self.taken = set()
        self.answers = {}
        self.drafts = {}
        self.messages = {}

    def find_place(self):
        return str(Path(self.folder.name) / "gate.db")

    def teardown(self):
        self.store.close()
        self.onlooker.close()
        self.folder.cleanup()

    def pick(self, number):
        return self.ids[number % len(self.ids)]

    def is_attachable(self, ask_id):
        status, _ = self.expected[ask_id]
        return status == "pending" or (status == "answered" and ask_id not in self.taken)

    @initialize()
    def first(self):
        self.open("approval", 0, 0, None)

    @rule(
        kind=st.sampled_from(KINDS),
        session=st.integers(0, 2),
        prompt=st.integers(0, 1),
        timeout=st.sampled_from([None, 5, 50]),
    )
    def open(self, kind, session, prompt, timeout):
        options = ("A", "B") if kind == "choice" else ()
        default = "A" if kind == "choice" and timeout else None
        request = Request(f"Q{prompt}", kind, options, default=default, expires_seconds=timeout)
        origin = Origin(project="/p", session=f"claude/{session}" if session else "", owner="run:1")
        opened = create_ask.ask(self.store, request, origin, a_person())
        self.note_expiries()
        question = (session, prompt, kind, default)
        same = [one for one, asked in self.questions.items() if asked == question and session]
        assert [one for one in same if self.is_attachable(one)] == [opened.ask.id] * opened.attached
        if not opened.attached:
            self.ids.append(opened.ask.id)
            self.questions[opened.ask.id] = question
            self.expected[opened.ask.id] = ("pending", None)
            self.answers[opened.ask.id] = []
            self.messages[opened.ask.id] = []

    def give(self, ask_id, caller, given):
        """Answer; None when it was refused."""
        try:
            kept, ask = answer_ask.answer(self.store, ask_id, caller, given)
        except GateError:
            return None
        assert ask == self.store.asks.get(ask_id)
        if not (given.key and kept in self.answers[ask_id]):
            self.answers[ask_id].append(kept)
            self.drafts.pop((ask_id, caller.actor), None)
        return kept, ask

    @rule(
        number=NUMBERS,
        who=st.sampled_from(PEOPLE),
        value=st.sampled_from(VALUES),
        key=st.sampled_from(["", "k1", "k2"]),
        wrong=st.booleans(),
    )
    def answer(self, number, who, value, key, wrong):
        ask_id = self.pick(number)
        given = Given(value, key=key, digest="0" * 64 if wrong and value == "no" else None)
        result = self.give(ask_id, a_person(who), given)
        if result and result[0].outcome == "settled" and self.expected[ask_id][0] == "pending":
            decided = {"yes": "approved", "no": "rejected"}.get(value.lower())
            is_approval = self.questions[ask_id][2] == "approval"
            self.expected[ask_id] = ("answered", decided if is_approval else None)

    @rule(number=NUMBERS, value=st.sampled_from(VALUES))
    def answer_as_agent(self, number, value):
        ask_id = self.pick(number)
        result = self.give(ask_id, an_agent("7"), Given(value))
        if result and result[0].outcome == "settled":
            assert self.questions[ask_id][2] != "approval"
            self.expected[ask_id] = ("answered", None)

    @rule(number=NUMBERS)
    def cancel(self, number):
        ask_id = self.pick(number)
        was_pending = self.is_due(ask_id) is False
        try:
            ask = create_ask.cancel(self.store, ask_id, a_person(), "no")
        except GateError:
            assert not was_pending
            return
        assert ask == self.store.asks.get(ask_id)
        self.expected[ask_id] = ("cancelled", None)

    def is_due(self, ask_id):
        """Return whether its time is over; None when it no longer waits."""
        if self.expected[ask_id][0] != "pending":
            return None
        expires_at = self.store.asks.get(ask_id).deadlines.expires_at
        return expires_at is not None and expires_at <= self.clock.now()

    @rule(number=NUMBERS)
    def take(self, number):
        ask_id = self.pick(number)
        took = wait_for_ask.take(self.store, self.store.asks.get(ask_id), "x")
        assert took == (self.expected[ask_id][0] == "answered" and ask_id not in self.taken)
        if took:
            self.taken.add(ask_id)

    def say(self, ask_id, verb, caller, text):
        try:
            ask = verb(self.store, ask_id, caller, text)
        except GateError:
            return
        assert ask == self.store.asks.get(ask_id)
        self.messages[ask_id].append((caller.actor, text))

    @rule(number=NUMBERS, text=st.sampled_from(["why?", " "]))
    def ask_back(self, number, text):
        self.say(self.pick(number), ask_messages.ask_back, a_person(), text)

    @rule(number=NUMBERS)
    def reply(self, number):
        self.say(self.pick(number), ask_messages.reply, an_agent(), "so")

    @rule(number=NUMBERS, who=st.sampled_from(PEOPLE), text=st.text(max_size=5))
    def draft(self, number, who, text):
        ask_id, caller = self.pick(number), a_person(who)
        try:
            answer_ask.save_draft(self.store, ask_id, caller, text)
        except GateError:
            return
        self.drafts[ask_id, caller.actor] = storable(text)

    @rule(number=NUMBERS)
    def wait(self, number):
        ask_id = self.pick(number)
        assert wait_for_ask.wait(self.store, ask_id, 0) == self.store.asks.get(ask_id)

    @rule(seconds=st.sampled_from([1, 4, 60, 1000]))
    def time_passes(self, seconds):
        self.clock.advance(seconds)

    @rule(seconds=st.sampled_from([-3600, -1, 1]))
    def the_clock_jumps(self, seconds):
        self.clock.jump(seconds)

    @rule()
    def sweep(self):
        apply_deadlines.sweep(self.store)
        self.note_expiries()
        assert not any(map(self.is_due, self.ids))

    @rule()
    def restart(self):
        self.store.close()
        self.store = open_store(self.path, self.clock)

    def note_expiries(self):
        for ask_id in self.ids:
            ask = self.store.asks.get(ask_id)
            if ask.status == "timed_out" and self.expected[ask_id][0] == "pending":
                assert ask.deadlines.expires_at
                self.expected[ask_id] = ("timed_out", None)

    @invariant()
    def nothing_is_lost_doubled_or_invented(self):
        self.note_expiries()
        for ask_id in self.ids:
            ask = self.onlooker.asks.get(ask_id)
            assert ask == self.store.asks.get(ask_id)
            assert (ask.status, ask.decision) == self.expected[ask_id]
            assert bool(ask.delivered_at) == (ask_id in self.taken)
            kept = self.onlooker.asks.answers(ask_id)
            counted = [one for one in kept if one.outcome not in ("refused", "late")]
            assert counted == self.answers[ask_id]
            settled = [one for one in kept if one.outcome == "settled"]
            assert len(settled) == (ask.status == "answered")
            said = self.onlooker.asks.messages(ask_id)
            assert [(one.author, one.text) for one in said] == self.messages[ask_id]
            if ask.decision:
                assert ask.settled_by.startswith("person:")

    @invariant()
    def lists_and_drafts_agree(self):
        self.note_expiries()
        waiting = [one for one in self.ids if self.expected[one][0] == "pending"]
        waiting.sort(key=lambda one: self.store.asks.get(one).opened_at)
        assert [ask.id for ask in self.onlooker.asks.pending(999)] == waiting
        assert self.onlooker.asks.count() == len(self.ids)
        for key in product(self.ids, (f"person:{name}" for name in PEOPLE)):
            assert self.onlooker.asks.draft(*key) == self.drafts.get(key, "")
        assert list(audit.verify(self.store)) == []


class PostgresModel(Model):
    def find_place(self):
        return postgres_server.empty_database()


@pytest.mark.proves("STORE-1", "LAW-1", "LAW-2", "LAW-3", "LAW-4", "LAW-9")
@pytest.mark.parametrize(("model", "examples"), [(Model, 25), (PostgresModel, 4)])
def test_every_store_lives_the_same_life(whole, model, examples):
    run_state_machine_as_test(
        model,
        settings=settings(
            max_examples=500 if whole else examples, stateful_step_count=50, deadline=None,
            suppress_health_check=list(HealthCheck), derandomize=not whole,
        ),
    )  # fmt: skip
