"""Import of a backlog from a file."""

from __future__ import annotations

import json
import time

import pytest
from tests.support.people import a_person, an_agent

from gatebell.domain.tasks import backlog_jsonl
from gatebell.errors import AgentRefusedError, UsageError
from gatebell.services.tasks import backlog, import_tasks
from gatebell.testing import MemoryStore

ADA = a_person("ada")


def bring_in(store, *records, project="/p", **more):
    text = "\n".join(json.dumps({"title": "T", **record}) for record in records)
    return import_tasks.bring_in(store, project, ADA, backlog_jsonl.read(text), **more)


@pytest.fixture
def store():
    return MemoryStore()


@pytest.mark.proves("TASK-76", "S3-P2")
def test_taken_ids_are_renamed_with_their_references(store):
    taken = backlog.create(store, "/p", ADA, {"title": "Mine"})
    done = bring_in(
        store,
        {"id": taken.id, "title": "A"},
        {"id": "tm-0li", "title": "B", "dependencies": [taken.id], "parent": taken.id},
        {"id": "nonsense", "title": "C"},
        {"title": "D", "dependencies": ["tm-0li"]},
    )
    by_title = {task.title: task for task in done.tasks}
    assert by_title["B"].id == "tm-0li" and by_title["A"].id != taken.id
    assert by_title["B"].needs == (by_title["A"].id,) and by_title["B"].parent == by_title["A"].id
    assert len({task.id for task in done.tasks} | {taken.id}) == 5
    assert done.remarks == [f"{taken.id} is the id of another task: it is {by_title['A'].id} here"]
    assert backlog.get(store, taken.id).title == "Mine"
    assert backlog.get(store, "tm-0li").unmet == 1
    assert [one.event.actor for one in store.audit.of_subject("tm-0li")] == [ADA.principal]


@pytest.mark.proves("TASK-77")
def test_same_file_twice_adds_nothing(store):
    backlog.create(store, "/p", ADA, {"title": "Mine"})
    taken = store.tasks.page("/p", "all", 1)[0].id
    records = (
        {"id": "tm-abc", "title": "A", "createdAt": "2026-01-01T09:00:00Z"},
        {"id": taken, "title": "B", "createdAt": "2026-01-01T09:00:00Z"},
        {"id": "tm-xyz", "title": "C", "dependencies": ["tm-abc", taken]},
    )
    first = bring_in(store, *records)
    again = bring_in(store, *records, {"id": "tm-new", "title": "D", "dependencies": [taken]})
    assert len(first.tasks) == 3 and not first.skipped
    assert [task.id for task in again.tasks] == ["tm-new"] and len(again.skipped) == 3
    # A renamed task is recognized in the second file, and in its dependencies.
    assert again.tasks[0].needs == (first.tasks[1].id,)
    assert bring_in(store, *records).tasks == []
    other = bring_in(store, {**records[0], "createdAt": "2026-01-02T09:00:00Z"})
    assert len(other.tasks) == 1 and other.tasks[0].id != "tm-abc"
    assert len(bring_in(store, *records, project="/q").tasks) == 3


@pytest.mark.proves("TASK-76", "TASK-72")
def test_imported_task_keeps_its_fields(store):
    done = bring_in(
        store,
        {
            "id": "tm-abc", "state": "awaiting_input", "question": "Q?", "testCommand": "make",
            "createdAt": "2026-01-01T09:00:00Z", "updatedAt": "2026-01-02T09:00:00Z",
            "parent": "tm-gone",
        },
    )  # fmt: skip
    task = backlog.get(store, "tm-abc")
    assert task.state == "open" and task.more["question"] == "Q?"
    assert (task.test_command, task.test_from) == ("make", "person:ada")
    assert f"{task.updated_at:%d}" == "02" and task.created_by == "person:ada"
    assert "tm-abc was awaiting_input" in done.remarks[0] and "tm-gone" in done.remarks[1]


@pytest.mark.proves("TASK-73", "LAW-10")
def test_one_bad_line_and_nothing_is_imported(store):
    cases = (
        ({"dependencies": ["tm-gone"]}, "line 2: it needs tm-gone, which is neither"),
        ({"size": "huge"}, "line 2: expected small or medium or large for size"),
        ({"onTimeout": "explode"}, "line 2: expected fail or defer for on timeout"),
        ({"id": "tm-bbb", "dependencies": ["tm-aaa"]}, "tm-aaa → tm-bbb → tm-aaa"),
        ({"id": "tm-bbb", "parent": "tm-aaa"}, "be part of itself: tm-aaa → tm-bbb → tm-aaa"),
    )
    first = {"id": "tm-aaa", "dependencies": ["tm-bbb"], "parent": "tm-bbb"}
    for record, told in cases:
        whole = first if record.get("id") else {"id": "tm-aaa"}
        if "parent" in record:
            whole = {**first, "dependencies": []}
        with pytest.raises(UsageError, match=told):
            bring_in(store, whole, record)
        assert store.tasks.count() == 0


@pytest.mark.proves("TASK-73")
def test_missing_parent_imported_later_cannot_close_a_circle(store):
    bring_in(store, {"id": "tm-aaa", "parent": "tm-bbb"})
    with pytest.raises(UsageError, match="line 1: tm-bbb would be part of itself"):
        bring_in(store, {"id": "tm-bbb", "parent": "tm-aaa"})
    # Two paths to the same task are not a circle.
    done = bring_in(
        store,
        {"id": "tm-ccc", "dependencies": ["tm-ddd", "tm-eee"]},
        {"id": "tm-ddd", "dependencies": ["tm-eee"]},
        {"id": "tm-eee"},
    )
    assert len(done.tasks) == 3


@pytest.mark.proves("TASK-287")
def test_dry_run_names_no_id_that_would_be_random(store):
    bring_in(store, {"id": "tm-abc", "title": "Here"})
    records = (
        {"id": "tm-abc", "title": "Other", "state": "in_progress"},
        {"title": "Nameless", "parent": "tm-gone"},
        {"id": "tm-new", "title": "New", "dependencies": ["tm-abc"]},
    )
    done = bring_in(store, *records, dry=True)
    assert [task.id for task in done.tasks] == ["", "", "tm-new"]
    assert done.remarks[0] == "tm-abc is the id of another task: it gets a new id here"
    assert done.remarks[1].startswith("tm-abc was in_progress")
    assert done.remarks[2] == "line 2 is part of tm-gone, which does not exist"


@pytest.mark.proves("TASK-78")
def test_dry_run_writes_nothing_and_agents_import_nothing(store):
    assert len(bring_in(store, {"title": "A"}, dry=True).tasks) == 1
    assert store.tasks.count() == 0
    with pytest.raises(AgentRefusedError):
        import_tasks.bring_in(store, "/p", an_agent(), backlog_jsonl.read('{"title": "A"}'))
    assert store.tasks.count() == 0


@pytest.mark.proves("TASK-76", "S3-B12")
def test_id_taken_during_the_import_is_avoided(store, monkeypatch):
    add, seen = store.tasks.add, []

    def overtaken(changes):
        if not seen:
            seen.append(changes)
            bring_in(store, {"id": "tm-abc", "title": "Faster"}, project="/q")
        return add(changes)

    monkeypatch.setattr(store.tasks, "add", overtaken)
    done = bring_in(store, {"id": "tm-abc", "title": "Slower"})
    assert done.tasks[0].id != "tm-abc" and backlog.get(store, "tm-abc").title == "Faster"
    assert backlog.get(store, done.tasks[0].id).title == "Slower"


@pytest.mark.proves("TASK-79")
def test_long_chain_of_tasks_is_imported_in_linear_time(store):
    needs = [{"id": f"tm-{n:05}", "dependencies": [f"tm-{n + 1:05}"]} for n in range(3_000)]
    looked = []
    get = store.tasks.get
    store.tasks.get = lambda name: looked.append(name) or get(name)
    done = bring_in(store, *needs, {"id": "tm-03000"}, dry=True)
    assert len(done.tasks) == 3_001 and len(looked) < 20_000
    # Each level has two tasks that depend on both of the next: many paths, few tasks.
    steps = [
        {"id": f"tm-s{n:02}{side}", "dependencies": [f"tm-s{n + 1:02}a", f"tm-s{n + 1:02}b"] * (n < 21)}
        for n in range(22)
        for side in "ab"
    ]  # fmt: skip
    begun = time.process_time()
    assert len(bring_in(store, *steps, dry=True).tasks) == 44
    assert time.process_time() - begun < 1
