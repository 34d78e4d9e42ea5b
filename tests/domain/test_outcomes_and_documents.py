"""Results for askers and programs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gatebell.domain.asks import outcomes
from gatebell.domain.asks.answers import Answer
from gatebell.domain.asks.asks import Ask, Message, Origin
from gatebell.domain.asks.deadlines import start
from gatebell.domain.asks.documents import (
    answer_document,
    ask_document,
    call_document,
    entry_document,
    message_document,
    run_document,
    turn_document,
    visit_document,
)
from gatebell.domain.asks.questions import make_question
from gatebell.domain.audit.events import Entry, Event
from gatebell.domain.runs import run_xml
from gatebell.domain.runs.runs import FlowCall, Run, Turn
from gatebell.domain.sessions.visits import Terms, Visit
from gatebell.errors import AskCancelledError, AskExpiredError, NotAnsweredError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def outcome(kind, value=None, **state):
    options = ("A", "B", "Other…") if kind == "choice" else ()
    question = make_question(kind, "Q", options=options, schema={} if kind == "form" else None)
    ask = Ask("a-222", question, Origin(), NOW, "d", value=value, **state)
    return outcomes.outcome(ask, value)


@pytest.mark.proves("PY-1", "PY-2", "LAW-3")
@pytest.mark.parametrize(
    ("status", "decision", "truth"),
    [("answered", "approved", True), ("answered", "rejected", False), ("timed_out", None, False),
     ("cancelled", None, False), ("pending", None, False), ("timed_out", "approved", False)],
)  # fmt: skip
def test_approval_is_true_only_when_approved(status, decision, truth):
    result = outcome("approval", status=status, decision=decision)
    assert isinstance(result, outcomes.Approval)
    assert bool(result) is truth


@pytest.mark.proves("PY-1")
def test_approval_always_has_a_reason():
    assert outcome("approval", status="answered", decision="rejected", note="late").reason == "late"
    assert outcome("approval", status="answered", decision="approved").reason == "approved"
    assert outcome("approval", status="timed_out").reason == "timed out"
    assert outcome("approval", status="answered", decision="rejected").value == "rejected"


@pytest.mark.proves("S2-35")
def test_approval_has_the_message_of_its_person():
    approved = outcome("approval", status="answered", decision="approved", note="but gently")
    assert (approved.message, approved.reason) == ("but gently", "but gently")
    assert outcome("approval", status="answered", decision="approved").message == ""


@pytest.mark.proves("PY-2", "S0-B19", "S0-6")
@pytest.mark.parametrize("kind", ["choice", "text", "form"])
def test_only_an_approval_can_be_tested_for_truth(kind):
    with pytest.raises(TypeError, match=f"a {kind} is neither"):
        bool(outcome(kind, "No", status="answered"))


@pytest.mark.proves("PY-1", "ASK-3")
def test_choice_gives_the_option_or_the_persons_words():
    assert outcome("choice", "A", status="answered").value == "A"
    assert not outcome("choice", "A", status="answered").is_other
    other = outcome("choice", {"other": "mine"}, status="answered")
    assert other.value == "mine" and other.is_other
    several = outcome("choice", ["A", {"other": "mine"}], status="answered")
    assert several.value == ["A", "mine"] and several.is_other


@pytest.mark.proves("PY-2", "ASK-18")
def test_unanswered_ask_has_no_value_but_its_default():
    assert outcome("text", "so", status="answered").value == "so"
    assert outcome("form", {"a": 1}, status="answered").value == {"a": 1}
    assert type(outcome("form", {"a": 1}, status="answered")) is outcomes.Form
    assert outcome("text", "default", status="timed_out").value == "default"
    for status, error in (
        ("timed_out", AskExpiredError),
        ("cancelled", AskCancelledError),
        ("pending", NotAnsweredError),
    ):
        with pytest.raises(error):
            _ = outcome("text", status=status).value
    with pytest.raises(AskCancelledError, match="no reason given"):
        _ = outcome("text", "x", status="cancelled").value
    assert repr(outcome("text", status="pending")) == "<Text a-222 pending>"


AT = "2026-01-01T00:00:00.000000+00:00"


@pytest.mark.proves("CLI-3")
def test_ask_document_has_every_field():
    question = make_question(
        "choice", "Q", context={"c": 1}, options=("A", "B", "Other…"), multiple=True
    )
    origin = Origin("/p", "/p/x", "coder", "claude/1", "t1", "person:sue", "run:1")
    ask = Ask(
        "a-222", question._replace(default=["A"]), origin, NOW, "d" * 64, 1, 0.5, "much", "",
        start(NOW, 60), "answered", None, ["B"], "n", NOW, "person:ada", "cli", NOW, "agent:claude/1",
    )  # fmt: skip
    assert ask_document(ask) == {
        "id": "a-222", "kind": "choice", "prompt": "Q", "context": {"c": 1}, "activity": "much",
        "options": ["A", "B", "Other…"], "multiple": True, "schema": None, "default": ["A"], "secret": False,
        "answered_as": "choice", "terms": None, "call": None, "tool_use_id": "t1",
        "attachments": [], "answer_attachments": [],
        "requirement": {"n": 1, "of": (), "veto": (), "not_author": False, "reject": 1},
        "priority": 1, "confidence": 0.5, "digest": "d" * 64, "project": "/p", "cwd": "/p/x", "agent": "coder",
        "session": "claude/1", "started_by": "person:sue", "owner": "run:1", "task": "", "opened_at": AT,
        "expires_at": "2026-01-01T00:01:00.000000+00:00", "deadline": "soft", "status": "answered",
        "decision": None, "value": ["B"], "note": "n", "settled_at": AT, "settled_by": "person:ada",
        "settled_via": "cli", "delivered_at": AT, "delivered_to": "agent:claude/1", "project_key": "",
        "timing": {
            "hard": False, "moved_seconds": 0.0, "remind_every_seconds": None, "remind_at": None,
            "escalations": [], "escalated": 0, "escalate_at": None,
        },
        "hidden": False, "asked_back": 0, "heard": 0, "version": 1, "deferred": False, "assume": None,
    }  # fmt: skip
    hard = ask_document(ask._replace(deadlines=start(NOW, 60, hard=True)))
    bare = ask_document(Ask("a-2", make_question("text", "Q"), Origin(), NOW, "d"))
    assert (hard["deadline"], bare["deadline"], bare["options"], bare["expires_at"]) == (
        "hard",
        None,
        [],
        None,
    )
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    assert all(f"`{field}`" in page for field in bare)


@pytest.mark.proves("SES-107", "CLI-3")
def test_every_field_of_a_session_is_described():
    visit = visit_document(Visit("t-1", "a-1", 1, "person:ada", "claude", "s1", "b/1/2", NOW))
    assert (visit["started_at"], visit["ended_at"]) == (AT, None)
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    about_asks, _, rest = page.partition("## A run")
    about_plans = rest.partition("## A plan")[2]
    assert [name for name in Terms._fields if f"`{name}`" not in about_asks] == []
    about_visits = about_asks.partition("`visits`")[2]
    assert [name for name in visit if f"`{name}`" not in about_visits] == []
    ask = Ask(
        "a-1", make_question("session", "Q", session=Terms()), Origin(owner="run:1/1"), NOW, ""
    )
    call = FlowCall(1, "1", "ask", "Q", "d", NOW)
    run = Run(1, "f", "f.py", "d", "p", "/p", "person:ada", NOW)
    told = run_xml.plan(run, [call], [], [ask])["calls"][0]["interactions"][0]
    fields = [*told, *told["session"]]
    assert [name for name in fields if f"`{name}`" not in about_plans] == []


@pytest.mark.proves("RUN-337", "CLI-3")
def test_every_field_of_a_run_is_described():
    run = run_document(Run(1, "f", "f.py", "d", "p", "/p", "person:ada", NOW, waiting_since=NOW))
    call = call_document(FlowCall(1, "1", "run", "coder", "d", NOW))
    turn = turn_document(Turn("t", 1, "1", 1, "coder", "claude", "s", "sent", NOW))
    assert (run["created_at"], run["waiting_since"], run["ended_at"]) == (AT, AT, None)
    assert (call["started_at"], turn["started_at"], turn["ended_at"]) == (AT, AT, None)
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    about_runs, _, rest = page.partition("## A run")[2].partition("## Events of a run")
    about_calls, _, about_turns = rest.partition("## A plan")[0].partition("`turns`")
    described = ((about_runs, run), (about_calls, call), (about_turns, turn))
    for about, document in described:
        assert [field for field in document if f"`{field}`" not in about] == []


@pytest.mark.proves("CLI-3")
def test_answers_messages_and_events_have_their_fields():
    answer = Answer(
        "a-222", "person:ada", True, "cli", "A", None, "n", NOW, "settled", "", "k", "f"
    )
    assert answer_document(answer) == {
        "ask_id": "a-222", "principal": "person:ada", "verified": True, "via": "cli", "value": "A",
        "decision": None, "note": "n", "given_at": AT, "outcome": "settled", "reason": "",
        "attachments": [],
    }  # fmt: skip
    message = message_document(Message("a-222", "person:ada", True, "hi", NOW))
    assert message == {
        "ask_id": "a-222",
        "author": "person:ada",
        "by_asker": True,
        "text": "hi",
        "sent_at": AT,
    }
    entry = Entry(1, "2026", Event("k", "s", "a", {"c": 1}), "cd", "h", erased=False)
    assert entry_document(entry) == {
        "seq": 1, "at": "2026", "kind": "k", "subject": "s", "actor": "a", "content": {"c": 1},
        "content_digest": "cd", "hash": "h",
    }  # fmt: skip


@pytest.mark.proves("CLI-1")
def test_answer_is_shown_as_plain_text():
    text = Ask("a-2", make_question("text", "Q"), Origin(), NOW, "d")
    choice = Ask("a-2", make_question("choice", "Q", options=("A", "B")), Origin(), NOW, "d")
    form = Ask("a-2", make_question("form", "Q", schema={}), Origin(), NOW, "d")
    assert outcomes.answer_text(text, "words") == "words"
    assert outcomes.answer_text(text, None) == "null"
    assert outcomes.answer_text(text, {"secret": "digest"}) == "(secret)"
    assert outcomes.answer_text(choice, ["A", {"other": "C"}]) == "A\nC"
    assert outcomes.answer_text(form, {"ü": 1}) == '{"ü": 1}'
