"""Runs and tasks as people see them: their questions, results, changes and events."""

from __future__ import annotations

import pytest
from tests.support.people import a_person
from tests.support.run_records import add_run, answer, ask_of, call, turn
from tests.support.task_records import add_task, awaiting, taken_up

from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import RunState, TaskState
from gatebell.domain.runs.seen_runs import TaskEnd
from gatebell.errors import NotFoundError, RefusedError
from gatebell.services.asks import create_ask, waiters
from gatebell.services.asks.create_ask import Request
from gatebell.services.asks.waiters import describe_unheard, is_waiter_gone, mark_prompt
from gatebell.services.people import manage_people
from gatebell.services.people.trust import describe_trust
from gatebell.services.runs.run_changes import read_changes
from gatebell.services.runs.see_runs import find_end, see_run, see_whole_run
from gatebell.services.tasks import backlog
from gatebell.services.tasks.see_tasks import see_task, see_whole_task
from gatebell.services.tasks.task_events import EventReader
from gatebell.testing import MemoryStore

ADA = a_person()


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def gone(store, monkeypatch):
    """The ids of asks whose waiting process was killed."""
    ids = set()
    monkeypatch.setattr(type(store.machine), "is_waiter_gone", lambda _, ask_id: ask_id in ids)
    return ids


def ask(store, kind="text", **origin):
    return create_ask.ask(store, Request("Which?", kind), Origin("/p", **origin), ADA).ask


@pytest.mark.proves("FLT-21", "FLT-23", "FLT-27")
def test_ask_of_a_killed_waiter_is_marked(store, gone):
    asked = ask(store)
    assert mark_prompt(store, asked) == "Which?"
    gone.add(asked.id)
    assert mark_prompt(store, asked) == "[asker is gone] Which?"
    assert waiters.make_ask_document(store, asked)["asker_gone"]
    assert describe_unheard(store, asked) == "", "it still waits for its answer"
    settled = answer(store, asked, "a")
    assert "The answer is kept: gate wait" in describe_unheard(store, settled)
    assert not is_waiter_gone(store, settled._replace(delivered_at=store.now()))
    gone.clear()
    assert describe_unheard(store, settled) == ""


@pytest.mark.proves("FLT-28")
@pytest.mark.parametrize(
    ("state", "is_gone"), [("waiting", False), ("held", False), ("recorded", True)]
)
def test_ask_of_a_waiting_run_is_never_marked(store, gone, state, is_gone):
    run = add_run(store, calls=[call(store, "1", state=state, ask_id="a-zzzz")])
    asked = ask_of(store, run.id, "1")._replace(id="a-zzzz")
    gone.add("a-zzzz")
    assert is_waiter_gone(store, asked) == is_gone


@pytest.mark.proves("REMOTE-8")
def test_trust_is_that_of_the_asking_token(store):
    manage_people.add(store, ADA, "bob")
    manage_people.token(store, ADA, "bob", ["ask"])
    tokens = store.people.tokens()
    may_ask = next(one.id for one in tokens if one.scopes == ("ask",))
    whole = next(one.id for one in tokens if one.id != may_ask)
    sessions = {"": "L0", "claude/s1": "L0", f"http-{may_ask}/s": "L1", f"http-{whole}/s": "L0"}
    for session, level in (sessions | {"http-gone/s": "L0"}).items():
        asked = ask(store, "approval", session=session)
        assert describe_trust(store, asked).startswith(level), session
        document = waiters.make_ask_document(store, asked)
        assert document["trust"].startswith(level)
    assert waiters.make_ask_document(store, ask(store))["trust"] is None


@pytest.mark.proves("REMOTE-63", "FLT-22")
def test_run_is_seen_with_its_questions(store, gone):
    run = add_run(store, calls=[call(store, "1")], turns=[turn(store, "1")])
    first, second = (ask_of(store, run.id, path, path) for path in ("1", "2"))
    gone.add(second.id)
    seen = see_run(store, run)
    assert (seen.asks, seen.prompts, seen.gone) == (
        (first.id, second.id), ("1", "2"), (second.id,)
    )  # fmt: skip
    assert (seen.title, seen.end, seen.calls, seen.turns) == ("", None, (), ())
    whole = see_whole_run(store, run)
    assert [one.path for one in whole.calls] == ["1"] and len(whole.turns) == 1
    over = run._replace(state=RunState.STUCK)
    assert see_run(store, over).asks == (), "an ended run waits for none"


@pytest.mark.proves("REMOTE-63")
@pytest.mark.parametrize(
    ("result", "found"),
    [
        ({"state": "failed", "summary": "No"}, TaskEnd(TaskState.FAILED, "No")),
        (
            {"state": "blocked", "status": "stuck", "summary": "No"},
            TaskEnd(TaskState.BLOCKED, "stuck"),
        ),
        (
            {"state": "closed", "status": "merged", "summary": "Yes"},
            TaskEnd(TaskState.CLOSED, "merged"),
        ),
        ({"state": "closed", "summary": "Yes"}, TaskEnd(TaskState.CLOSED, "")),
        ({"state": "lost"}, TaskEnd(TaskState.CLOSED, "")),
        ("text", TaskEnd(TaskState.CLOSED, "")),
        (None, TaskEnd(TaskState.CLOSED, "")),
    ],
)
def test_completed_run_has_the_result_of_its_task(store, result, found):
    run = add_run(store, task="tm-1", state="completed", result=result)
    assert find_end(store, run) == found
    assert find_end(store, run._replace(task="")) is None
    assert find_end(store, run._replace(state=RunState.RUNNING)) is None


@pytest.mark.proves("TASK-252", "REMOTE-63")
@pytest.mark.parametrize(
    ("deed", "state"), [(backlog.close, TaskState.CLOSED), (backlog.defer, TaskState.DEFERRED)]
)
def test_run_names_the_person_who_ended_its_task(store, deed, state):
    task = add_task(store, "Login")
    run = taken_up(store, task)
    deed(store, task.id, ADA, "not needed")
    run = store.runs.get(run.id)
    ended = see_run(store, run).end
    assert (ended.state, ended.by) == (state, "person:ada")
    assert "not needed" in ended.description and see_run(store, run).name == f"{task.id}: Login"
    other = run._replace(id=run.id + 1)
    assert find_end(store, other) is None, "another run did not end the task"


class Workspace:
    def diff(self, place, *between):
        return (place.folder, *between)


@pytest.mark.proves("RUN-363")
def test_changes_of_a_call_end_where_the_next_began(store):
    run = add_run(store, calls=[
        call(store, "1", ago=300, took=60, snapshot="s1"),
        call(store, "2", ago=280, took=200, snapshot="s2"),
        call(store, "3", ago=60, took=10, snapshot="s3"),
        call(store, "4", ago=200, took=10, snapshot="s4"),
        call(store, "5", ago=100),
        call(store, "6", ago=30, state="open", snapshot="s6"),
    ])  # fmt: skip
    folder = run.folder

    def changes(path=""):
        return read_changes(store, Workspace(), run, path)

    assert changes() == (folder,)
    # Of the calls that began after it had ended, the first one.
    assert changes("1") == (folder, "s1", "s4")
    assert changes("2") == (folder, "s2", "s3")
    assert changes("3") == (folder, "s3", "s6")
    assert changes("6") == (folder, "s6", ""), "it still works"
    with pytest.raises(RefusedError, match="no agent worked in a worktree"):
        changes("5")
    with pytest.raises(NotFoundError, match="has no call 7"):
        changes("7")


@pytest.mark.proves("REMOTE-61")
def test_task_is_seen_with_its_questions_and_relations(store):
    first = add_task(store, "First")
    parent = add_task(store, "Parent")
    task, asked = awaiting(store, "Login", "Which way?", parent=parent.id)
    after = add_task(store, "After", needs=[task.id, first.id])
    part = add_task(store, "Part", parent=task.id)
    seen = see_task(store, task)
    assert [(one.ask, one.question) for one in seen.questions] == [(asked.id, "Which way?")]
    assert seen.related == ()
    blocked = see_task(store, store.tasks.get(after.id))
    assert {one.id for one in blocked.related} == {task.id, first.id} and blocked.questions == ()
    whole = see_whole_task(store, task)
    assert [one.id for one in whole.seen.related] == [parent.id, after.id, part.id]
    assert whole.made_by == "person:ada" and whole.needed_by == (after.id,)
    assert whole.parts == (part.id,) and whole.waits_for == ()
    assert [(exchange.ask_id, answers) for exchange, answers in whole.history] == [(asked.id, ())]
    (run,) = whole.runs
    assert run.state == RunState.WAITING_HUMAN and not run.completed
    answer(store, asked, "left")
    ((exchange, (given,)),) = see_whole_task(store, store.tasks.get(task.id)).history
    assert exchange.ask_id == asked.id and given.value == "left"


@pytest.mark.proves("TASK-88", "REMOTE-61")
def test_events_of_tasks_are_read_by_task_and_project(store):
    task, asked = awaiting(store, "Login", "Which way?")
    other = add_task(store, "Other", project="/q")
    add_run(store)

    def kinds(found):
        return [one.entry.event.kind.removeprefix("task.") for one in found.events]

    everything = EventReader(store, "", "", "").read_newest(99)
    assert kinds(everything) == ["created", "in_progress", "awaiting_input", "created"]
    assert everything.head == store.audit.head().seq
    assert [one.words for one in everything.events][2] == "Which way?"
    assert kinds(EventReader(store, "", "/p", "").read_newest(99)) == kinds(everything)[:3]
    assert kinds(EventReader(store, "", "/p", "").read_newest(1)) == ["awaiting_input"]
    assert kinds(EventReader(store, task.id, "", "").read_newest(2)) == [
        "in_progress",
        "awaiting_input",
    ]
    assert kinds(EventReader(store, other.id, "", "").read_after(0, 9)) == ["created"]
    part = EventReader(store, "", "/p", "").read_after(0, 2)
    assert kinds(part) == ["created", "in_progress"]
    rest = EventReader(store, "", "/p", "").read_after(part.head, 9)
    assert kinds(rest) == ["awaiting_input"] and rest.head == store.audit.head().seq
    answer(store, asked, "left")
    backlog.update(store, other.id, ADA, {"title": "New", "priority": 1})
    (edited,) = EventReader(store, "", "", "").read_newest(1).events
    assert {"title", "priority"} <= set(edited.words.split(", "))
    with pytest.raises(NotFoundError):
        EventReader(store, "tm-none", "", "")
