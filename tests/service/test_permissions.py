"""Decisions about tool calls, on the store in memory."""

from __future__ import annotations

import pytest
from tests.support.call_hosts import PlannedHost
from tests.support.held_calls import hold
from tests.support.people import a_person, an_agent
from tests.support.stores import make_lasting

from gatebell.domain.asks.answers import Given
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.permissions.rules import Scope
from gatebell.errors import AgentRefusedError, NotFoundError, UsageError
from gatebell.services.asks import answer_ask, ask_messages, wait_for_ask
from gatebell.services.notifications import notes
from gatebell.services.permissions import manage_rules, permit_call
from gatebell.services.permissions.permit_call import Permission
from gatebell.testing import MemoryStore, ScriptedPerson

ADA = a_person(verified=True)


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def ada(store):
    return ScriptedPerson(store, "ada")


def questions(*names, multiple=False):
    options = [{"label": "A", "description": "first"}, {"label": "B"}]
    call = make_call(
        "AskUserQuestion",
        {
            "questions": [
                {"question": q, "options": options, "multiSelect": multiple} for q in names
            ]
        },
        "",
        "",
    )
    return hold()._replace(call=call)


def events(store, kind):
    return [entry.event for entry in store.audit.entries() if entry.event.kind == kind]


@pytest.mark.proves("AGT-1", "AGT-3", "AGT-4")
def test_person_decides_a_call(store, ada):
    ada.will_answer("git push", "yes")
    first = hold()
    assert permit_call.decide(store, first, an_agent()) == Permission(allow=True)
    ask = store.asks.get(first.host.asks[0])
    assert (ask.activity, ask.deadlines.hard) == ("going on", True)
    assert ask.delivered_to == "agent:claude/s1#t1"
    ada.will_answer("git push", "no", "use stash")
    refused = permit_call.decide(store, hold(call_id="t2"), an_agent())
    assert refused == Permission(False, "A person said no to this: use stash")
    ada.will_answer("git push", "no")
    assert permit_call.decide(store, hold(call_id="t3"), an_agent()).message == (
        "A person said no to this"
    )


@pytest.mark.proves("AGT-2")
def test_edited_input_runs_instead(store, ada):
    ada.will_answer("git push", {"input": {"command": "git push --dry-run"}})
    decided = permit_call.decide(store, hold(), an_agent())
    assert decided[:3] == (True, "", {"command": "git push --dry-run"})
    edited = hold("git push --dry-run")
    told = permit_call.instead(store, decided.edited_by, hold(), edited.call)
    assert told.allow is False and '{"command":"git push --dry-run"}' in told.message
    other = hold("git push --dry-run", session="claude/s2")
    assert permit_call.by_rule(store, edited.call, other.origin) is None
    assert permit_call.by_rule(store, hold().call, hold().origin) is None
    assert permit_call.by_rule(store, edited.call, edited.origin) == Permission(allow=True)
    assert permit_call.by_rule(store, edited.call, edited.origin) is None
    assert [event.actor for event in events(store, "grant.made")] == ["person:ada"]


@pytest.mark.proves("AGT-4", "AGT-5", "LAW-4")
def test_approval_is_used_by_one_call(store, ada):
    """A second equal call finds the pending ask, but not its answer."""
    ada.will_answer("git push", "yes").will_answer("git push", "no")
    first = hold()
    ask = permit_call._open(store, first, an_agent(), 60)
    answer_ask.answer(store, ask.id, ADA, Given("yes"))
    late = wait_for_ask.wait(store, ask.id, 0)
    assert permit_call.use(store, late, first) == Permission(allow=True)
    assert permit_call.use(store, late, first) == Permission(allow=True)
    assert permit_call.use(store, late, hold(call_id="t2")) is None
    assert permit_call.use(store, late, hold(call_id="")) is None


@pytest.mark.proves("AGT-4", "AGT-23")
def test_call_repeated_after_a_crash_finds_its_answer(store):
    ask = permit_call._open(store, hold(), an_agent(), 60)
    again = permit_call._open(store, hold(call_id="t9"), an_agent(), 60)
    assert again.id == ask.id
    answer_ask.answer(store, ask.id, ADA, Given("yes"))
    assert permit_call.decide(store, hold(call_id="t9"), an_agent()) == Permission(allow=True)
    assert permit_call._open(store, hold(call_id="t9"), an_agent(), 60).id != ask.id


@pytest.mark.proves("AGT-13")
def test_undecided_call_is_denied(store):
    decided = permit_call.decide(store, hold(limit=100), an_agent())
    assert decided.allow is False and "timed out" in decided.message
    assert store.clock.monotonic() <= 100


@pytest.mark.proves("AGT-14", "AGT-13")
def test_call_decided_elsewhere_leaves_the_inbox(store):
    waiting = hold(reasons=["", "", "answered in the terminal"])
    decided = permit_call.decide(store, waiting, an_agent())
    assert decided == Permission(allow=None)
    (ask,) = store.asks.list_settled(9)
    assert (ask.status, ask.note) == ("cancelled", "answered in the terminal")
    assert permit_call.retire(store, ask, an_agent(), "again").note == "answered in the terminal"


@pytest.mark.proves("AGT-14")
def test_call_given_up_before_its_ask_waits_not(store):
    decided = permit_call.decide(store, hold(reasons=["the agent gave the call up"]), an_agent())
    assert decided == Permission(allow=None) and store.clock.monotonic() == 0
    assert [ask.status for ask in store.asks.list_settled(9)] == ["cancelled"]


@pytest.mark.proves("AGT-12")
def test_person_may_ask_back_about_a_call(store, ada):
    ada.will_ask_back("git push", "why now?")
    decided = permit_call.decide(store, hold(), an_agent())
    (ask,) = store.asks.pending(9)
    assert decided.allow is False
    assert "why now?" in decided.message and f"gate reply {ask.id}" in decided.message
    ask_messages.reply(store, ask.id, an_agent(), "the tests are green")
    ada.will_answer("git push", "yes")
    assert permit_call.decide(store, hold(call_id="t2"), an_agent()) == Permission(allow=True)
    assert store.asks.get(ask.id).decision == "approved"


@pytest.mark.proves("AGT-6", "AGT-8")
def test_grant_allows_the_same_call_and_is_reported(store):
    ask = permit_call._open(store, hold(), an_agent(), 60)
    answer_ask.answer(store, ask.id, ADA, Given("yes", scope=Scope("3")))
    (grant,) = manage_rules.grants(store)
    for _ in range(2):
        assert permit_call.decide(store, hold(), an_agent()).allow
    assert [event.subject for event in events(store, "grant.used")] == [grant.id] * 2
    assert manage_rules.grants(store) == []
    assert permit_call.by_rule(store, hold().call, hold().origin) is None


@pytest.mark.proves("AGT-8", "AGT-11")
def test_revoked_grant_allows_nothing(store):
    ask = permit_call._open(store, hold(), an_agent(), 60)
    answer_ask.answer(store, ask.id, ADA, Given("yes", scope=Scope("session")))
    (grant,) = manage_rules.grants(store)
    assert permit_call.by_rule(store, hold().call, hold(session="claude/s2").origin) is None
    assert permit_call.by_rule(store, hold("git push -f").call, hold().origin) is None
    manage_rules.end_grant(store, an_agent(), grant.id)
    assert permit_call.by_rule(store, hold().call, hold().origin) is None
    assert events(store, "grant.ended")
    with pytest.raises(NotFoundError):
        manage_rules.end_grant(store, ADA, grant.id)


@pytest.mark.proves("AGT-8")
def test_grant_that_ends_before_its_use_allows_nothing(store, monkeypatch):
    ask = permit_call._open(store, hold(), an_agent(), 60)
    answer_ask.answer(store, ask.id, ADA, Given("yes", scope=Scope("2")))
    grants = store.rules.in_force()
    store.rules.use(grants[0].id, [])
    monkeypatch.setattr(store.rules, "in_force", lambda: grants)
    monkeypatch.setattr(store.rules, "use", lambda *_: False)
    assert permit_call.by_rule(store, hold().call, hold().origin) is None


@pytest.mark.proves("AGT-9")
def test_denial_wins_over_a_grant(store):
    ask = permit_call._open(store, hold(), an_agent(), 60)
    answer_ask.answer(store, ask.id, ADA, Given("yes", scope=Scope("hour")))
    manage_rules.add(store, an_agent(), "deny", "", "Bash(git push *)")
    decided = permit_call.decide(store, hold(), an_agent())
    assert decided == Permission(False, "A person denied this by a rule: Bash(git push *)")
    assert not events(store, "grant.used")


@pytest.mark.proves("AGT-7", "AGT-6")
def test_wide_grant_does_not_cover_an_unseen_gate(store):
    manage_rules.set_gates(store, ADA, "", ["Bash(git push *)"])

    def grant(command):
        ask = permit_call._open(store, hold(command), an_agent(), 60)
        answer_ask.answer(store, ask.id, ADA, Given("yes", scope=Scope("hour", "Bash(git *)")))

    def passes(command):
        return permit_call.by_rule(store, hold(command).call, hold().origin) is not None

    grant("git status")
    assert passes("git log") and not passes("git push --force")
    grant("git push")
    assert passes("git push --force")


@pytest.mark.proves("AGT-4", "AGT-14")
def test_answer_does_not_cover_a_later_call(store, ada):
    ask = permit_call._open(store, hold(), an_agent(), 60)
    answer_ask.answer(store, ask.id, ADA, Given("yes"))
    ada.will_answer("git push", "no")
    later = hold(call_id="t2", over=["t1"])
    assert permit_call.decide(store, later, an_agent()).allow is False
    assert store.asks.get(ask.id).delivered_to == "agent:claude/s1#gone"


@pytest.mark.proves("AGT-4")
def test_late_answer_covers_no_call(store, ada):
    ask = permit_call._open(store, hold(), an_agent(), 60)
    answer_ask.answer(store, ask.id, ADA, Given("yes"))
    store.clock.advance(61)
    ada.will_answer("git push", "no")
    assert permit_call.decide(store, hold(call_id="t2"), an_agent()).allow is False


@pytest.mark.proves("AGT-4", "AGT-13")
def test_call_that_loses_its_answer_asks_again_in_time(store, ada):
    """Another call without an id takes each answer before."""

    def rival():
        for ask in store.asks.list_settled(9):
            wait_for_ask.take(store, ask, "agent:claude/s1#")

    for _ in range(9):
        ada.will_answer("git push", "yes")
    stolen = hold(call_id="", limit=100, on_ask=lambda _: store.clock.advance(20))
    real = wait_for_ask.wait

    def rob(*given):
        ask = real(*given)
        rival()
        return ask

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wait_for_ask, "wait", rob)
        decided = permit_call.decide(store, stolen, an_agent())
    assert decided.allow is False and "in time" in decided.message
    assert store.clock.monotonic() <= 110


@pytest.mark.proves("AGT-11")
def test_setting_gates_leaves_denials_alone(store):
    manage_rules.add(store, ADA, "deny", "", "Bash(rm -rf *)")
    manage_rules.set_gates(store, ADA, "", ["Bash(git push *)"])
    manage_rules.set_gates(store, ADA, "", [])
    assert [rule.pattern for rule in manage_rules.gates(store)] == ["Bash(rm -rf *)"]


@pytest.mark.proves("AGT-11")
def test_only_a_person_takes_a_gate_away(store):
    make_lasting(store)
    manage_rules.add(store, an_agent(), "ask", "", "Bash(rm *)")
    (gate,) = manage_rules.gates(store)
    with pytest.raises(UsageError, match="already"):
        manage_rules.add(store, an_agent(), "ask", "", "Bash(rm *)")
    for verb in (
        lambda: manage_rules.end_gate(store, an_agent(), gate.id),
        lambda: manage_rules.set_gates(store, an_agent(), "", []),
    ):
        with pytest.raises(AgentRefusedError):
            verb()
    manage_rules.set_gates(store, ADA, "", ["Bash(git push *)", "Write"])
    assert {rule.pattern for rule in manage_rules.gates(store)} == {"Bash(git push *)", "Write"}
    before = store.audit.head()
    manage_rules.set_gates(store, ADA, "", ["Write", "Bash(git push *)"])
    assert store.audit.head() == before
    manage_rules.set_gates(store, ADA, "/p", ["Write"])
    assert len(manage_rules.gates(store)) == 3
    with pytest.raises(UsageError, match="several rules match"):
        manage_rules.end_gate(store, ADA, "Write")
    manage_rules.end_gate(store, ADA, "Bash(git push *)")
    assert [rule.pattern for rule in manage_rules.gates(store)] == ["Write", "Write"]
    with pytest.raises(NotFoundError):
        manage_rules.end_gate(store, ADA, "Bash(git push *)")


@pytest.mark.proves("AGT-10")
def test_gated_means_a_person_is_asked(store):
    manage_rules.set_gates(store, ADA, "/p", ["Bash(git push *)"])
    assert permit_call.is_gated(store, hold("cd x && git push").call, hold().origin)
    assert not permit_call.is_gated(store, hold("git pull").call, hold().origin)
    elsewhere = hold().origin._replace(project="/q", cwd="/q")
    assert not permit_call.is_gated(store, hold().call, elsewhere)


@pytest.mark.proves("AGT-15")
def test_one_call_is_deferred_and_the_others_are_held(store):
    first, second = hold("one", "t1"), hold("two", "t2")
    assert permit_call.defer(store, first, an_agent()) is None
    assert permit_call.defer(store, first, an_agent()) is None
    (ask,) = store.asks.pending(9)
    assert ask.deferred and ask.deadlines.expires_at is None
    told = permit_call.defer(store, second, an_agent())
    assert told == Permission(False, f"held: {ask.id} is being decided; call this again afterwards")
    twin = permit_call.defer(store, hold("one", "t3"), an_agent())
    assert twin == told
    answer_ask.answer(store, ask.id, ADA, Given("yes"))
    assert permit_call.defer(store, first, an_agent()) == Permission(allow=True)
    assert permit_call.defer(store, second, an_agent()) is None


@pytest.mark.proves("AGT-15", "LAW-4")
def test_yes_to_one_deferred_call_does_not_cover_another(store):
    assert permit_call.defer(store, hold("git push", "t1"), an_agent()) is None
    (ask,) = store.asks.pending(9)
    assert permit_call.defer(store, hold("rm -rf /", "t1"), an_agent()).allow is False
    answer_ask.answer(store, ask.id, ADA, Given("yes"))
    assert permit_call.defer(store, hold("rm -rf /", "t1"), an_agent()) is None
    with pytest.raises(UsageError, match="without an id"):
        permit_call.defer(store, hold("rm -rf /", ""), an_agent())


@pytest.mark.proves("AGT-15")
def test_answer_for_a_call_that_never_returned_blocks_nothing(store):
    assert permit_call.defer(store, hold("one", "t1"), an_agent()) is None
    (ask,) = store.asks.pending(9)
    answer_ask.answer(store, ask.id, ADA, Given("yes"))
    assert permit_call.defer(store, hold("two", "t2"), an_agent()) is None
    assert store.asks.get(ask.id).delivered_to.endswith("#gone")


@pytest.mark.proves("AGT-15", "AGT-9", "AGT-12")
def test_deferred_call_obeys_rules_and_gets_messages(store):
    assert permit_call.defer(store, hold("one"), an_agent()) is None
    (ask,) = store.asks.pending(9)
    ask_messages.ask_back(store, ask.id, ADA, "why?")
    assert "why?" in permit_call.defer(store, hold("one"), an_agent()).message
    manage_rules.add(store, ADA, "deny", "", "Bash(two)")
    assert permit_call.defer(store, hold("two"), an_agent()).allow is False


@pytest.mark.proves("AGT-16")
def test_host_questions_are_answered_with_a_persons_words(store, ada):
    ada.will_answer("Which?", "B").will_answer("Where?", {"other": "in the garden"})
    asked = questions("Which?", "Where?")
    decided = permit_call.decide(store, asked, an_agent())
    assert decided.input == {
        **asked.call.input, "answers": {"Which?": "B", "Where?": "in the garden"}
    }  # fmt: skip
    assert decided.allow and [ask.question.prompt for ask in decided.to_take] == [
        "Which?",
        "Where?",
    ]
    assert all(ask.delivered_at is None for ask in decided.to_take)
    assert decided.to_take[0].question.context == {"A": "first", "B": ""}
    ada.will_answer("Several?", ["A", "B"])
    several = permit_call.decide(store, questions("Several?", multiple=True), an_agent())
    assert several.input["answers"] == {"Several?": "A, B"}


@pytest.mark.proves("AGT-16", "AGT-13")
def test_question_answered_in_the_terminal_settles_the_others(store):
    host = PlannedHost(reasons=["answered in the terminal"])
    asked = questions("Which?", "Where?")._replace(host=host, limit_seconds=10.0)
    assert permit_call.decide(store, asked, an_agent()) == Permission(allow=None)
    assert store.asks.pending(9) == []
    asked = asked._replace(host=PlannedHost())
    assert permit_call.decide(store, asked, an_agent()) == Permission(allow=None)
    assert store.asks.pending(9) == [], "no person answered in time"
    # The time of day was set back, so its asks have not expired.
    store.visitors.append(lambda: store.clock.advance(60) or store.clock.jump(-60) or True)
    assert permit_call.decide(store, asked, an_agent()) == Permission(allow=None)
    assert store.asks.pending(9) == []
    nothing = asked._replace(call=make_call("AskUserQuestion", {}, "", ""))
    assert permit_call.decide(store, nothing, an_agent()) == Permission(allow=None)


@pytest.mark.proves("AGT-16", "AGT-12")
def test_person_may_ask_back_about_a_host_question(store, ada):
    manage_rules.add(store, ADA, "deny", "/q", "AskUserQuestion")
    ada.will_ask_back("Which?", "what for?")
    decided = permit_call.decide(store, questions("Which?"), an_agent())
    assert decided.allow is False and "what for?" in decided.message


@pytest.mark.proves("AGT-25", "AGT-26")
def test_notes_and_signals_are_kept_and_decide_nothing(store):
    origin = hold().origin
    notes.tell(store, origin, an_agent(), " half way \n")
    notes.signal(store, origin, an_agent(), "DONE", "all green")
    notes.signal(store, origin, an_agent(), "WAITING_FOR_TEA", "")
    texts = [note.text for note in store.notes.newest(9)]
    assert texts == ["WAITING_FOR_TEA", "DONE: all green", "half way"]
    assert [event.subject for event in events(store, "agent.signalled")] == ["claude/s1"] * 2
    assert [notice.kind for notice in store.outbox.waiting(9)] == ["note"]
    for text in ("", " ", "x" * 8001):
        with pytest.raises(UsageError):
            notes.tell(store, origin, an_agent(), text)
    with pytest.raises(UsageError):
        notes.signal(store, origin, an_agent(), " ", "")


@pytest.mark.proves("AGT-16", "AGT-9")
def test_unknown_or_denied_host_questions_create_no_ask(store):
    for wrong in (
        {"questions": [{}]},
        {"questions": 7},
        {"questions": [{"question": 1, "options": [1]}]},
    ):
        asked = hold()._replace(call=make_call("AskUserQuestion", wrong))
        with pytest.raises(UsageError, match="unknown form"):
            permit_call.decide(store, asked, an_agent())
    manage_rules.add(store, ADA, "deny", "", "AskUserQuestion")
    assert permit_call.decide(store, questions("Which?"), an_agent()).allow is False
    assert store.asks.pending(9) == []
