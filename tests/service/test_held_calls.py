"""An approval is used by one call, for the shown input: on the store in memory."""

from __future__ import annotations

import pytest
from tests.support.held_calls import hold
from tests.support.people import a_person, an_agent

from gatebell.domain.asks.answers import Given
from gatebell.services.asks import answer_ask, wait_for_ask
from gatebell.services.permissions import permit_call
from gatebell.services.permissions.permit_call import Permission
from gatebell.services.permissions.same_call import identify, is_for
from gatebell.testing import MemoryStore

ADA = a_person(verified=True)


@pytest.fixture
def store():
    return MemoryStore()


def open_answered(store, call, word="yes"):
    ask = permit_call._open(store, call, an_agent(), 60)
    answer_ask.answer(store, ask.id, ADA, Given(word))
    return wait_for_ask.wait(store, ask.id, 0)


@pytest.mark.proves("HOOK-10", "LAW-4")
def test_guessed_id_shares_no_yes(store):
    """Two hooks find the same call in the session's log at the same time."""
    first, second = (identify(hold(call_id="", found="t1")) for _ in range(2))
    ask = open_answered(store, first)
    assert permit_call.use(store, ask, first) == Permission(allow=True)
    assert permit_call.use(store, ask, second) is None
    assert permit_call.use(store, ask, hold(call_id="t1")) is None, "it may be another call"


@pytest.mark.proves("HOOK-10", "LAW-4")
def test_yes_of_a_named_call_is_for_no_guess(store):
    ask = open_answered(store, hold(call_id="t1"))
    assert permit_call.use(store, ask, hold(call_id="t1")) == Permission(allow=True)
    guess = identify(hold(call_id="", found="t1"))
    assert permit_call.use(store, ask, guess) is None
    again = permit_call.use(store, ask, hold(call_id="t1"))
    assert again == Permission(allow=True), "the host asks by two doors"


@pytest.mark.proves("HOOK-10")
@pytest.mark.parametrize("found", ["t1", ""])
def test_guessed_id_keeps_no_late_answer(store, found):
    """Only an id from the host identifies the call of an ask."""
    ask = open_answered(store, hold(call_id="t1"))
    guess = identify(hold(call_id="", found=found, over=["t1"]))
    assert not is_for(ask, guess, store.now())
    named = identify(hold(call_id="t1", over=["t1"]))
    assert is_for(ask, named, store.now())


@pytest.mark.proves("HOOK-10")
def test_guessed_id_is_shown_with_its_ask(store):
    ask = permit_call._open(store, identify(hold(call_id="", found="t1")), an_agent(), 9)
    assert ask.origin.tool_use_id == "t1"
