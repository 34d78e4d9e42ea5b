"""Tasks written directly into a store, for tests that only read them."""

from __future__ import annotations

from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.runs import runs
from gatebell.domain.runs.runs import FlowCall, RunChange
from gatebell.domain.tasks import tasks
from gatebell.domain.tasks.tasks import Task, TaskChange
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.tasks import backlog
from tests.support.people import a_person

PROJECT = "/p"
_LEFT = ("summary", "details", "branch", "claimed_by")


def add_task(store, title="Do it", project=PROJECT, **fields):
    """Add a task with the fields of people and of runs."""
    left = {name: fields.pop(name) for name in _LEFT if name in fields}
    made = backlog.create(store, project, a_person(), {"title": title, **fields})
    if not left:
        return made
    after = made._replace(version=made.version + 1, **left)
    assert store.tasks.change(TaskChange(after), made)
    return store.tasks.get(made.id)


def add_tasks(store, number, **more):
    """Add many tasks at once, each with its own id."""
    now = store.now()
    made = [
        Task(f"tm-{n:05}", f"Task {n}", PROJECT, now, now, "person:ada", **more)
        for n in range(number)
    ]
    assert store.tasks.add([tasks.create_task(one, a_person()) for one in made])
    return made


def taken_up(store, task):
    """Add the run that works on a task; it must be the first one."""
    run = backlog.take_up(store, task.project, "digest")
    assert run.task == task.id
    change = runs.claim(run, "b/1/1", store.now())
    assert store.runs.change(change, run)
    return change.run


def asks(store, run, prompt="Which way?", **more):
    """Let the run of a task wait for an answer."""
    origin = Origin(
        run.project, run.project, "coder", "claude/1", owner=owner_of(run.id, "1"), task=run.task
    )
    ask = create_ask.ask(store, Request(prompt, "text", **more), origin, a_person("gate")).ask
    call = FlowCall(run.id, "1", "run", "code", "d", store.now(), state="waiting", ask_id=ask.id)
    parked = run._replace(state="waiting_human", waiting_since=store.now())
    assert store.runs.change(RunChange(parked, (call,)), run)
    return ask


def awaiting(store, title="Do it", prompt="Which way?", project=PROJECT, **fields):
    """Add a task that waits for a person, and its ask."""
    task = add_task(store, title, project, priority=0, **fields)
    ask = asks(store, taken_up(store, task), prompt)
    return store.tasks.get(task.id), ask
