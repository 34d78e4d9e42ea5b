"""One model of the ask's life; every store must agree with it after every step."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.conftest import a_person, an_agent

from gatebell.app.wiring import open_store, open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
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
from gatebell.testing import FakeClock, MemoryStore

PEOPLE = ["ada", "bob", "cy"]
KINDS = ["approval", "choice", "text"]
VALUES = ["yes", "no", "A", "B", "words", "", "YES", "nope"]


class Model(RuleBasedStateMachine):
    """The same steps on every store; the model knows what must come of them."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = str(Path(self.folder.name) / "gate.db")
        self.clocks = [FakeClock(), FakeClock()]
        self.stores = [MemoryStore(self.clocks[0]), open_throwaway_store(self.path, self.clocks[1])]
        self.ids = []
        self.expected = {}
        self.taken = set()

    def teardown(self):
        self.stores[1].close()
        self.folder.cleanup()

    def both(self, step):
        """Run a step on each store; they must come to the same."""
        results = []
        for index, store in enumerate(self.stores):
            try:
                results.append(step(store, index))
            except GateError as error:
                results.append((type(error), self.named(str(error), index)))
        assert results[0] == results[1]
        return results[0]

    def named(self, text, index):
        for number, ids in enumerate(self.ids):
            text = text.replace(ids[index], f"#{number}")
        return text

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
        opened = [create_ask.ask(store, request, origin, a_person()) for store in self.stores]
        assert opened[0].attached == opened[1].attached
        if opened[0].attached:
            assert [one.ask.id for one in opened] in self.ids
            return
        self.ids.append([one.ask.id for one in opened])
        self.expected[len(self.ids) - 1] = ("pending", None)

    def pick(self, number):
        return number % len(self.ids)

    @rule(
        number=st.integers(0, 99),
        who=st.sampled_from(PEOPLE),
        value=st.sampled_from(VALUES),
        key=st.sampled_from(["", "k1", "k2"]),
        wrong=st.booleans(),
    )
    def answer(self, number, who, value, key, wrong):
        number = self.pick(number)
        given = Given(value, key=key, digest="0" * 64 if wrong and value == "no" else None)

        def step(store, index):
            kept, ask = answer_ask.answer(store, self.ids[number][index], a_person(who), given)
            return kept.outcome, ask.status, ask.decision, ask.value

        result = self.both(step)
        if result[0] == "settled" and self.expected[number][0] == "pending":
            self.expected[number] = (result[1], result[2])

    @rule(number=st.integers(0, 99), value=st.sampled_from(VALUES))
    def answer_as_agent(self, number, value):
        number = self.pick(number)

        def step(store, index):
            kept, ask = answer_ask.answer(
                store, self.ids[number][index], an_agent("7"), Given(value)
            )
            return kept.outcome, kept.principal, ask.status, ask.decision

        result = self.both(step)
        if result[0] == "settled":
            assert result[3] is None
            self.expected[number] = ("answered", None)

    @rule(number=st.integers(0, 99))
    def cancel(self, number):
        number = self.pick(number)
        result = self.both(
            lambda store, index: (
                create_ask.cancel(store, self.ids[number][index], a_person(), "no").status
            )
        )
        if result == "cancelled":
            self.expected[number] = ("cancelled", None)

    @rule(number=st.integers(0, 99))
    def take(self, number):
        number = self.pick(number)
        took = self.both(
            lambda store, index: wait_for_ask.take(
                store, store.asks.get(self.ids[number][index]), "x"
            )
        )
        assert took == (self.expected[number][0] == "answered" and number not in self.taken)
        if took:
            self.taken.add(number)

    @rule(number=st.integers(0, 99), text=st.sampled_from(["why?", " "]))
    def ask_back(self, number, text):
        number = self.pick(number)
        self.both(
            lambda store, index: (
                ask_messages.ask_back(store, self.ids[number][index], a_person(), text).asked_back
            )
        )

    @rule(number=st.integers(0, 99))
    def reply(self, number):
        number = self.pick(number)
        self.both(
            lambda store, index: (
                ask_messages.reply(store, self.ids[number][index], an_agent(), "so").heard
            )
        )

    @rule(number=st.integers(0, 99), text=st.text(max_size=5))
    def draft(self, number, text):
        number = self.pick(number)
        self.both(
            lambda store, index: answer_ask.save_draft(
                store, self.ids[number][index], a_person(), text
            )
        )
        self.both(lambda store, index: answer_ask.draft(store, self.ids[number][index], a_person()))

    @rule(number=st.integers(0, 99))
    def wait(self, number):
        number = self.pick(number)
        self.both(lambda store, index: wait_for_ask.wait(store, self.ids[number][index], 0).status)
        self.note_expiries()

    @rule(seconds=st.sampled_from([1, 4, 60, 1000]))
    def time_passes(self, seconds):
        for clock in self.clocks:
            clock.advance(seconds)

    @rule(seconds=st.sampled_from([-3600, -1, 1]))
    def the_clock_jumps(self, seconds):
        for clock in self.clocks:
            clock.jump(seconds)

    @rule()
    def sweep(self):
        self.both(lambda store, _: apply_deadlines.sweep(store))
        self.note_expiries()

    @rule()
    def restart(self):
        self.stores[1].close()
        self.stores[1] = open_store(self.path, self.clocks[1])

    def note_expiries(self):
        for number, (memory_id, _) in enumerate(self.ids):
            ask = self.stores[0].asks.get(memory_id)
            if ask.status == "timed_out" and self.expected[number][0] == "pending":
                assert ask.deadlines.expires_at
                self.expected[number] = ("timed_out", None)

    @invariant()
    def nothing_is_lost_doubled_or_invented(self):
        self.note_expiries()
        for number, ids in enumerate(self.ids):
            found = [store.asks.get(ask_id) for store, ask_id in zip(self.stores, ids, strict=True)]
            views = [ask._replace(id="", digest="") for ask in found]
            assert views[0] == views[1]
            assert (found[0].status, found[0].decision) == self.expected[number]
            settled = [a for a in self.stores[1].asks.answers(ids[1]) if a.outcome == "settled"]
            assert len(settled) == (found[1].status == "answered")
            if found[1].decision:
                assert found[1].settled_by.startswith("person:")

    @invariant()
    def both_agree_on_everything_else(self):
        assert self.stores[0].audit.head().seq == self.stores[1].audit.head().seq
        assert self.stores[0].asks.woken() == self.stores[1].asks.woken()
        pending = [
            [self.position(ask.id, i) for ask in s.asks.pending(999)]
            for i, s in enumerate(self.stores)
        ]
        assert pending[0] == pending[1]
        for store in self.stores:
            assert list(audit.verify(store)) == []

    def position(self, ask_id, index):
        return next(number for number, ids in enumerate(self.ids) if ids[index] == ask_id)


@pytest.mark.proves("STORE-1", "LAW-1", "LAW-2", "LAW-3", "LAW-4", "LAW-9")
def test_every_store_lives_the_same_life(whole):
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        Model,
        settings=settings(
            max_examples=500 if whole else 40, stateful_step_count=50, deadline=None,
            suppress_health_check=list(HealthCheck), derandomize=not whole,
        ),
    )  # fmt: skip
