"""Runs and tasks are read back from the JSON of a server; other domain words of remote faces."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from gatebell.domain.arguments import must_be_text
from gatebell.domain.asks.answers import Answer
from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.attachments import Attachment
from gatebell.domain.asks.document_reader import read_ask
from gatebell.domain.asks.documents import (
    ask_document,
    call_document,
    run_document,
    task_document,
    turn_document,
)
from gatebell.domain.asks.gone_askers import describe_background, describe_kept_answer
from gatebell.domain.asks.messages import warn_of_silence
from gatebell.domain.asks.owners import name_of_run
from gatebell.domain.asks.questions import make_question
from gatebell.domain.audit.events import Entry, Event
from gatebell.domain.enums import AnswerOutcome, AskStatus, TaskState
from gatebell.domain.freezes import Freeze, freeze_document, read_freeze
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.permissions.past_calls import (
    CallOutcome,
    Pattern,
    Suggestion,
    replay,
    suggestion_document,
)
from gatebell.domain.runs.runs import FlowCall, Run, Turn
from gatebell.domain.runs.seen_runs import SeenRun, TaskEnd, read_seen_run, seen_run_document
from gatebell.domain.tasks.seen_tasks import (
    Exchange,
    OpenQuestion,
    RelatedTask,
    SeenTask,
    TaskEvent,
    TaskEvents,
    TaskRun,
    WholeTask,
    events_document,
    read_task_events,
    read_whole_task,
    whole_document,
)
from gatebell.domain.tasks.task_reader import read_task
from gatebell.domain.tasks.tasks import Task
from gatebell.errors import UsageError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.proves("REMOTE-15")
def test_run_is_read_back_from_its_document():
    run = Run(1, "f", "f.py", "d", "p", "/p", "person:ada", NOW, waiting_since=NOW)
    call = FlowCall(1, "1", "run", "coder", "d", NOW)
    turn = Turn("t-1", 1, "1", 1, "coder", "claude", "s1", "Do it", NOW)
    end = TaskEnd(TaskState.DEFERRED, "not now", "person:ada")
    told = SeenRun(run, ("a-1",), ("Which?",), ("a-1",), "Login", end)
    journal = {"calls": [call_document(call)], "turns": [turn_document(turn)]}
    seen = read_seen_run(json.loads(json.dumps(seen_run_document(told) | journal)))
    assert seen_run_document(seen) == seen_run_document(told) and seen.turns == (turn,)
    assert (seen.name, seen.end.description) == (": Login", "by person:ada: not now")
    assert (seen.run.id, seen.run.state, seen.run.waiting_since) == (1, run.state, NOW)
    assert seen.asks == ("a-1",) and [(one.name, one.started_at) for one in seen.calls] == [
        ("run", NOW)
    ]
    assert run_document(seen.run) == run_document(run) and run.name == name_of_run(1)


@pytest.mark.proves("REMOTE-17")
def test_task_is_read_back_from_its_document():
    task = Task("tm-1", "Login", "/p", created_by="person:ada", created_at=NOW, updated_at=NOW)
    assert task_document(read_task(json.loads(json.dumps(task_document(task))))) == task_document(
        task
    )


@pytest.mark.proves("REMOTE-61")
def test_whole_task_is_read_back_from_its_document():
    task = Task("tm-1", "Login", "/p", created_by="person:ada", created_at=NOW, updated_at=NOW)
    asked = OpenQuestion("a-1", "Which?", {"a": 1}, NOW, ("x", "y"))
    seen = SeenTask(task, (asked,), (RelatedTask("tm-2", TaskState.OPEN, "Other"),))
    answer = Answer(
        "a-1", "person:ada", True, "cli", "x", None, "", NOW, AnswerOutcome.SETTLED, "", "", ""
    )
    exchange = Exchange("a-1", 1, NOW, "Which?", None, AskStatus.ANSWERED, "x", "", "me", NOW)
    run = TaskRun(1, "closed", "task/tm-1", "/w", completed=True)
    history = ((exchange, (answer,)), (exchange._replace(answered_at=None), ()))
    whole = WholeTask(seen, "agent:x", history, (run,), ("tm-2",), ("tm-3",), ("tm-4",))
    back = read_whole_task(json.loads(json.dumps(whole_document(whole))))
    assert back == whole and back.task == task
    events = TaskEvents(
        7,
        [
            TaskEvent(
                Entry(7, "t", Event("task.closed", "tm-1", "me", {}), "d", "h", erased=False),
                "done",
            )
        ],
    )
    assert read_task_events(json.loads(json.dumps(events_document(events)))) == events


@pytest.mark.proves("FLT-21", "FLT-27")
def test_kept_answer_says_how_it_is_used():
    call = make_call("Bash", {"command": "ls"})
    plain = Ask("a-1", make_question("text", "Q"), Origin(), NOW, "d")
    held = plain._replace(question=make_question("approval", "Q", call=call))
    assert "gate wait a-1" in describe_kept_answer(plain)
    assert "same call again" in describe_kept_answer(held)
    assert "--token-file" in describe_kept_answer(plain._replace(token_digest="t"))


@pytest.mark.proves("PY-22")
def test_class_in_place_of_a_text_is_named():
    with pytest.raises(UsageError, match="prompt must be a text, got the class int"):
        must_be_text(int, "prompt")


@pytest.mark.proves("REMOTE-15")
def test_run_with_a_question_too_few_is_refused():
    run = Run(1, "f", "f.py", "d", "p", "/p", "person:ada", NOW)
    document = seen_run_document(SeenRun(run, ("a-1",), ("Which?",))) | {"questions": []}
    with pytest.raises(ValueError, match="a question"):
        read_seen_run(document)


@pytest.mark.proves("BACK-2")
def test_assumption_of_a_background_ask_is_described():
    ask = Ask("a-1", make_question("text", "Q"), Origin(), NOW, "d")
    said = [describe_background(ask._replace(assume=one)) for one in (None, "", "SQLite")]
    assert said == ["", "It does not wait for the answer", "It goes on with: SQLite"]


@pytest.mark.proves("WEB-42")
@pytest.mark.parametrize(
    ("session", "warns"),
    [("", True), ("http-x/", True), ("http-x/s1", False), ("claude/s1", False)],
)
def test_person_who_asks_a_program_back_is_warned(session, warns):
    ask = Ask("a-1", make_question("text", "Q"), Origin(session=session), NOW, "d")
    said = warn_of_silence(ask)
    assert bool(said) == warns and ("gate answer a-1 VALUE --note TEXT" in said) == warns


@pytest.mark.proves("FREEZE-9")
@pytest.mark.parametrize(
    "freeze", [None, Freeze("person:ada", NOW, "Look first"), Freeze("x", NOW)]
)
def test_freeze_is_read_back_from_its_document(freeze):
    document = json.loads(json.dumps(freeze_document(freeze)))
    assert document["frozen"] == (freeze is not None) and read_freeze(document) == freeze
    assert (document["by"], document["reason"]) == (
        (freeze.made_by, freeze.reason) if freeze else (None, "")
    )


@pytest.mark.proves("ATT-16", "REMOTE-15")
def test_question_with_files_is_read_back_from_its_document():
    files = (Attachment("a.png", "image/png", 3, "d" * 64),)
    asked = make_question("text", "Q", attachments=files)
    ask = Ask("a-1", asked, Origin(), NOW, "d")
    back = read_ask(json.loads(json.dumps(ask_document(ask))))
    assert back.question.attachments == files


@pytest.mark.proves("LESS-9")
def test_suggestion_names_its_past_asks():
    found = replay(Pattern("Bash(ls)", "/p"), [])
    assert suggestion_document(Suggestion(Pattern("Bash(ls)", "/p"), found)) == {
        "pattern": "Bash(ls)",
        "project": "/p",
        "decided": dict.fromkeys(map(str, CallOutcome), 0),
        "ask_id": "",
    }
