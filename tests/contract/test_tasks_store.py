"""Each store keeps tasks, and they follow their runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.support.people import a_person
from tests.support.run_claims import an_ask, claim, settle

from gatebell.domain.enums import TaskState
from gatebell.domain.runs import resumption, runs
from gatebell.domain.runs.runs import RunChange
from gatebell.domain.tasks import tasks
from gatebell.domain.tasks.tasks import Task, TaskChange
from gatebell.errors import RefusedError
from gatebell.services.runs import manage_runs
from gatebell.services.tasks import backlog

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ADA = a_person("ada")


def a_task(task_id, **more):
    fields = {"project": "/p", "created_at": NOW, "updated_at": NOW, "created_by": "person:ada"}
    return Task(task_id, **{"title": f"Do {task_id}", **fields, **more})


def add_tasks(store, *task_ids, **more):
    changes = [tasks.create_task(a_task(one, **more), ADA) for one in task_ids]
    assert store.tasks.add(changes)
    return [store.tasks.get(one) for one in task_ids]


def taken_up(store):
    run = backlog.take_up(store, "/p", "digest")
    return store.tasks.get(run.task), run


def written(store, change, run):
    assert store.runs.change(change, run)
    return store.runs.get(run.id), store.tasks.get(run.task)


def park(store, run, ask_id="a-222"):
    """The run waits for an answer to this ask."""
    ask = an_ask(store, run, ask_id=ask_id)
    call = runs.FlowCall(run.id, "1", "run", "code", "d", NOW, state="waiting", ask_id=ask.id)
    assert store.runs.change(RunChange(run, (call,)), run)
    return ask, call


@pytest.mark.proves("TASK-150")
def test_task_is_read_as_written(store):
    whole = a_task(
        "tm-abc", description="All of it", role="docs", priority=0, size="large", type="bug",
        parent="tm-par", needs=("tm-dep",), test_command="make", test_from="agent:claude/s",
        status="so far", summary="s", details="d", confidence=0.5, goes_on_from=3,
        claimed_by="person:bob", answered_at=NOW, branch="task/tm-abc", closed_at=NOW,
        answer_within_seconds=60.0, on_timeout="fail", unmet=1, version=7, more={"odd": [1]},
    )  # fmt: skip
    assert store.tasks.add([TaskChange(whole)])
    assert store.tasks.get("tm-abc") == whole
    assert store.tasks.get("tm-xyz") is None
    assert store.tasks.projects() == ["/p"]
    assert store.tasks.count() == 1
    assert store.tasks.matching("tm-a", 5) == ["tm-abc"]


@pytest.mark.proves("TASK-151")
def test_several_tasks_are_added_whole_or_not_at_all(store):
    add_tasks(store, "tm-aaa")
    assert not store.tasks.add([TaskChange(a_task("tm-bbb")), TaskChange(a_task("tm-aaa"))])
    assert store.tasks.get("tm-bbb") is None


@pytest.mark.proves("TASK-152", "S3-B12", "S3-B13")
def test_write_from_an_older_version_is_refused(store):
    [task] = add_tasks(store, "tm-aaa")
    assert store.tasks.change(TaskChange(task._replace(title="One", version=2)), task)
    assert not store.tasks.change(TaskChange(task._replace(title="Two", version=2)), task)
    assert store.tasks.get("tm-aaa").title == "One"


@pytest.mark.proves("TASK-153", "S3-P4", "S3-B15")
def test_lists_have_answered_ones_first_then_priority_then_age(store):
    add_tasks(store, "tm-old")
    add_tasks(store, "tm-urg", priority=0)
    add_tasks(store, "tm-new")
    add_tasks(store, "tm-ans", priority=4, answered_at=NOW)
    add_tasks(store, "tm-els", priority=0, project="/elsewhere")
    add_tasks(store, "tm-don", state="closed")
    ids = [task.id for task in store.tasks.page("/p", "unfinished", 10)]
    assert ids == ["tm-ans", "tm-urg", "tm-old", "tm-new"]
    assert [task.id for task in store.tasks.page("/p", "all", 10)][-1] == "tm-don"
    assert [task.id for task in store.tasks.page("/p", "ready", 2)] == ["tm-ans", "tm-urg"]
    assert store.tasks.page("/p", "awaiting", 10) == []
    assert store.tasks.next("/p").id == "tm-urg"
    assert store.tasks.projects() == ["/elsewhere", "/p"]


@pytest.mark.proves("TASK-154", "S3-B21")
def test_task_is_ready_once_its_dependencies_are_closed(store):
    first, second = add_tasks(store, "tm-one", "tm-two")
    [last] = add_tasks(store, "tm-las", needs=("tm-one", "tm-two"))
    assert (last.unmet, last.ready) == (2, False)
    backlog.close(store, first.id, ADA)
    assert store.tasks.get("tm-las").unmet == 1
    backlog.close(store, second.id, ADA)
    assert store.tasks.get("tm-las").ready
    assert [task.id for task in store.tasks.needing("tm-one")] == ["tm-las"]
    backlog.reopen(store, second.id, ADA)
    assert not store.tasks.get("tm-las").ready
    backlog.free(store, "tm-las", ADA, ["tm-two"])
    assert store.tasks.get("tm-las").ready


@pytest.mark.proves("TASK-155")
def test_of_a_tree_the_parts_are_found(store):
    add_tasks(store, "tm-top")
    add_tasks(store, "tm-bac", parent="tm-top", priority=4)
    add_tasks(store, "tm-urg", parent="tm-top", priority=0)
    assert [task.id for task in store.tasks.beneath("tm-top")] == ["tm-urg", "tm-bac"]
    assert store.tasks.beneath("") == []


@pytest.mark.proves("TASK-156")
def test_task_is_taken_by_one_run_of_many(store):
    [task] = add_tasks(store, "tm-aaa", priority=1)
    now, run = taken_up(store)
    assert (now.run, now.state, run.task, run.priority) == (run.id, "open", task.id, 1)
    assert backlog.take_up(store, "/p", "digest") is None
    late = store.tasks.take_up(tasks.take_up(task, NOW), run, [], task)
    assert late is None and store.runs.of_task(task.id) == [run]
    assert store.runs.get(run.id + 1) is None


@pytest.mark.proves("TASK-157", "S3-9", "S3-10", "S3-30", "S3-33", "LAW-9")
def test_task_follows_its_run_in_the_same_transaction(store):
    add_tasks(store, "tm-aaa")
    task, run = taken_up(store)
    run = claim(store, run)
    assert store.tasks.get(task.id).state == "in_progress"
    ask, call = park(store, run)
    run, task = written(store, runs.park(run, [call], [ask]), run)
    assert (run.state, task.state) == ("waiting_human", "awaiting_input")
    assert [one.id for one in store.tasks.page("/p", "awaiting", 5)] == [task.id]
    settle(store, ask)
    run, task = store.runs.get(run.id), store.tasks.get(task.id)
    assert (run.state, task.state) == ("ready", "open") and task.answered_at
    run = claim(store, run)
    assert store.tasks.get(task.id).answered_at is None
    result = {"state": "closed", "summary": "Done", "branch": "task/x", "confidence": 0.7}
    run, task = written(store, runs.complete(run, result, NOW), run)
    assert (task.state, task.summary, task.branch, task.confidence, task.closed_at is not None) == (
        "closed", "Done", "task/x", 0.7, True,
    )  # fmt: skip
    kinds = [entry.event.kind for entry in store.audit.of_subject(task.id)]
    assert kinds == [
        *("task.created", "task.in_progress", "task.awaiting_input", "task.open"),
        *("task.in_progress", "task.closed"),
    ]


@pytest.mark.proves("TASK-158")
def test_answer_during_parking_opens_the_task_again(store):
    add_tasks(store, "tm-aaa")
    _, run = taken_up(store)
    run = claim(store, run)
    ask, call = park(store, run)
    settle(store, ask)
    run, task = written(store, runs.park(run, [call], [ask]), run)
    assert (run.state, task.state) == ("ready", "open")


@pytest.mark.proves("PG-5")
def test_older_reading_restores_no_count(store):
    add_tasks(store, "tm-aaa", "tm-bbb")
    needed, task = store.tasks.get("tm-aaa"), store.tasks.get("tm-bbb")
    needing = tasks.change_task(task, task._replace(needs=("tm-aaa",)), a_person(), store.now())
    assert store.tasks.change(needing, task)
    read = store.tasks.get("tm-bbb")
    assert store.tasks.change(tasks.move(needed, "closed", a_person(), store.now(), ""), needed)
    renamed = tasks.change_task(read, read._replace(title="Z"), a_person(), store.now())
    assert store.tasks.change(renamed, read) and store.tasks.get("tm-bbb").unmet == 0


@pytest.mark.proves("TASK-159")
@pytest.mark.parametrize("result", ["failed", "blocked", "deferred", "closed", "nonsense", 7])
def test_end_of_the_run_decides_the_task_state(store, result):
    add_tasks(store, "tm-aaa")
    _, run = taken_up(store)
    run = claim(store, run)
    _, task = written(store, runs.complete(run, {"state": result, "status": "why"}, NOW), run)
    known = result if result in TaskState else "failed"
    assert (task.state, task.status) == (known, "why")


@pytest.mark.proves("TASK-160")
def test_failed_run_fails_its_task_and_resuming_opens_it(store):
    add_tasks(store, "tm-aaa")
    _, run = taken_up(store)
    run = claim(store, run)
    run, task = written(store, runs.break_down(run, "KeyError: 1", "", "1", NOW), run)
    assert (task.state, task.status) == ("failed", "KeyError: 1")
    assert store.runs.change(resumption.resume(run, [], [], ADA), run)
    assert store.tasks.get(task.id).state == "open"


@pytest.mark.proves("TASK-161", "S3-B22")
def test_closing_a_waiting_task_ends_its_run_and_ask(store):
    add_tasks(store, "tm-aaa")
    _, run = taken_up(store)
    run = claim(store, run)
    ask, call = park(store, run)
    run, task = written(store, runs.park(run, [call], [ask]), run)
    closed = backlog.close(store, task.id, ADA, "not needed")
    assert (closed.state, store.runs.get(run.id).state) == ("closed", "stuck")
    assert store.asks.get(ask.id).status == "cancelled"
    kinds = [entry.event.kind for entry in store.audit.of_subject(task.id)]
    assert kinds[-2:] == ["task.awaiting_input", "task.closed"]
    told = store.audit.of_subject(task.id)[-1].event
    assert (told.actor, told.content["reason"]) == ("person:ada", "not needed")


@pytest.mark.proves("TASK-162")
def test_older_run_of_a_task_does_not_change_it(store):
    add_tasks(store, "tm-aaa")
    task, old = taken_up(store)
    manage_runs.stop(store, old.id, ADA, "enough")
    backlog.reopen(store, task.id, ADA)
    _, new = taken_up(store)
    assert new.id != old.id
    claim(store, new)
    with pytest.raises(RefusedError, match="was reopened since"):
        manage_runs.resume(store, old.id, ADA)
    old = store.runs.get(old.id)
    assert store.runs.change(resumption.resume(old, [], [], ADA), old)
    assert store.tasks.get(task.id).state == "in_progress"
    assert [run.id for run in store.runs.of_task(task.id)] == [old.id, new.id]


@pytest.mark.proves("TASK-163", "S3-P4")
def test_ready_run_of_the_more_urgent_task_comes_first(store):
    add_tasks(store, "tm-aaa", priority=3)
    add_tasks(store, "tm-bbb", priority=4)
    (_, third), (_, fourth) = taken_up(store), taken_up(store)
    assert store.runs.ready(5) == [third.id, fourth.id]
    backlog.update(store, "tm-bbb", ADA, {"priority": "critical"})
    assert store.runs.ready(5) == [fourth.id, third.id]


@pytest.mark.proves("TASK-164")
def test_tasks_in_progress_are_listed_to_find_stale_ones(store):
    add_tasks(store, "tm-aaa", "tm-bbb")
    backlog.claim(store, "tm-bbb", ADA)
    assert [task.id for task in store.tasks.list_claimed()] == ["tm-bbb"]
    store.clock.advance(timedelta(minutes=61).total_seconds())
    [(task, why)] = backlog.stale(store, timedelta(minutes=60))
    assert task.id == "tm-bbb" and "person:ada" in why
    assert backlog.recover(store, task, ADA).state == "open"
