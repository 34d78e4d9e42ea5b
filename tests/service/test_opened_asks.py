"""Rules of opening an ask, and the names by which it is found."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.support.people import a_person, an_agent
from tests.support.run_records import add_run, ask_of
from tests.support.task_records import add_task, awaiting

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.attachments import Attachment
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.sessions.visits import Terms
from gatebell.errors import NotFoundError, RefusedError, UsageError
from gatebell.services.asks import answer_ask, attachments, create_ask
from gatebell.services.asks.create_ask import MAX_ASSUMED_CHARACTERS, Request
from gatebell.services.stats import read_stats
from gatebell.testing import MemoryStore

ADA = a_person()
GATED = Request("Is it good?", "session", session=Terms("approval"), assume="yes")


@pytest.fixture
def store():
    return MemoryStore()


def ask(store, prompt="Which?", kind="text", origin=None, **more):
    return create_ask.ask(store, Request(prompt, kind, **more), origin or Origin("/p"), ADA).ask


@pytest.mark.proves("BACK-2", "LAW-3")
@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (Request("Deploy?", "approval", assume="yes"), "a yes cannot be assumed"),
        (GATED, "a yes cannot be assumed"),
        (GATED._replace(assume=""), "must wait for a secret, a session or a tool call"),
        (Request("Password?", secret=True, assume=""), "must wait for a secret"),
        (
            Request("Who?", "form", assume="", schema={
                "type": "object", "properties": {"pin": {"type": "string", "writeOnly": True}}}),
            "must wait for a secret",
        ),
        (
            Request("Run?", "approval", assume=" ", call=make_call("Bash", {"command": "ls"})),
            "must wait for a secret, a session or a tool call",
        ),
        (Request("Which?", assume="x" * (MAX_ASSUMED_CHARACTERS + 1)), "longer than 2000 characters"),
    ],
)  # fmt: skip
def test_background_ask_that_could_act_is_refused(store, request_, says):
    with pytest.raises(UsageError, match=says):
        create_ask.ask(store, request_, Origin("/p"), an_agent())
    assert store.asks.count() == 0


@pytest.mark.proves("BACK-1", "BACK-2")
@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        ("text", " I use\ud800 SQLite \n", "I use\ufffd SQLite"),
        ("approval", "  ", ""),
        ("text", None, None),
    ],
)
def test_assumption_is_kept_with_its_ask(store, kind, given, kept):
    asked = ask(store, kind=kind, assume=given)
    assert store.asks.get(asked.id).assume == kept


@pytest.mark.proves("PY-22")
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"confidence": "high"}, "confidence must be a number from 0 to 1"),
        ({"confidence": True}, "confidence must be a number from 0 to 1"),
        ({"confidence": 1.5}, "expected a confidence from 0 to 1"),
        ({"expires_seconds": "1h"}, "must be a number of seconds"),
        ({"assume": 3}, "assume"),
        ({"default": "x"}, "give it a timeout"),
    ],
)
def test_wrong_value_is_refused_before_anything_is_written(store, wrong, says):
    with pytest.raises(UsageError, match=says):
        ask(store, **wrong)
    assert store.audit.head().seq == 0


@pytest.mark.proves("ATT-2", "ATT-5")
def test_files_of_a_question_are_checked(store):
    kept = attachments.attach(store, "a.txt", b"abc")
    with pytest.raises(UsageError, match="takes no attachments"):
        ask(store, secret=True, attachments=(kept,))
    with pytest.raises(UsageError, match="at most 10"):
        ask(store, attachments=(kept,) * 11)
    with pytest.raises(UsageError, match="attach it again"):
        ask(store, attachments=(Attachment("b", "text/plain", 1, "f" * 64),))
    assert store.asks.count() == 0
    asked = ask(store, attachments=(kept,))
    assert attachments.read(store, attachments.find(store, asked, kept.digest)) == b"abc"
    other = attachments.attach(store, "b.txt", b"other")
    with pytest.raises(NotFoundError, match="no such attachment"):
        attachments.find(store, asked, other.digest)


@pytest.mark.proves("ASK-8")
def test_id_of_another_ask_is_not_used_again(store, monkeypatch):
    drawn = [bytes(16), bytes(16), bytes(range(16))]
    monkeypatch.setattr(create_ask.os, "urandom", lambda _: drawn.pop(0))
    first, second = ask(store), ask(store, "And?")
    assert first.id != second.id and drawn == []
    assert store.asks.get(first.id).question.prompt == "Which?"


@pytest.mark.proves("ASK-8")
def test_ask_is_found_by_its_run_or_task(store):
    run = add_run(store)
    with pytest.raises(NotFoundError, match=rf"run {run.id} waits for no answer"):
        create_ask.find(store, str(run.id))
    with pytest.raises(NotFoundError, match="there is no run 99"):
        create_ask.find(store, "99")
    first = ask_of(store, run.id, "1")
    assert create_ask.find(store, str(run.id)) == first
    ask_of(store, run.id, "2", "Another?")
    with pytest.raises(UsageError, match=r"waits for several answers: name one of .*Another\?"):
        create_ask.find(store, str(run.id))
    task, asked = awaiting(store, "Login")
    bare = task.id.removeprefix("tm-")
    for named in (task.id, task.id.upper(), bare, asked.id.upper()):
        assert create_ask.find(store, named) == asked, named
    idle = add_task(store, "Later")
    with pytest.raises(NotFoundError, match=f"{idle.id} waits for no answer .state: open."):
        create_ask.find(store, idle.id)
    with pytest.raises(NotFoundError, match="there is no task tm-zz"):
        create_ask.find(store, "tm-zz")
    for named in (asked.id[:3], ""):
        with pytest.raises(NotFoundError):
            create_ask.find(store, named)


@pytest.mark.proves("ASK-8")
def test_beginning_of_a_task_only_reads(store):
    task, asked = awaiting(store, "Login")
    bare = task.id.removeprefix("tm-")
    for named in (task.id[:4], bare):
        assert create_ask.look_up(store, named) == asked
    with pytest.raises(NotFoundError):
        create_ask.find(store, task.id[:4])
    others = [add_task(store, f"Other {number}") for number in range(2)]
    with pytest.raises(UsageError, match="'tm-' matches tm-"):
        create_ask.look_up(store, "tm-")
    with pytest.raises(NotFoundError, match="waits for no answer"):
        create_ask.look_up(store, others[0].id)
    with pytest.raises(NotFoundError, match="there is no task tm-zzzz"):
        create_ask.look_up(store, "tm-zzzz")


@pytest.mark.proves("CHAT-7")
def test_ways_of_an_answer_need_no_people(store):
    asked = ask(store, requirement={"via": ["web"]})
    with pytest.raises(RefusedError, match="only by web"):
        answer_ask.answer(store, asked.id, ADA, Given("A"))
    web = ADA._replace(via="web")
    assert answer_ask.answer(store, asked.id, web, Given("A"))[1].settled_via == "web"
    with pytest.raises(RefusedError, match="must have a personal token first"):
        ask(store, requirement={"n": 2})


@pytest.mark.proves("LESS-8")
@pytest.mark.parametrize(
    ("days", "says"), [((0, 0), "is empty"), ((-1, 1), "is empty"), ((400, 0), "longer than 366")]
)
def test_period_of_the_numbers_is_bounded(store, days, says):
    now = store.now()
    since, until = (now - timedelta(days=one) for one in days)
    with pytest.raises(UsageError, match=says):
        read_stats(store, since, until)
    assert read_stats(store).until == now, "the end is not in the future"
    assert read_stats(store, until=now + timedelta(days=9)).until == now
