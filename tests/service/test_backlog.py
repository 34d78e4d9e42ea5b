"""Create, edit, claim, ask about and close tasks as a person or an agent."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest
from tests.support.people import a_person, an_agent
from tests.support.run_claims import claim

from gatebell import Gate
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.owners import owner_of_task
from gatebell.errors import AgentRefusedError, NotFoundError, RefusedError, UsageError
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs import manage_runs
from gatebell.services.tasks import backlog
from gatebell.services.tasks.scheduler import TaskScheduler
from gatebell.testing import MemoryStore

ADA = a_person("ada")


@pytest.fixture
def store():
    return MemoryStore()


def create(store, title="Do it", caller=ADA, **more):
    return backlog.create(store, "/p", caller, {"title": title, **more})


def ask_for(store, task, question="Which?", who=ADA):
    origin = Origin(project="/p", owner=owner_of_task(task.id))
    return create_ask.ask(store, Request(question), origin, who)


@pytest.mark.proves("TASK-190", "S3-P1", "S3-P2", "S3-35")
def test_new_task_has_an_id_and_the_defaults(store):
    task = create(store)
    assert task.id.startswith("tm-") and len(task.id) == 6
    assert (task.state, task.priority, task.size, task.type) == ("open", 2, "medium", "task")
    assert task.created_by == "person:ada"
    assert create(store).id != task.id
    with pytest.raises(UsageError, match="needs a title"):
        create(store, " ")


@pytest.mark.proves("TASK-190", "S3-34", "S3-73")
def test_ids_are_taken_in_every_spelling(store):
    task = create(store)
    name = task.id.removeprefix("tm-")
    for spelling in (task.id, task.id.upper(), name, f" {name} "):
        assert backlog.get(store, spelling) == task
    assert backlog.look_up(store, task.id[:4]) == task
    with pytest.raises(NotFoundError, match=f"not a complete id: write {task.id}"):
        backlog.get(store, task.id[:5])
    for nobody in ("tm-zzzzz", "", "tm-"):
        with pytest.raises(NotFoundError, match="there is no task"):
            backlog.get(store, nobody)


@pytest.mark.proves("TASK-190")
def test_ambiguous_abbreviation_is_refused(store):
    for _ in range(40):
        create(store)
    with pytest.raises(UsageError, match="matches tm-"):
        backlog.look_up(store, "tm-")


@pytest.mark.proves("TASK-191")
def test_edit_of_a_task_is_checked_and_recorded(store):
    first, second = create(store), create(store, "Second", priority="P1")
    after = backlog.update(
        store, second.id, ADA, {"needs": [first.id, first.id.upper()], "parent": first.id}
    )
    assert (after.needs, after.parent, after.priority, after.unmet) == ((first.id,), first.id, 1, 1)
    assert backlog.waiting_for(store, after) == [backlog.get(store, first.id)]
    with pytest.raises(NotFoundError):
        backlog.update(store, second.id, ADA, {"needs": ["tm-nobody"]})
    with pytest.raises(NotFoundError):
        create(store, parent="tm-nobody")


@pytest.mark.proves("TASK-191")
def test_task_cannot_depend_on_or_contain_itself(store):
    first, second, third = (create(store, name) for name in ("One", "Two", "Three"))
    backlog.depend(store, second.id, ADA, [first.id])
    backlog.depend(store, third.id, ADA, [second.id])
    with pytest.raises(RefusedError, match=f"{first.id} would wait for itself: {first.id} → "):
        backlog.depend(store, first.id, ADA, [third.id])
    with pytest.raises(RefusedError, match="wait for itself"):
        backlog.depend(store, first.id, ADA, [first.id])
    backlog.update(store, second.id, ADA, {"parent": first.id})
    with pytest.raises(RefusedError, match="be part of itself"):
        backlog.update(store, first.id, ADA, {"parent": second.id})
    with pytest.raises(NotFoundError, match="does not depend on"):
        backlog.free(store, third.id, ADA, [first.id])


@pytest.mark.proves("TASK-182")
def test_who_named_the_test_command_is_kept(store):
    task = create(store, test_command="make", caller=an_agent("s1"))
    assert task.test_from == "agent:claude/s1"
    assert backlog.update(store, task.id, ADA, {"title": "Other"}).test_from == "agent:claude/s1"
    assert backlog.update(store, task.id, ADA, {"test_command": "make test"}).test_from == ADA.actor


@pytest.mark.proves("TASK-192")
def test_claim_by_hand_is_released_closed_and_reopened(store):
    task = create(store)
    assert backlog.claim(store, task.id, ADA).claimed_by == "person:ada"
    assert backlog.take_up(store, "/p", "d") is None
    assert backlog.release(store, task.id, ADA).state == "open"
    with pytest.raises(RefusedError, match="not claimed by hand"):
        backlog.release(store, task.id, ADA)
    assert backlog.defer(store, task.id, ADA, "later").status == "later"
    assert backlog.reopen(store, task.id, ADA).state == "open"
    with pytest.raises(RefusedError, match="cannot be reopened"):
        backlog.reopen(store, task.id, ADA)
    assert backlog.close(store, task.id, ADA).closed_at is not None
    with pytest.raises(RefusedError, match="is already closed"):
        backlog.close(store, task.id, ADA)


@pytest.mark.proves("TASK-170", "TASK-323", "S3-P9")
def test_agent_cannot_end_the_run_of_a_task(store):
    task = create(store)
    run = backlog.take_up(store, "/p", "d")
    claim(store, run)
    for end in (backlog.close, backlog.defer):
        with pytest.raises(AgentRefusedError):
            end(store, task.id, an_agent())
    assert backlog.defer(store, task.id, ADA).state == "deferred"
    assert store.runs.get(run.id).state == "stuck"
    with pytest.raises(RefusedError, match=f"is deferred: gate task reopen {task.id}"):
        manage_runs.resume(store, run.id, ADA)


@pytest.mark.proves("TASK-172", "S3-29", "S3-30", "S3-31", "S3-33")
def test_claimer_asks_about_a_task_and_gets_the_answer(store):
    task = create(store)
    backlog.claim(store, task.id, ADA)
    ask = ask_for(store, task).ask
    assert (ask.origin.task, backlog.get(store, task.id).state) == (task.id, "awaiting_input")
    assert backlog.pending(store, task) == [ask]
    with pytest.raises(AgentRefusedError):
        answer_ask.answer(store, ask.id, an_agent(), Given("that"))
    answer_ask.answer(store, ask.id, a_person("bob"), Given("this"))
    assert backlog.get(store, task.id).state == "in_progress"
    [asked] = backlog.history(store, task)
    assert (asked.question, asked.answer, asked.who, asked.run) == (
        "Which?",
        "this",
        "person:bob",
        0,
    )
    assert store.asks.woken() == []


@pytest.mark.proves("TASK-172")
def test_second_different_ask_for_a_task_is_refused(store):
    task = create(store)
    backlog.claim(store, task.id, ADA)
    first = ask_for(store, task)
    again = ask_for(store, task)
    assert (again.ask.id, again.attached) == (first.ask.id, True)
    with pytest.raises(RefusedError, match=f"already waits for an answer to {first.ask.id}"):
        ask_for(store, task, "And then?")
    create_ask.cancel(store, first.ask.id, ADA, "never mind")
    assert backlog.get(store, task.id).state == "in_progress"


@pytest.mark.proves("TASK-172", "S3-B8")
def test_ask_for_an_unclaimed_task_is_refused(store):
    task = create(store)
    with pytest.raises(RefusedError, match="only a task that was claimed by hand"):
        ask_for(store, task)
    with pytest.raises(NotFoundError, match="no task tm-none"):
        ask_for(store, task._replace(id="tm-none"))
    assert store.asks.pending(5) == []


@pytest.mark.proves("TASK-172")
def test_closing_a_claimed_task_withdraws_its_question(store):
    task = create(store)
    backlog.claim(store, task.id, ADA)
    ask = ask_for(store, task).ask
    assert backlog.close(store, task.id, ADA).state == "closed"
    assert store.asks.get(ask.id).status == "cancelled"
    assert backlog.get(store, task.id).state == "closed"


@pytest.mark.proves("TASK-164", "S3-P9", "S3-B22")
def test_task_waiting_for_a_person_is_never_stale(store):
    task, waiting = create(store), create(store, "Waits")
    backlog.claim(store, waiting.id, ADA)
    ask_for(store, waiting)
    run = backlog.take_up(store, "/p", "d")
    claim(store, run, "gone/1/1")
    store.clock.advance(timedelta(days=3).total_seconds())
    [(stale, why)] = backlog.stale(store, timedelta(minutes=60))
    assert stale.id == task.id and "is gone" in why
    assert backlog.recover(store, stale, ADA).state == "open"
    assert store.runs.get(run.id).state == "ready"
    assert backlog.stale(store, timedelta(minutes=60)) == []


@pytest.mark.proves("TASK-193", "S3-29", "S3-31", "S3-32")
def test_program_creates_tasks_asks_and_answers(store):
    tasks = Gate(store).tasks
    task = tasks.create("Do it", priority="high")
    assert tasks.page() == [task] and tasks.get(task.id) == task
    with pytest.raises(
        RefusedError, match=rf"Task {task.id} is not awaiting input \(state: open\)"
    ):
        tasks.respond(task.id, "this")
    tasks.claim(task.id)
    ask_id = tasks.request_input(task.id, "Which?", {"a": 1})
    assert tasks.page("awaiting")[0].id == task.id
    assert tasks.respond(task.id, "this", note="of course").state == "in_progress"
    assert Gate(store).wait(ask_id).value == "this"
    [asked] = tasks.history(task.id)
    assert (asked.answer, asked.note, asked.context) == ("this", "of course", {"a": 1})
    assert tasks.update(task.id, title="Done").title == "Done"
    assert tasks.defer(tasks.create("Later").id).state == "deferred"
    assert tasks.close(task.id, "good").status == "good"
    assert tasks.reopen(task.id).state == "open"


@pytest.mark.proves("TASK-156")
def test_run_names_the_task_it_works_on(store):
    task = create(store, "Title", description="Words", priority=0)
    run = backlog.take_up(store, "/p", "d")
    assert (run.prompt, run.started_by) == ("# Task: Title\n\nWords", "person:ada")
    assert store.audit.of_subject(run.name)[0].event.content["task"] == task.id


def scheduler(store, *projects, problem=lambda _: "", key=lambda _: ""):
    return TaskScheduler(store, SimpleNamespace(problem=problem, key=key), "d", projects)


def over(store, state="completed", result=None):
    return backlog.take_up(store, "/p", "d")._replace(state=state, result=result)


@pytest.mark.proves("TASK-194")
def test_three_failures_in_a_row_pause_taking_tasks(store, caplog):
    taking = scheduler(store, "/q", "/p")
    for _ in range(10):
        create(store)
    assert taking.take_up().task
    taking.note_end(over(store, "failed"))
    taking.note_end(over(store))
    taking.note_end(over(store, "failed"))
    taking.note_end(over(store, "completed", {"state": "failed"}))
    assert taking.take_up(), "a completed one in between has cleared the count"
    taking.note_end(over(store, "failed"))
    assert taking.take_up() is None
    assert "no new task is started for 5 minutes" in caplog.text
    store.clock.advance(301)
    assert taking.take_up()


@pytest.mark.proves("TASK-194")
def test_runs_without_task_or_end_are_not_counted(store):
    taking = scheduler(store, "/p")
    create(store)
    run = over(store, "failed")
    for one in (run._replace(task=""), run._replace(state="waiting_human")) * 5:
        taking.note_end(one)
    create(store)
    assert taking.take_up()


@pytest.mark.proves("TASK-195")
def test_tasks_stay_open_while_project_settings_are_unreadable(store, caplog):
    problems = ["backlog.toml sets 'strategie'"]
    taking = scheduler(store, "/p", problem=lambda _: problems[0])
    create(store)
    assert taking.take_up() is None and taking.take_up() is None
    assert caplog.text.count("'strategie'") == 1
    assert store.tasks.page("/p", "ready", 5)
    problems[0] = ""
    assert taking.take_up()
