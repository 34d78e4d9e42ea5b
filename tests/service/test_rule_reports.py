"""Rules from history as plain data, and what is refused around them."""

from __future__ import annotations

import json

import pytest
from tests.support.past_calls import ask_about, decide
from tests.support.people import a_person, an_agent

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.rules import Scope
from gatebell.errors import AgentRefusedError, NotFoundError, RefusedError, UsageError
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.permissions import rule_reports, standing_rules
from gatebell.testing import MemoryStore

ADA = a_person(verified=True)
TESTS = "Bash(npm test *)"


@pytest.fixture
def store():
    made = MemoryStore()
    for number in range(3):
        decide(made, f"npm test {number}")
    return made


def begin(store, project="/p", pattern=TESTS, days=7):
    return standing_rules.begin_shadow(store, ADA, project, pattern, days)


@pytest.mark.proves("LESS-1", "LESS-7", "LESS-9")
def test_suggestions_are_plain_data(store):
    (found,) = rule_reports.list_suggestions(store, ADA, "/p")
    assert (found["pattern"], found["project"]) == (TESTS, "/p")
    assert found["decided"]["approved"] == 3 and store.asks.get(found["ask_id"])
    waiting = ask_about(store, "npm test x")
    assert rule_reports.find_suggestion(store, waiting) == found
    assert rule_reports.find_suggestion(store, ask_about(store, "git push")) is None
    json.dumps(found)


@pytest.mark.proves("LESS-3", "LESS-4", "LESS-9")
def test_replay_names_the_asks_and_begins_a_shadow(store):
    told = rule_reports.replay_rule(store, ADA, "/p", TESTS, None)
    assert told["decided"]["approved"] == len(told["asks"]) == 3
    assert (told["why_not"], told["objecting"], told["shadow"]) == ("", [], None)
    assert rule_reports.list_shadows(store, ADA) == []
    begun = rule_reports.replay_rule(store, ADA, "/p", TESTS, 2)["shadow"]
    refused = decide(store, "npm test y", "no")
    (listed,) = rule_reports.list_shadows(store, ADA)
    assert (listed["id"], listed["state"]) == (begun["id"], "suspended")
    assert listed["compared"]["rejected"] == 1 and not listed["is_over"]
    told = rule_reports.replay_rule(store, ADA, "/p", TESTS, None)
    assert told["objecting"] == [refused.id] and refused.id in told["why_not"]
    store.clock.advance(2 * 86_400)
    assert rule_reports.list_shadows(store, ADA)[0]["is_over"]
    removed = rule_reports.remove(store, ADA, begun["id"])
    assert removed["pattern"] == TESTS and rule_reports.list_shadows(store, ADA) == []
    json.dumps([told, listed, removed])


@pytest.mark.proves("LESS-5", "LESS-9")
def test_promoted_rule_is_plain_data(store):
    grant = rule_reports.promote(store, ADA, begin(store).id)
    assert (grant["pattern"], grant["made_by"], grant["expires_at"]) == (TESTS, "person:ada", None)
    json.dumps(grant)


@pytest.mark.proves("LESS-6")
def test_agent_gets_no_report(store):
    for deed in (
        lambda: rule_reports.list_suggestions(store, an_agent(), "/p"),
        lambda: rule_reports.replay_rule(store, an_agent(), "/p", TESTS, 1),
        lambda: rule_reports.list_shadows(store, an_agent()),
        lambda: rule_reports.promote(store, an_agent(), "s-1"),
        lambda: rule_reports.remove(store, an_agent(), "s-1"),
    ):
        with pytest.raises(AgentRefusedError):
            deed()
    assert store.rules.shadows() == []


@pytest.mark.proves("LESS-4")
@pytest.mark.parametrize("days", [0, 366])
def test_comparison_has_a_bounded_time(store, days):
    with pytest.raises(UsageError, match="from 1 to 365"):
        begin(store, days=days)


@pytest.mark.proves("LESS-4")
def test_rule_is_begun_once_and_named_exactly(store):
    first = begin(store)
    with pytest.raises(UsageError, match="is already a rule here"):
        begin(store)
    for number in range(3):
        decide(store, f"npm test {number}", project="/q")
    second = begin(store, "/q")
    with pytest.raises(UsageError, match=f"use one of the ids .*{first.id}"):
        standing_rules.remove(store, ADA, TESTS)
    with pytest.raises(NotFoundError, match="gate rules"):
        standing_rules.remove(store, ADA, "Bash(ls)")
    standing_rules.promote(store, ADA, second.id)
    with pytest.raises(UsageError, match="is already a rule here"):
        begin(store, "/q")


@pytest.mark.proves("LESS-5")
@pytest.mark.parametrize("deed", ["promote", "remove"])
def test_change_at_the_same_time_is_refused(store, monkeypatch, deed):
    shadow = begin(store)
    name = "promote" if deed == "promote" else "remove_shadow"
    monkeypatch.setattr(type(store.rules), name, lambda *_: False)
    with pytest.raises(RefusedError, match="just"):
        getattr(standing_rules, deed)(store, ADA, shadow.id)


@pytest.mark.proves("LESS-1", "LESS-2")
def test_history_that_is_too_long_makes_no_rule(store, monkeypatch):
    monkeypatch.setattr(standing_rules, "_MAX_OBJECTIONS", 2)
    for number in range(2):
        decide(store, f"cargo test {number}", "no")
    checked = standing_rules.check(store, ADA, "/p", TESTS)
    assert checked.why_not == "the history of this project is too long to be looked through"
    assert standing_rules.suggest(store, ADA, "/p") == []


@pytest.mark.proves("LESS-7")
def test_nothing_is_offered_where_no_rule_could_hold(store):
    settled = decide(store, "npm test x")
    nowhere = ask_about(store, "npm test x", project="")
    question = create_ask.ask(store, Request("Which?"), Origin("/p"), an_agent()).ask
    for ask in (settled, nowhere, question, ask_about(store, "python x.py")):
        assert standing_rules.suggest_for(store, ask) is None


@pytest.mark.proves("LESS-2", "LAW-3")
@pytest.mark.parametrize("how", ["note", "gate"])
def test_yes_with_a_condition_is_not_for_always(store, monkeypatch, how):
    if how == "gate":
        # The pattern itself is plain: only this call has a word that gates look at.
        monkeypatch.setattr(standing_rules, "list_triggers", lambda _: ["*push*"])
    ask = ask_about(store, "npm test x")
    given = Given("yes", "but gently" if how == "note" else "", scope=Scope("always", TESTS))
    says = "has a condition" if how == "note" else "a gate for dangerous acts looks at this call"
    with pytest.raises(RefusedError, match=says):
        answer_ask.answer(store, ask.id, ADA, given)
    assert store.asks.get(ask.id).pending


@pytest.mark.proves("LESS-3")
@pytest.mark.parametrize("is_settled", [True, False])
def test_only_settled_calls_are_history(store, is_settled):
    ask = decide(store, "npm test x") if is_settled else ask_about(store, "npm test x")
    assert (standing_rules.make_past_call(ask) is not None) == is_settled
    question = ask._replace(question=ask.question._replace(call=None))
    assert standing_rules.make_past_call(question) is None


@pytest.mark.proves("LESS-3")
def test_answer_to_a_question_is_not_compared(store):
    shadow = begin(store)
    asked = create_ask.ask(store, Request("Which?"), Origin("/p"), an_agent()).ask
    answer_ask.answer(store, asked.id, ADA, Given("no"))
    assert standing_rules.list_shadows(store, ADA) == [(shadow, (0, 0, 0, 0, 0))]
