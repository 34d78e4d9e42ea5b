"""Each store keeps shadow rules, and gives the numbers of past asks."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from tests.support.interleaving import together
from tests.support.past_calls import ask_about
from tests.support.people import a_person, an_agent
from tests.support.run_records import add_run, turn

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import ShadowState
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.permissions.past_calls import CallOutcome
from gatebell.domain.permissions.rules import Scope, build_used_event
from gatebell.errors import RefusedError
from gatebell.services import audit, fence, stats
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.permissions import standing_rules

__all__ = ["together"]

ADA = a_person("ada", verified=True)


def decide(store, command, value="yes", note="", project="/p"):
    ask = ask_about(store, command, project)
    store.clock.advance(60)
    return answer_ask.answer(store, ask.id, ADA, Given(value, note))[1]


@pytest.mark.proves("LESS-3", "LESS-4", "LESS-5", "LAW-9")
def test_shadow_rule_is_kept_compared_and_ended(store):
    first = decide(store, "npm test a")
    shadow = standing_rules.begin_shadow(store, ADA, "/p", "Bash(npm test *)", days=3)
    assert store.rules.shadows() == store.rules.shadows("/p") == [shadow]
    assert store.rules.shadows("/q") == [] and shadow.ask_id == first.id
    decide(store, "npm test b")
    assert standing_rules.list_shadows(store, ADA)[0].tally.approved == 1
    grant = standing_rules.promote(store, ADA, shadow.id)
    assert store.rules.in_force() == [grant]
    assert not store.rules.promote(shadow.id, grant, store.rules.standing_state("/p"), []), (
        "only once"
    )
    second = standing_rules.begin_shadow(store, ADA, "/q", *_approved(store, "/q"))
    refused = decide(store, "make check", "no", project="/q")
    (now,) = store.rules.shadows("/q")
    assert now == second._replace(state=ShadowState.SUSPENDED)
    (note,) = store.notes.newest(9)
    told = [one.written_at for one in store.outbox.list_posted(99) if one.notice.kind == "note"]
    assert refused.id in note.text and told == [note.sent_at], "its notice finds it by its time"
    with pytest.raises(RefusedError):
        standing_rules.promote(store, ADA, second.id)
    assert not store.rules.promote(
        second.id, grant._replace(id="g-other"), store.rules.standing_state("/p"), []
    )
    standing_rules.remove(store, ADA, second.id)
    assert store.rules.shadows() == [] and audit.verify(store) == []


def _approved(store, project):
    decide(store, "make check", project=project)
    return ("Bash(make check)",)


@pytest.mark.proves("LESS-1", "LESS-3")
def test_past_calls_are_the_settled_ones_of_a_project(store):
    first = decide(store, "npm test a")
    edited = decide(store, "npm test b", {"input": {"command": "npm test"}})
    noted = decide(store, "npm test c", note="today")
    decide(store, "npm test d", project="/q")
    refused = decide(store, "npm test e", "no")
    outcomes = {one.ask_id: one.outcome for one in store.asks.past_calls("/p", 9)}
    assert outcomes == {
        refused.id: CallOutcome.REJECTED,
        noted.id: CallOutcome.CONDITIONAL,
        edited.id: CallOutcome.CHANGED,
        first.id: CallOutcome.APPROVED,
    }
    assert [one.ask_id for one in store.asks.past_calls("/p", 2)] == [refused.id, noted.id]
    objected = [one.ask_id for one in store.asks.objected_calls("/p", 9)]
    assert objected == [refused.id, noted.id, edited.id]


@pytest.mark.proves("LESS-8")
def test_numbers_of_a_period_are_counted(store):
    began = store.now()
    decide(store, "npm test a")
    shadow = standing_rules.begin_shadow(store, ADA, "/p", "Bash(npm test *)")
    grant = standing_rules.promote(store, ADA, shadow.id)
    call = make_call("Bash", {"command": "npm test b"}, "/p")
    assert store.rules.use(grant.id, [build_used_event(grant, call, "agent:claude/s9")])
    add_run(store, turns=[turn(store, "1", ago=30, signal="DONE")])
    create_ask.ask(store, Request("What?"), Origin("/q", session="claude/s5"), an_agent())
    store.clock.advance(120)
    found = stats.read_stats(store)
    assert (found.asks, found.answered, found.calls_decided, found.grants_used) == (2, 1, 1, 1)
    assert found.blocked_minutes == 3 and found.median_answer_seconds == 60
    assert found.share_by_grants == 0.5 and found.agent_hours >= 4
    here = stats.read_stats(store, project="/p")
    assert (here.asks, here.grants_used, here.blocked_minutes) == (1, 1, 1)
    before = stats.read_stats(store, began - timedelta(days=2), began - timedelta(days=1))
    assert (before.asks, before.agent_hours, before.grants_used) == (0, 0, 0)


@pytest.mark.proves("LESS-4")
def test_fence_ends_shadow_rules(store):
    """People may have disagreed with one after the backup."""
    decide(store, "npm test a")
    shadow = standing_rules.begin_shadow(store, ADA, "/p", "Bash(npm test *)")
    fence.fence(store, ADA)
    assert store.rules.shadows() == [] and audit.verify(store) == []
    assert not store.rules.remove_shadow(shadow.id, []), "only once"


TESTS = "Bash(npm test *)"


def _between(monkeypatch, port, name, deed):
    """Do a deed once, just after this method has read."""
    read, todo = getattr(port, name), [deed]

    def read_and_do(*given):
        found = read(*given)
        if todo:
            todo.pop()()
        return found

    monkeypatch.setattr(port, name, read_and_do)


@pytest.mark.proves("LESS-10", "LAW-9")
@pytest.mark.parametrize("makes", ["promote", "always"])
def test_objection_ends_a_grant_made_at_its_time(store, monkeypatch, makes):
    """The grant is made after the answer has looked at the rules."""
    for number in range(3):
        decide(store, f"npm test {number}")
    waiting, other = ask_about(store, "npm test x", "/p"), ask_about(store, "npm test y", "/p")
    shadow = standing_rules.begin_shadow(store, ADA, "/p", TESTS)

    def make():
        if makes == "promote":
            return standing_rules.promote(store, ADA, shadow.id)
        given = Given("yes", scope=Scope("always", TESTS))
        return answer_ask.answer(store, other.id, ADA, given)

    _between(monkeypatch, store.rules, "shadows", make)
    answer_ask.answer(store, waiting.id, ADA, Given("no"))
    assert [one for one in store.rules.in_force() if one.is_standing] == []
    (note,) = store.notes.newest(9)
    assert waiting.id in note.text and "The grant is ended" in note.text
    states = [one.state for one in store.rules.shadows()]
    assert states == ([] if makes == "promote" else [ShadowState.SUSPENDED])
    assert audit.verify(store) == []


@pytest.mark.proves("LESS-10")
@pytest.mark.parametrize("makes", ["promote", "always"])
def test_objection_prevents_a_grant_made_at_its_time(store, monkeypatch, makes):
    """The objection comes after history was looked through, and no rule compares any more."""
    for number in range(3):
        decide(store, f"npm test {number}")
    waiting, other = ask_about(store, "npm test x", "/p"), ask_about(store, "npm test y", "/p")
    shadow = standing_rules.begin_shadow(store, ADA, "/p", TESTS, days=1)
    store.clock.advance(86_401)
    refuse = partial(answer_ask.answer, store, waiting.id, ADA, Given("no"))
    _between(monkeypatch, store.asks, "objected_calls", refuse)
    given = Given("yes", scope=Scope("always", TESTS))
    make = {
        "promote": partial(standing_rules.promote, store, ADA, shadow.id),
        "always": partial(answer_ask.answer, store, other.id, ADA, given),
    }[makes]
    with pytest.raises(RefusedError):
        make()
    assert store.asks.get(waiting.id).decision == "rejected"
    assert store.rules.in_force() == [] and audit.verify(store) == []


@pytest.mark.proves("LESS-10", "PG-3")
@pytest.mark.parametrize("makes", ["promote", "always"])
@pytest.mark.parametrize("order", [1, -1], ids=["objection first", "grant first"])
def test_objection_and_grant_at_once(together, makes, order):
    """Without the lock, neither transaction sees the other one, and the grant stays."""
    store = together.store
    for number in range(3):
        decide(store, f"npm test {number}")
    waiting, other = ask_about(store, "npm test x", "/p"), ask_about(store, "npm test y", "/p")
    shadow = standing_rules.begin_shadow(store, ADA, "/p", TESTS, days=1)
    store.clock.advance(86_401)

    def refuse(own):
        return answer_ask.answer(own, waiting.id, ADA, Given("no"))

    def make(own):
        if makes == "promote":
            return standing_rules.promote(own, ADA, shadow.id)
        given = Given("yes", scope=Scope("always", TESTS))
        return answer_ask.answer(own, other.id, ADA, given)

    together.run(*(refuse, make)[::order])
    assert store.asks.get(waiting.id).decision == "rejected"
    assert store.rules.in_force() == [] and audit.verify(store) == []
