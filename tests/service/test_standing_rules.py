"""Rules from history: what is suggested, shadow rules, and grants for good."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st
from tests.support.call_hosts import PlannedHost
from tests.support.past_calls import ask_about
from tests.support.people import a_person, an_agent

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import RuleKind, ShadowState
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.permissions.past_calls import (
    CallOutcome,
    PastCall,
    Pattern,
    describe_tally,
    replay,
)
from gatebell.domain.permissions.rules import Scope
from gatebell.errors import AgentRefusedError, NotFoundError, RefusedError, UsageError
from gatebell.services import audit
from gatebell.services.asks import answer_ask, ask_messages, create_ask
from gatebell.services.permissions import manage_rules, permit_call, standing_rules
from gatebell.services.permissions.permit_call import Held
from gatebell.testing import MemoryStore

ADA = a_person(verified=True)
TESTS = "Bash(npm test *)"
PLAIN, NO, CHANGED, NOTED, ASKED_BACK, GONE = "yes", "no", "changed", "noted", "back", "gone"


@pytest.fixture
def store():
    return MemoryStore()


def decide(store, command, how=PLAIN, project="/p"):
    ask = ask_about(store, command, project)
    if how == GONE:
        return create_ask.cancel(store, ask.id, ADA, "")
    if how == ASKED_BACK:
        ask_messages.ask_back(store, ask.id, ADA, "why?")
    value = {"input": {"command": f"{command} -v"}} if how == CHANGED else "yes"
    note = "only today" if how == NOTED else ""
    return answer_ask.answer(store, ask.id, ADA, Given("no" if how == NO else value, note))[1]


def always(store, ask, pattern=TESTS, note=""):
    return answer_ask.answer(store, ask.id, ADA, Given("yes", note, scope=Scope("always", pattern)))


def suggested(store, project="/p"):
    return [one.pattern.text for one in standing_rules.suggest(store, ADA, project)]


def approve_tests(store, times=3):
    return [decide(store, f"npm test {number}") for number in range(times)]


@pytest.mark.proves("LESS-1")
def test_calls_that_are_always_approved_are_suggested(store):
    approve_tests(store, 2)
    assert suggested(store) == []
    decide(store, "npm test -- -t one")
    for _ in range(4):
        decide(store, "make check")
    decide(store, "npm test gone", GONE)
    assert suggested(store) == ["Bash(make check)", TESTS]
    assert suggested(store, "/other") == []
    found = standing_rules.suggest(store, ADA, "/p")[1].replay
    assert describe_tally(found.tally) == "3 approved, 0 rejected, 1 not decided"


@pytest.mark.proves("LESS-1")
@pytest.mark.parametrize("how", [NO, CHANGED, NOTED, ASKED_BACK])
def test_one_objection_ends_a_suggestion(store, monkeypatch, how):
    monkeypatch.setattr(standing_rules, "MAX_COUNTED", 3)
    decide(store, "npm test once", how)
    approve_tests(store, 5)
    assert suggested(store) == []
    checked = standing_rules.check(store, ADA, "/p", TESTS)
    assert checked.replay.tally.objections == 1 and "did not plainly approve" in checked.why_not


@pytest.mark.proves("LESS-1", "LESS-3")
def test_other_clients_and_keys_are_counted_apart():
    at, call = MemoryStore().now(), make_call("Bash", {"command": "npm test"}, "/p")
    calls = [
        PastCall("a-1", call, "", "k", CallOutcome.APPROVED, at),
        PastCall("a-2", call, "", "", CallOutcome.REJECTED, at),
        PastCall("a-3", call, "http-x/", "k", CallOutcome.REJECTED, at),
    ]
    found = replay(Pattern(TESTS, "/p", "k"), calls)
    assert found.asks == ("a-1",) and found.tally.approved == found.tally.total == 1
    assert found.objecting == ("a-2",), "an earlier key of the folder objects, too"
    assert replay(Pattern(TESTS, "/p", "k", "http-x/"), calls).asks == ("a-3",)


@pytest.mark.proves("LESS-2")
@pytest.mark.parametrize(
    "command",
    [
        "git push", "npm publish", "terraform apply", "rm -rf build", "rm notes", "sudo ls",
        "npx tool", "python x.py", "bash x.sh", "docker run x", "make release", "ssh host ls",
        "curl x.example", "env A=1 ls", "git config x y", "npm test && ls", "gate answer a-1 yes",
        "cat 'a b'", "kubectl get pods", "npm run deploy", "npm test push", "find . -name x", "eval ls",
    ],
)  # fmt: skip
def test_dangerous_commands_are_never_suggested(store, command):
    for _ in range(4):
        decide(store, command)
    assert suggested(store) == []
    with pytest.raises(RefusedError, match="cannot become a rule"):
        standing_rules.begin_shadow(store, ADA, "/p", f"Bash({command})")


@pytest.mark.proves("LESS-2")
def test_denied_calls_are_never_suggested(store):
    approve_tests(store)
    denial = manage_rules.add(store, ADA, RuleKind.DENY, "/q", "Bash(npm test --update *)")
    assert suggested(store) == []
    manage_rules.end_gate(store, ADA, denial.id)
    assert suggested(store) == [TESTS]


@pytest.mark.proves("LESS-4", "LESS-5", "LESS-6", "LAW-9")
def test_shadow_rule_becomes_a_grant(store):
    approve_tests(store)
    shadow = standing_rules.begin_shadow(store, ADA, "/p", TESTS)
    assert suggested(store) == []
    asked = Held(
        make_call("Bash", {"command": "npm test x"}, "/p"),
        Origin("/p", "/p", "claude", "claude/s9", "t9", "person:ada"), 9.0, PlannedHost(),
    )  # fmt: skip
    assert permit_call.by_rule_of(store, asked) is None, "it decides nothing"
    decide(store, "npm test x")
    decide(store, "npm run lint")
    decide(store, "npm test y", project="/other")
    ((_, tally),) = standing_rules.list_shadows(store, ADA)
    assert tally.total == tally.approved == 1
    grant = standing_rules.promote(store, ADA, shadow.id)
    assert grant.made_by == "person:ada" and grant.is_standing and store.rules.shadows() == []
    assert permit_call.by_rule_of(store, asked).allow
    elsewhere = asked._replace(origin=asked.origin._replace(project="/other"))
    assert permit_call.by_rule_of(store, elsewhere) is None
    manage_rules.end_grant(store, ADA, grant.id)
    assert permit_call.by_rule_of(store, asked) is None
    kinds = [entry.event.kind for entry in store.audit.of_subject(shadow.id)]
    assert kinds == ["shadow.made", "shadow.agreed", "shadow.promoted"]
    assert audit.verify(store) == []
    with pytest.raises(NotFoundError):
        standing_rules.promote(store, ADA, shadow.id)


@pytest.mark.proves("LESS-4", "LAW-9")
@pytest.mark.parametrize("how", [NO, CHANGED, NOTED])
def test_disagreement_suspends_a_shadow_rule_and_alarms(store, how):
    approve_tests(store)
    shadow = standing_rules.begin_shadow(store, ADA, "/p", TESTS)
    refused = decide(store, "npm test x", how)
    (now,) = store.rules.shadows("/p")
    assert now.state == ShadowState.SUSPENDED
    (note,) = store.notes.newest(9)
    assert shadow.id in note.text and refused.id in note.text and note.author == "gate"
    assert store.outbox.waiting(99)[-1].kind == "note"
    with pytest.raises(RefusedError, match="suspended"):
        standing_rules.promote(store, ADA, TESTS)
    decide(store, "npm test y")
    assert len(store.notes.newest(9)) == 1, "it compares no longer"
    assert standing_rules.remove(store, ADA, shadow.id).id == shadow.id
    assert store.rules.shadows() == [] and audit.verify(store) == []


@pytest.mark.proves("LESS-5")
def test_history_is_looked_through_again_before_a_promotion(store):
    approve_tests(store)
    shadow = standing_rules.begin_shadow(store, ADA, "/p", TESTS, days=1)
    store.clock.advance(86_401)
    decide(store, "npm test x", NO)
    assert store.rules.shadows()[0].state == ShadowState.ACTIVE, "its time was over"
    with pytest.raises(RefusedError, match="did not plainly approve"):
        standing_rules.promote(store, ADA, shadow.id)


@pytest.mark.proves("LESS-10", "LAW-9")
@pytest.mark.parametrize("how", [NO, CHANGED, NOTED])
def test_objection_ends_the_grant_of_its_call(store, how):
    approve_tests(store)
    waiting, gated = ask_about(store, "npm test x"), ask_about(store, "npm test --live")
    shadow = standing_rules.begin_shadow(store, ADA, "/p", TESTS)
    grant = standing_rules.promote(store, ADA, shadow.id)
    manage_rules.add(store, ADA, RuleKind.ASK, "/p", "Bash(npm test --live *)")
    value = {"input": {"command": "npm ls"}} if how == CHANGED else "no" if how == NO else "yes"
    given = Given(value, "only today" if how == NOTED else "")
    answer_ask.answer(store, gated.id, ADA, given)
    assert manage_rules.grants(store) == [grant], "another gate asks about that call"
    answer_ask.answer(store, waiting.id, ADA, given)
    assert manage_rules.grants(store) == []
    (note,) = store.notes.newest(9)
    assert grant.id in note.text and waiting.id in note.text
    ended = store.audit.of_subject(grant.id)[-1].event
    assert (ended.kind, ended.content["ask"]) == ("grant.ended", waiting.id)
    assert audit.verify(store) == []


@pytest.mark.proves("LESS-6")
def test_agents_are_refused_everywhere(store):
    approve_tests(store)
    shadow = standing_rules.begin_shadow(store, ADA, "/p", TESTS)
    for deed in (
        lambda: standing_rules.suggest(store, an_agent(), "/p"),
        lambda: standing_rules.check(store, an_agent(), "/p", TESTS),
        lambda: standing_rules.begin_shadow(store, an_agent(), "/p", "Bash(npm test)"),
        lambda: standing_rules.list_shadows(store, an_agent()),
        lambda: standing_rules.promote(store, an_agent(), shadow.id),
        lambda: standing_rules.remove(store, an_agent(), shadow.id),
    ):
        with pytest.raises(AgentRefusedError):
            deed()
    ask = ask_about(store, "npm test x", session="claude/s2")
    given = Given("yes", scope=Scope("always", TESTS))
    with pytest.raises(AgentRefusedError):
        answer_ask.answer(store, ask.id, an_agent(), given)
    assert store.rules.shadows() == [shadow] and manage_rules.grants(store) == []


@pytest.mark.proves("LESS-7")
def test_card_offers_to_allow_a_kind_of_call_always(store):
    approve_tests(store)
    decide(store, "make check", NO)
    ask = ask_about(store, "npm test x")
    found = standing_rules.suggest_for(store, ask)
    assert found.pattern.text == TESTS and found.replay.tally.approved == 3
    assert standing_rules.suggest_for(store, ask_about(store, "make check")) is None
    always(store, ask)
    (grant,) = manage_rules.grants(store)
    assert (grant.pattern, grant.ask_id, grant.is_standing) == (TESTS, ask.id, True)
    assert standing_rules.suggest_for(store, ask_about(store, "npm test y")) is None


@pytest.mark.proves("LESS-2", "LESS-7")
def test_always_is_refused_where_it_is_not_safe(store):
    for command, pattern, reason in (
        ("make check", "Bash(make *)", "with other words"),
        ("git push", "", "is a push"),
        ("npm test x", TESTS, "did not plainly approve"),
        ("npm test push", "Bash(npm test push *)", "dangerous acts"),
    ):
        decide(store, "npm test old", NO)
        ask = ask_about(store, command)
        with pytest.raises((UsageError, RefusedError), match=reason):
            always(store, ask, pattern)
        assert store.asks.get(ask.id).pending
    with pytest.raises(RefusedError, match="condition"):
        always(store, ask_about(store, "npm ls"), "Bash(npm ls)", note="today")
    assert manage_rules.grants(store) == []


COMMANDS = st.sampled_from(
    ["npm test", "npm test a", "npm test -- b", "make check", "pytest tests", "pytest tests -x",
     "git push", "git commit -m x", "cargo test y", "rm -rf z", "python x.py"]
)  # fmt: skip
HISTORIES = st.lists(
    st.tuples(COMMANDS, st.sampled_from([*[PLAIN] * 6, NO, CHANGED, NOTED, GONE])), max_size=20
)
PATTERNS = (TESTS, "Bash(pytest tests *)", "Bash(make check)", "Bash(cargo test *)")


def fits(pattern, command):
    words = pattern[5:-1]
    return command == words.removesuffix(" *") or (
        words.endswith("*") and command.startswith(words[:-1])
    )


def count_directly(history, pattern):
    found = [how for command, how in history if fits(pattern, command)]
    return tuple(found.count(how) for how in (PLAIN, NO, CHANGED, NOTED, GONE))


def try_history(history, before):
    """Decide a history, with shadow rules from the middle on; compare it with a direct count."""
    store = MemoryStore()
    for command, how in history[:before]:
        decide(store, command, how)
    shadows = {}
    for pattern in PATTERNS:
        try:
            shadows[pattern] = standing_rules.begin_shadow(store, ADA, "/p", pattern)
        except RefusedError:
            continue
    for command, how in history[before:]:
        decide(store, command, how)
    for pattern in PATTERNS:
        assert standing_rules.check(store, ADA, "/p", pattern).replay.tally == count_directly(
            history, pattern
        )
    for shadow, tally in standing_rules.list_shadows(store, ADA):
        later = [one for one in history[before:] if fits(shadow.pattern, one[0])]
        against = next((at for at, one in enumerate(later) if one[1] in (NO, CHANGED, NOTED)), None)
        met = later if against is None else later[: against + 1]
        decided = [one for one in met if one[1] != GONE]
        assert tally == count_directly(decided, shadow.pattern)
        assert (shadow.state == ShadowState.SUSPENDED) == (against is not None)
        standing_rules.remove(store, ADA, shadow.id)
    for pattern in suggested(store):
        plain, no, changed, noted, _ = count_directly(history, pattern)
        assert plain >= 3 and not (no or changed or noted)
        assert not any(fits(pattern, bad) for bad in ("git push", "rm -rf z", "python x.py"))
    store.close()


@pytest.mark.proves("LESS-1", "LESS-3")
def test_suggestions_and_records_agree_with_a_direct_count(pytestconfig):
    @settings(max_examples=10_000 if pytestconfig.option.whole else 15, database=None)
    @given(HISTORIES, st.integers(0, 20))
    def check(history, before):
        try_history(history, before)

    check()
