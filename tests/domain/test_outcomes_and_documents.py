"""What askers and machines get back."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from humangate.domain import outcomes
from humangate.domain.answers import Answer
from humangate.domain.asks import Ask, Message, Origin, make_question
from humangate.domain.audit import Entry, Event
from humangate.domain.deadlines import start
from humangate.domain.documents import (
    answer_document,
    ask_document,
    entry_document,
    message_document,
)
from humangate.errors import CancelledError, NotAnsweredError, TimedOutError

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
def test_an_approval_is_true_only_when_approved(status, decision, truth):
    result = outcome("approval", status=status, decision=decision)
    assert isinstance(result, outcomes.Approval)
    assert bool(result) is truth


@pytest.mark.proves("PY-1", "S2-34", "S2-B9")
def test_an_approval_has_a_reason_always():
    assert outcome("approval", status="answered", decision="rejected", note="late").reason == "late"
    assert outcome("approval", status="answered", decision="approved").reason == "approved"
    assert outcome("approval", status="timed_out").reason == "timed out"
    assert outcome("approval", status="answered", decision="rejected").value == "rejected"


@pytest.mark.proves("PY-2", "S0-B19", "S0-6")
@pytest.mark.parametrize("kind", ["choice", "text", "form"])
def test_only_an_approval_can_be_tested_for_truth(kind):
    with pytest.raises(TypeError, match=f"a {kind} is neither"):
        bool(outcome(kind, "No", status="answered"))


@pytest.mark.proves("PY-1", "ASK-3")
def test_a_choice_gives_the_option_or_the_persons_words():
    assert outcome("choice", "A", status="answered").value == "A"
    assert not outcome("choice", "A", status="answered").is_other
    other = outcome("choice", {"other": "mine"}, status="answered")
    assert other.value == "mine" and other.is_other
    several = outcome("choice", ["A", {"other": "mine"}], status="answered")
    assert several.value == ["A", "mine"] and several.is_other


@pytest.mark.proves("PY-2", "ASK-18")
def test_what_nobody_answered_has_no_value_but_its_default():
    assert str(outcome("text", "so", status="answered")) == "so"
    assert outcome("form", {"a": 1}, status="answered").value == {"a": 1}
    assert outcome("text", "default", status="timed_out").value == "default"
    for status, error in (
        ("timed_out", TimedOutError),
        ("cancelled", CancelledError),
        ("pending", NotAnsweredError),
    ):
        with pytest.raises(error):
            _ = outcome("text", status=status).value
    with pytest.raises(CancelledError, match="no reason given"):
        _ = outcome("text", "x", status="cancelled").value
    assert repr(outcome("text", status="pending")) == "<Text a-222 pending>"


@pytest.mark.proves("CLI-3")
def test_the_shapes_that_machines_read():
    question = make_question("choice", "Q", options=("A", "B", "Other…"))
    ask = Ask("a-222", question, Origin(agent="x"), NOW, "d", deadlines=start(NOW, 60))
    document = ask_document(ask)
    assert document["options"] == ["A", "B", "Other…"]
    assert document["expires_at"] == "2026-01-01T00:01:00.000000+00:00"
    assert (document["deadline"], document["status"], document["settled_at"]) == (
        "soft",
        "pending",
        None,
    )
    assert ask_document(ask._replace(deadlines=start(NOW, 60, hard=True)))["deadline"] == "hard"
    bare = ask_document(Ask("a-2", make_question("text", "Q"), Origin(), NOW, "d"))
    assert (bare["deadline"], bare["options"]) == (None, [])
    answer = Answer(
        "a-222", "person:ada", True, "cli", "A", None, "n", NOW, "settled", "", "k", "f"
    )
    assert answer_document(answer)["given_at"] == "2026-01-01T00:00:00.000000+00:00"
    assert not {"key", "fingerprint"} & answer_document(answer).keys()
    assert message_document(Message("a-222", "person:ada", "hi", NOW))["sent_at"].startswith("2026")
    entry = Entry(1, "2026", Event("k", "s", "a", {"c": 1}), "cd", "h", erased=False)
    assert entry_document(entry) == {
        "seq": 1, "at": "2026", "kind": "k", "subject": "s", "actor": "a", "content": {"c": 1},
        "content_digest": "cd", "hash": "h",
    }  # fmt: skip
