"""Backlogs as JSON lines."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest

from gatebell.domain.tasks import backlog_jsonl
from gatebell.domain.tasks.tasks import Task
from gatebell.errors import UsageError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WHOLE = {
    "id": "tm-0li",
    "title": "Add login — 日本 ❓",
    "description": "With JWT",
    "state": "closed",
    "role": "code",
    "priority": 1,
    "size": "small",
    "type": "bug",
    "dependencies": ["tm-abc"],
    "parent": "tm-xyz",
    "summary": "Done",
    "details": "All of it",
    "status": "merged",
    "confidence": 0.5,
    "branch": "task/tm-0li",
    "sessionId": "s-1",
    "testCommand": "make test",
    "isSystem": True,
    "createdAt": "2026-01-01T09:00:00.000000+00:00",
    "updatedAt": "2026-01-02T09:00:00.000000+00:00",
    "closedAt": "2026-01-02T09:00:00.000000+00:00",
    "question": "JWT?",
    "questionContext": "or cookies",
    "humanResponse": "JWT",
    "humanRespondedAt": "2026-01-01T10:00:00Z",
    "onTimeout": "fail",
    "answerWithinSeconds": 60.0,
    "whateverElse": {"a": [1]},
}


def as_task(line):
    needs = {"needs": line.needs, "parent": line.parent}
    return Task(line.id, "", "/p", line.created_at, NOW, "person:ada")._replace(
        **line.fields, **needs
    )


def read_refusal(text):
    with pytest.raises(UsageError) as caught:
        backlog_jsonl.read(text)
    return str(caught.value)


def one(**record):
    return backlog_jsonl.read(json.dumps({"title": "T", **record}))[0]


@pytest.mark.proves("TASK-70", "S3-P1", "S3-P2", "S3-87")
def test_line_is_returned_unchanged_with_all_its_keys():
    (line,) = backlog_jsonl.read(json.dumps(WHOLE))
    task = as_task(line)
    at = datetime(2026, 1, 1, 9, tzinfo=UTC)
    then = datetime(2026, 1, 2, 9, tzinfo=UTC)
    others = ("sessionId", "isSystem", "question", "questionContext", "humanResponse")
    assert task == Task(
        "tm-0li", "Add login — 日本 ❓", "/p", at, then, "person:ada", description="With JWT",
        state="closed", role="code", priority=1, size="small", type="bug", needs=("tm-abc",),
        parent="tm-xyz", summary="Done", details="All of it", status="merged", confidence=0.5,
        branch="task/tm-0li", test_command="make test", closed_at=then, answer_within_seconds=60.0,
        on_timeout="fail",
        more={name: WHOLE[name] for name in (*others, "humanRespondedAt", "whateverElse")},
    )  # fmt: skip
    written = backlog_jsonl.written(task, {})
    assert json.loads(written) == WHOLE and "日本 ❓" in written
    assert list(json.loads(written)) == list(WHOLE)


@pytest.mark.proves("TASK-70")
def test_newer_question_replaces_the_one_of_the_file():
    (line,) = backlog_jsonl.read(json.dumps(WHOLE))
    said = {"question": "Which key?", "sessionId": "s-2"}
    record = json.loads(backlog_jsonl.written(as_task(line), said))
    answer = ("questionContext", "humanResponse", "humanRespondedAt")
    assert record == {name: WHOLE[name] for name in WHOLE if name not in answer} | said


@pytest.mark.proves("TASK-71", "S3-P2")
def test_lines_and_arrays_are_read_and_need_only_titles():
    text = '\ufeff{"title": "A"}\r\n\n  {"title": "B", "description": null}\n'
    assert [(line.where, line.title) for line in backlog_jsonl.read(text)] == [
        ("line 1", "A"),
        ("line 3", "B"),
    ]
    array = backlog_jsonl.read('[\n{"title": "A"},\n{"title": "B"}]')
    assert [line.where for line in array] == ["task 1", "task 2"]
    assert backlog_jsonl.read("") == [] and one().created_at is None
    assert one().fields["state"] == "open" and "priority" not in one().fields
    bare = Task("tm-abc", "T", "/p", NOW, NOW, "person:ada")
    assert set(json.loads(backlog_jsonl.written(bare, {}))) == {
        *("id", "title", "description", "state", "role", "priority", "size", "type"),
        *("dependencies", "createdAt", "updatedAt"),
    }


@pytest.mark.proves("TASK-71")
def test_ids_of_three_or_more_plain_characters_are_kept():
    assert one(id="tm-0li").id == one(id="TM-0LI").id == "tm-0li" and one(id="tm-abcd1").id
    assert [one(id=name).id for name in ("tm-ab", "bd-abc", "tm-a c", "", "tm-é23")] == [""] * 5
    assert one(dependencies=["TM-ABC", "tm-abc"]).needs == ("tm-abc",)


@pytest.mark.proves("TASK-72")
def test_task_in_progress_starts_again_with_a_remark():
    for state in ("in_progress", "awaiting_input"):
        line = one(state=state, question="Q?", humanResponse="A")
        assert line.fields["state"] == "open" and state in line.remark
        assert line.fields["more"] == {"question": "Q?", "humanResponse": "A"}
    assert one(state="failed").fields["state"] == "failed" and not one(state="failed").remark


@pytest.mark.proves("TASK-71")
def test_numbers_at_their_limits_are_read():
    assert [one(confidence=sure).fields["confidence"] for sure in (0, 0.5, 1)] == [0.0, 0.5, 1.0]
    assert one(answerWithinSeconds=10**9).fields["answer_within_seconds"] == 1e9


@pytest.mark.proves("TASK-71")
def test_times_are_read_with_or_without_a_zone(monkeypatch):
    at = datetime(2026, 1, 1, 9, tzinfo=UTC)
    # The time zone of the machine makes no difference.
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        assert one(createdAt="2026-01-01T09:00:00").created_at == at
    time.tzset()
    for text in ("2026-01-01T09:00:00Z", "2026-01-01T09:00:00", "2026-01-01T10:00:00+01:00"):
        assert one(createdAt=text).created_at == at
    assert one(state="closed", createdAt="2026-01-01T09:00:00Z").fields["closed_at"] == at
    assert "closed_at" not in one(createdAt="2026-01-01T09:00:00Z").fields


@pytest.mark.proves("TASK-73", "LAW-10")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"title": "A"}\n{"title": ', "line 2: this is not JSON"),
        ('{"title": "A"}\n\nnonsense', "line 3: this is not JSON"),
        ('[{"title": "A"},\n{"title": 7}]', "task 2: expected a text for title, got 7"),
        ('[{"title": "A"},\n{', "line 2: this is not JSON"),
        ("7", "line 1: expected a JSON object"),
        ('{"description": "x"}', "line 1: the title is missing: add one"),
        ('{"title": "  "}', "line 1: the title is missing: add one"),
        (
            '{"title": "A", "priority": 9}',
            "line 1: a priority is urgent, high, normal, low or backlog, or P0 to P4, got '9'",
        ),
        ('{"title": "A", "priority": true}', "or P0 to P4, got 'true'"),
        (
            '{"title": "A", "state": "done"}',
            "line 1: expected a state from open, in_progress, awaiting_input, blocked, deferred, failed, closed, got 'done'",
        ),
        (
            '{"title": "A", "answerWithinSeconds": 1000000001}',
            "for answerWithinSeconds, got 1000000001",
        ),
        ('{"title": "A", "dependencies": "tm-abc"}', "a list of ids for dependencies"),
        ('{"title": "A", "dependencies": [7]}', "a list of ids for dependencies"),
        ('{"title": "A", "confidence": "high"}', "a number for confidence"),
        ('{"title": "A", "confidence": true}', "a number for confidence"),
        ('{"title": "A", "confidence": 2}', "a number from 0 to 1 for confidence, got 2"),
        ('{"title": "A", "answerWithinSeconds": -1}', "for answerWithinSeconds, got -1"),
        (
            '{"title": "A", "answerWithinSeconds": 1' + "0" * 400 + "}",
            f"for answerWithinSeconds, got 1{'0' * 38}…",
        ),
        ('{"title": "A", "createdAt": "yesterday"}', "Z for createdAt"),
        ('{"title": "A", "createdAt": "0001-01-01T00:00:00+10:00"}', "Z for createdAt"),
        ('{"title": "A", "x": NaN}', "line 1: this JSON cannot be stored"),
        ('{"title": "A", "x": ' + "[" * 150 + "]" * 150 + "}", "cannot be stored"),
        (
            '{"title": "A", "id": "tm-abc"}\n{"title": "B", "id": "TM-ABC"}',
            "line 2: tm-abc is also in line 1: remove one of them",
        ),
    ],
)
def test_fault_is_named_with_its_line(text, told):
    assert told in read_refusal(text)
