"""Valid answers, permitted people, and the answer that settles."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.support.people import a_person, an_agent

from gatebell.domain.asks.answers import (
    DECISIONS,
    Given,
    answer,
    interpret,
    with_default,
)
from gatebell.domain.asks.asks import Ask, Origin, iso, question_digest
from gatebell.domain.asks.documents import token_document
from gatebell.domain.asks.questions import make_question
from gatebell.domain.asks.requirements import Requirement, Vote
from gatebell.domain.people.logins import Token, session_prefix
from gatebell.domain.sessions.visits import Terms
from gatebell.errors import (
    AgentRefusedError,
    AlreadySettledError,
    InvalidAnswerError,
    RefusedError,
    UsageError,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = b"k" * 32


def an_ask(kind="approval", session="", started_by="person:sue", terms=None, **more):
    question = make_question(kind, "Deploy?", session=terms, **more)
    origin = Origin(project="/p", session=session, started_by=started_by, owner="run:1")
    token = "t" if question.secret else ""
    return Ask(
        "a-222", question, origin, NOW, question_digest(question, origin), token_digest=token
    )


def give(ask, value, caller=None, votes=(), **more):
    return answer(ask, votes, caller or a_person(), Given(value, **more), NOW, KEY)


@pytest.mark.proves("ASK-1", "LAW-3", "X-6")
@pytest.mark.parametrize(
    "words",
    ["yes please", "APPROVED - not", "no, yes", "ok", "LGTM", "y e s", "да", "oui", "", " ", "true",
     "1", "approve it", "not approved", "yes\nno", "ｙｅｓ", "👍", 1, None, ["yes"], {"yes": True}],
)  # fmt: skip
def test_only_the_closed_words_decide_an_approval(words):
    verdict = give(an_ask(), words)
    assert isinstance(verdict.error, InvalidAnswerError)
    assert verdict.change is None
    assert verdict.answer.outcome == "refused"
    assert verdict.answer.value == words


@pytest.mark.proves("ASK-1", "X-6")
def test_approval_words_are_read():
    approving, rejecting = ("yes", "y", "approve", "approved"), ("no", "n", "reject", "rejected")
    assert dict.fromkeys(approving, "approved") | dict.fromkeys(rejecting, "rejected") == DECISIONS
    for word, decision in DECISIONS.items():
        assert interpret(an_ask().question, f" {word.upper()} ") == (decision, None)
    assert interpret(an_ask().question, True) == ("approved", None)
    assert interpret(an_ask().question, False) == ("rejected", None)


@pytest.mark.proves("ASK-9", "X-8", "X-9", "X-31")
def test_rejection_is_answered_with_a_reason_and_a_name():
    change = give(an_ask(), "no", note="not on a Friday").change
    after = change.ask
    assert (after.status, after.decision, after.note) == ("answered", "rejected", "not on a Friday")
    assert (after.settled_by, after.settled_via, after.settled_at) == ("person:ada", "cli", NOW)
    assert after.value is None
    assert after.version == 2
    assert give(an_ask("text"), "x").change.ask.decision is None
    assert (Given("x").note, Given("x").key, give(an_ask(), "no").answer.reason) == ("", "", "")


@pytest.mark.proves("ASK-28", "LAW-9", "ASK-29")
def test_settling_wakes_the_owner_and_writes_outbox_and_audit():
    verdict = give(an_ask(), "yes", note="go")
    assert verdict.change.wakes == ("run:1",)
    assert [(notice.kind, notice.ask_id) for notice in verdict.change.notices] == [
        ("settled", "a-222")
    ]
    (event,) = verdict.change.events
    assert (event.kind, event.subject, event.actor) == ("ask.answered", "a-222", "person:ada")
    assert event.content == {
        "decision": "approved", "value": None, "note": "go", "via": "cli",
        "verified": False, "at": "2026-01-01T00:00:00.000000+00:00", "evidence": {"uid": 1000},
    }  # fmt: skip
    assert verdict.answer.outcome == "settled"


@pytest.mark.proves("ASK-2", "S0-7", "S1-B15")
def test_choice_takes_one_of_its_options():
    question = an_ask("choice", options=("Red", "Blue", "blue ")).question
    assert interpret(question, "Red") == (None, "Red")
    assert interpret(question, "red") == (None, "Red")
    assert interpret(question, ["Blue"]) == (None, "Blue")
    for wrong in ("Green", "", "1", ["Red", "Blue"], [], {"other": "x"}, None, 3):
        with pytest.raises(InvalidAnswerError):
            interpret(question, wrong)


@pytest.mark.proves("ASK-2")
def test_options_that_differ_in_case_must_be_exact():
    question = an_ask("choice", options=("go", "GO")).question
    assert interpret(question, "GO") == (None, "GO")
    with pytest.raises(InvalidAnswerError, match=r"the options are 'go', 'GO'$"):
        interpret(question, "Go")


@pytest.mark.proves("ASK-2")
def test_several_options_are_chosen_each_once():
    question = an_ask("choice", options=("A", "B", "C"), multiple=True).question
    assert interpret(question, ["A", "c"]) == (None, ["A", "C"])
    assert interpret(question, "A") == (None, ["A"])
    for wrong in ([], ["A", "A"], ["A", "D"]):
        with pytest.raises(InvalidAnswerError):
            interpret(question, wrong)


@pytest.mark.proves("ASK-3", "S1-20", "X-5")
@pytest.mark.parametrize("spelling", ["Other…", "other...", "Other"])
def test_other_carries_words(spelling):
    question = an_ask("choice", options=("A", spelling)).question
    assert question.options == ("A",) and question.other
    assert interpret(question, {"other": "mine"}) == (None, {"other": "mine"})
    for wrong in ({"other": " "}, {"other": 3}, spelling):
        with pytest.raises(InvalidAnswerError):
            interpret(question, wrong)


@pytest.mark.proves("ASK-4")
def test_text_is_not_empty():
    question = an_ask("text").question
    assert interpret(question, " hi ") == (None, " hi ")
    for wrong in ("", " \n", None, 3, ["x"]):
        with pytest.raises(InvalidAnswerError):
            interpret(question, wrong)


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.proves("ASK-5", "ASK-6")
def test_form_fits_its_schema():
    question = an_ask("form", schema=SCHEMA).question
    assert interpret(question, {"n": 3}) == (None, {"n": 3})
    with pytest.raises(InvalidAnswerError, match='n: expected a whole number, got "x"'):
        interpret(question, {"n": "x"})
    with pytest.raises(InvalidAnswerError, match=r"the form: \w+: is missing"):
        interpret(question, {})


@pytest.mark.proves("ASK-18", "LAW-3")
def test_default_is_checked_like_an_answer_and_never_approves():
    assert with_default(an_ask("choice", options=("A", "B")).question, "b").default == "B"
    assert with_default(an_ask("text").question, None).default is None
    with pytest.raises(UsageError, match="does not answer"):
        with_default(an_ask("choice", options=("A", "B")).question, "C")
    for gate in (an_ask("approval"), an_ask("session", terms=Terms("text"))):
        with pytest.raises(UsageError, match="a timeout never decides"):
            with_default(gate.question, "yes")
    with pytest.raises(UsageError, match="a secret cannot have a default"):
        with_default(an_ask("text", secret=True).question, "x")
    with pytest.raises(UsageError, match="not a valid JSON Schema"):
        with_default(an_ask("form", schema={"type": "nonsense"}).question, None)


@pytest.mark.proves("ASK-23", "LAW-2", "S3-B13")
def test_late_answer_is_kept_and_names_the_winner():
    after = give(an_ask(), "yes").change.ask
    verdict = give(after, "no", a_person("bob"), note="stop!")
    assert isinstance(verdict.error, AlreadySettledError)
    assert "already answered by person:ada at 2026-01-01 00:00:00 UTC (approved)" in str(
        verdict.error
    )
    assert (verdict.answer.outcome, verdict.answer.note) == ("late", "stop!")
    assert verdict.events[0].kind == "answer.refused"
    assert verdict.events[0].content["reason"] == str(verdict.error)


@pytest.mark.proves("ASK-27", "LAW-4")
def test_answer_is_bound_to_the_shown_ask():
    ask = an_ask()
    assert give(ask, "yes", digest=ask.digest).error is None
    verdict = give(ask, "yes", digest="0" * 64)
    assert isinstance(verdict.error, RefusedError) and verdict.change is None


@pytest.mark.proves("WHO-2", "LAW-3", "X-16")
@pytest.mark.parametrize("terms", [None, Terms("approval"), Terms("text")])
def test_agent_cannot_answer_an_approval(terms):
    ask = an_ask("session" if terms else "approval", terms=terms)
    verdict = give(ask, "yes", an_agent())
    assert isinstance(verdict.error, AgentRefusedError)
    assert "CLAUDECODE" in str(verdict.error) and "--as NAME" in str(verdict.error)
    assert verdict.answer.principal == "agent:claude/s1"
    assert verdict.events[0].actor == "agent:claude/s1"


@pytest.mark.proves("WHO-3")
def test_personal_token_is_accepted_from_an_agent_shell():
    caller = an_agent()._replace(verified=True)
    verdict = give(an_ask(), "yes", caller)
    assert verdict.error is None and verdict.change.ask.settled_by == "person:ada"
    assert verdict.events[0].content["verified"] is True


@pytest.mark.proves("WHO-4", "WHO-5", "S3-B20")
def test_agent_may_answer_another_session_under_its_own_name():
    ask = an_ask("text", session="claude/s1")
    assert give(ask, "use tabs", an_agent("s2")).change.ask.settled_by == "agent:claude/s2"
    assert give(ask, "use tabs", an_agent("s1", "codex")).error is None
    verdict = give(ask, "use tabs", an_agent("s1"))
    assert isinstance(verdict.error, AgentRefusedError) and "which cannot answer it" in str(
        verdict.error
    )


@pytest.mark.proves("ASK-10", "ASK-11", "LAW-2")
def test_votes_are_counted_until_the_requirement_is_fulfilled():
    ask = an_ask(requirement=Requirement(n=2, of=("ada", "bob")))
    first = give(ask, "yes", a_person(verified=True))
    assert (first.answer.outcome, first.change.ask.status) == ("counted", "pending")
    assert first.change.ask.version == 2 and first.events[0].kind == "ask.voted"
    votes = [Vote("person:ada", "approved")]
    second = give(ask, "yes", a_person("bob", verified=True), votes)
    assert second.change.ask.decision == "approved"
    again = give(ask, "yes", a_person(verified=True), votes)
    assert again.change.ask.pending


@pytest.mark.proves("ASK-10", "ASK-14")
def test_claimed_name_is_insufficient_for_a_requirement():
    ask = an_ask(requirement=Requirement(n=2, of=("ada", "bob")))
    verdict = give(ask, "yes", a_person())
    assert isinstance(verdict.error, RefusedError) and "personal token" in str(verdict.error)
    assert give(ask, "yes", a_person("eve", verified=True)).error


@pytest.mark.proves("ASK-30", "LAW-6")
def test_secret_is_only_in_its_own_place():
    verdict = give(an_ask("text", secret=True), "hunter2", key="k1")
    assert verdict.secret == "hunter2"
    assert "hunter2" not in repr(verdict._replace(secret=None))
    assert list(verdict.answer.value) == ["secret"] and verdict.answer.fingerprint == ""
    assert verdict.change.ask.value == verdict.answer.value
    other = answer(an_ask("text", secret=True), (), a_person(), Given("hunter2"), NOW, b"x" * 32)
    assert other.answer.value != verdict.answer.value


@pytest.mark.proves("ASK-32")
def test_fields_marked_write_only_are_hidden():
    schema = {"type": "object", "properties": {"user": {}, "pass": {"writeOnly": True}}}
    verdict = give(an_ask("form", schema=schema), {"user": "ada", "pass": "hunter2"})
    assert verdict.secret == {"user": "ada", "pass": "hunter2"}
    assert verdict.change.ask.value["user"] == "ada"
    assert list(verdict.change.ask.value["pass"]) == ["secret"]
    assert "hunter2" not in repr(verdict._replace(secret=None))
    with pytest.raises(UsageError, match="a secret cannot have a default"):
        with_default(an_ask("form", schema=schema).question, {"user": "x"})


@pytest.mark.proves("ASK-32", "ASK-6")
@pytest.mark.parametrize("value", [{"pass": "hunter2"}, '{"pass": "hunter2"', ["hunter2"]])
def test_nothing_of_a_refused_secret_is_kept_or_said(value):
    schema = {
        "type": "object",
        "properties": {"pass": {"type": "string", "writeOnly": True, "minLength": 30}},
    }
    verdict = give(an_ask("form", schema=schema), value)
    assert isinstance(verdict.error, InvalidAnswerError)
    assert "hunter2" not in repr(verdict) and "does not fit" in str(verdict.error)
    late = give(an_ask("form", schema=schema)._replace(status="cancelled", token_digest="t"), value)
    assert "hunter2" not in repr(late) and "kept" not in str(late.error)


@pytest.mark.proves("ASK-22")
def test_fingerprint_distinguishes_a_retry_from_another_answer():

    def fingerprint(value, note, key="k"):
        return give(an_ask("text"), value, note=note, key=key).answer.fingerprint

    assert fingerprint("a", "n") == fingerprint("a", "n")
    assert len({fingerprint("a", "n"), fingerprint("a", "m"), fingerprint("b", "n")}) == 3
    assert fingerprint("a", "n", key="") == ""


@pytest.mark.proves("LAW-3")
def test_asker_with_a_token_cannot_answer_with_it():
    ask = an_ask("text", session=f"{session_prefix('tk-1')}s")
    caller = a_person("sue", verified=True)._replace(token_id="tk-1")
    verdict = answer(ask, (), caller, Given("me"), NOW, b"k" * 32)
    assert isinstance(
        verdict.error, AgentRefusedError
    ) and "with this token, which cannot answer" in str(verdict.error)
    document = token_document(Token("tk-1", "sue", made_at=NOW))
    assert (document["id"], document["made_at"]) == ("tk-1", iso(NOW))
