"""An approval is used by one call, for the shown input: on the store in memory."""

from __future__ import annotations

import pytest
from tests.support.held_calls import hold
from tests.support.people import a_person, an_agent

from gatebell.domain.asks.answers import Given
from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.rules import Scope
from gatebell.errors import NotFoundError
from gatebell.services.asks import answer_ask, wait_for_ask
from gatebell.services.permissions import manage_rules, permit_call
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


@pytest.mark.proves("HOOK-10", "LAW-4")
def test_taken_yes_lets_no_deferred_call_pass(store):
    """The host makes the call again, but another hook has used its yes."""
    held = hold(call_id="t1")
    assert permit_call.defer(store, held, an_agent()) is None
    (asked,) = store.asks.pending(9)
    answer_ask.answer(store, asked.id, ADA, Given("yes"))
    wait_for_ask.take(store, store.asks.get(asked.id), "agent:claude/s1#gone")
    assert permit_call.defer(store, held, an_agent()) is None
    (again,) = store.asks.pending(9)
    assert again.id != asked.id and again.question.call == held.call


@pytest.mark.proves("REMOTE-5", "LAW-4")
def test_call_of_another_machine_is_decided_or_opened(store):
    caller = an_agent()
    asked = permit_call.hold(store, hold("make", "t1"), caller, 60)
    assert asked.pending and asked.question.call.command == "make"
    assert permit_call.hold(store, hold("make", "t1"), caller, 60) == asked, "a repeated request"
    manage_rules.add(store, ADA, RuleKind.DENY, "", "Bash(make)")
    refused = permit_call.hold(store, hold("make", "t2"), caller, 60)
    assert refused.allow is False and len(store.asks.pending(9)) == 1


@pytest.mark.proves("HOOK-10", "LAW-4")
def test_answer_is_taken_after_it_was_handed_over(store):
    held = hold(call_id="t1")
    answered = open_answered(store, held)
    permission = Permission(allow=True, to_take=(answered,))
    assert store.asks.get(answered.id).delivered_at is None
    permit_call.hand_over(store, permission, held)
    taken = store.asks.get(answered.id)
    assert taken.delivered_at and taken.delivered_to == held.user


@pytest.mark.proves("HOOK-10", "LAW-3")
def test_call_without_time_left_gets_a_no(store):
    refused = permit_call.decide(store, hold(limit=0.0), an_agent())
    assert refused == Permission(allow=False, message="No person decided in time")
    assert store.asks.count() == 0


@pytest.mark.proves("HOOK-10", "LAW-4")
def test_yes_taken_at_this_moment_is_asked_again(store, monkeypatch):
    held = hold(call_id="t1")
    assert permit_call.defer(store, held, an_agent()) is None
    (asked,) = store.asks.pending(9)
    answer_ask.answer(store, asked.id, ADA, Given("yes"))
    look = wait_for_ask.wait

    def look_late(store, ask_id, seconds):
        seen = look(store, ask_id, seconds)
        if ask_id == asked.id:
            wait_for_ask.take(store, seen, "agent:claude/s1#gone")
        return seen

    monkeypatch.setattr(wait_for_ask, "wait", look_late)
    assert permit_call.defer(store, held, an_agent()) is None
    (again,) = store.asks.pending(9)
    assert again.id != asked.id


@pytest.mark.proves("HOOK-10")
def test_grant_is_ended_by_its_id(store):
    rules = []
    for command in ("make", "ls"):
        ask = permit_call._open(store, hold(command, command), an_agent(), 60)
        answer_ask.answer(store, ask.id, ADA, Given("yes", scope=Scope("hour")))
        rules.append(next(one for one in manage_rules.grants(store) if one.ask_id == ask.id))
    assert manage_rules.end_grant(store, an_agent(), rules[1].id) == rules[1]
    assert manage_rules.grants(store) == rules[:1]
    with pytest.raises(NotFoundError, match="gate grants"):
        manage_rules.end_grant(store, an_agent(), rules[1].id)
