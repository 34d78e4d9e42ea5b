"""Drivers that lose their run in the middle change nothing afterwards."""

from __future__ import annotations

import pytest
from tests.support.flow_harness import Crash, Harness

from gatebell.api import flows


@pytest.fixture
def house(tmp_path):
    return Harness(tmp_path)


def before(owner, name, happens):
    """Call a function just before the next call of a verb."""
    verb = getattr(owner, name)

    def after_that(*arguments, **named):
        setattr(owner, name, verb)
        happens()
        return verb(*arguments, **named)

    setattr(owner, name, after_that)


@pytest.mark.proves("RUN-507")
def test_run_stopped_while_it_asks_leaves_no_question(house):
    house.start(lambda _: flows.pause("Go on?").reason)
    before(house.store.asks, "open", house.stop)
    assert house.drive().state == "stuck"
    assert house.pending() == []


@pytest.mark.proves("RUN-507")
def test_question_withdrawn_with_its_run_is_asked_again(house):
    house.start(lambda _: flows.pause("Go on?").reason)
    before(house.store.asks, "open", house.stop)
    house.drive()
    assert house.resume().state == "waiting_human"
    assert house.answer_and_drive("yes", "now").result == "now"


@pytest.mark.proves("RUN-507")
def test_run_ends_and_withdraws_its_asks_in_one_write(house, monkeypatch):
    """A kill right after it must leave no open ask, and no answer is undone."""

    def work(_):
        return flows.parallel(
            lambda: flows.ask("Which?").value,
            lambda: flows.ask("And?").value,
            lambda: flows.stuck("no") if flows.pause("Go?") else 0,
        )

    change = house.store.runs.change

    def answered_first(step, expected):
        if step.run.state == "stuck":
            house.answer("this", part="Which?")
            change(step, expected)
            raise Crash
        return change(step, expected)

    house.go(work)
    house.answer("yes", part="Go?")
    monkeypatch.setattr(house.store.runs, "change", answered_first)
    house.crash()
    assert house.run().state == "stuck" and not house.pending()
    settled = {ask.question.prompt: ask.status for ask in house.store.asks.list_settled(9)}
    assert settled == {"Which?": "answered", "And?": "cancelled", "Go?": "answered"}
