"""Drives whose run is taken from them in the middle: what they still do harms nobody."""

from __future__ import annotations

import pytest
from tests.flow_harness import Harness

from humangate import flows


@pytest.fixture
def house(tmp_path):
    return Harness(tmp_path)


def before(owner, name, happens):
    """Let something happen just before a verb is called next."""
    verb = getattr(owner, name)

    def after_that(*arguments, **named):
        setattr(owner, name, verb)
        happens()
        return verb(*arguments, **named)

    setattr(owner, name, after_that)


@pytest.mark.proves("RUN-507")
def test_a_run_that_is_stopped_while_it_asks_leaves_no_question(house):
    house.start(lambda _: flows.pause("Go on?").reason)
    before(house.store.asks, "open", house.stop)
    assert house.drive().state == "stuck"
    assert house.pending() == []


@pytest.mark.proves("RUN-507")
def test_a_question_that_was_withdrawn_with_its_run_is_asked_again(house):
    house.start(lambda _: flows.pause("Go on?").reason)
    before(house.store.asks, "open", house.stop)
    house.drive()
    assert house.resume().state == "waiting_human"
    assert house.answered("yes", "now").result == "now"


@pytest.mark.proves("RUN-507")
def test_whoever_ended_a_run_withdraws_nothing_of_those_who_took_it_up(house):
    """It was slow between the end and the withdrawing; a person was not."""
    ends = ["too early"]
    house.start(lambda _: flows.stuck(ends.pop()) if ends else flows.pause("Go on?").reason)
    other = house.another_driver()

    def take_up():
        house.clock.advance(1)
        house.driver = other
        assert house.resume().state == "waiting_human"

    driver = house.driver
    before(house.store.asks, "pending_of_run", take_up)
    driver.drive(house.run())
    assert house.ask().question.prompt == "Go on?"
    assert house.answered("yes", "now").result == "now"
