"""Create, read, change, claim, close, reopen and defer tasks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import id_length, make_id, parse_priority
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.asks.owners import run_of
from gatebell.domain.audit.events import EventKind
from gatebell.domain.enums import RunState, TaskState
from gatebell.domain.lists import as_list
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.runs import runs
from gatebell.domain.runs.prompts import quote
from gatebell.domain.runs.runs import Run
from gatebell.domain.tasks import tasks
from gatebell.domain.tasks.seen_tasks import Exchange
from gatebell.domain.tasks.tasks import Task, TaskChange
from gatebell.domain.text.display import inert_line, plain, storable
from gatebell.errors import NotFoundError, RefusedError, UsageError
from gatebell.services.permissions import permit_call
from gatebell.services.runs import manage_runs
from gatebell.services.runs.claims import Abandoned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import timedelta

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

KIND = "tm-"
_WRITABLE = (
    *("title", "description", "role", "priority", "size", "type", "parent", "needs"),
    *("test_command", "status", "answer_within_seconds", "on_timeout"),
)
"""The fields of a task that people and agents write; gate sets the others."""
SOURCE = "builtin:work_task"
"""The flow source of a run that works on a task."""


def create(
    store: Store, project: str, caller: Caller, fields: dict[str, Any], key: str = ""
) -> Task:
    """Create a task in a project. `fields` are the writable fields of a Task; `key`: its key."""
    now = store.now()
    new = Task("", "", project, now, now, caller.principal, project_key=key)
    new = _written(store, new, fields, caller)
    while True:
        named = new._replace(id=make_id(id_length(store.tasks.count()), os.urandom(16), KIND))
        if store.tasks.add([tasks.create_task(named, caller)]):
            return get(store, named.id)


def update(store: Store, task_id: str, caller: Caller, fields: dict[str, Any]) -> Task:
    """Change the fields of a task; other functions change its state."""
    return _rewritten(store, task_id, caller, lambda _: fields)


def _rewritten(
    store: Store, task_id: str, caller: Caller, fields_of: Callable[[Task], dict[str, Any]]
) -> Task:
    def change(task: Task) -> TaskChange:
        after = _written(store, task, fields_of(task), caller)
        if task.role != after.role and not _writer(store, task, "role").startswith("agent:"):
            # The role decides when a person confirms the work, so no agent may change it.
            must_be_a_person(caller, f"changes the role of {task.id}, which a person set")
        return tasks.change_task(task, after, caller, store.now())

    return _change_task(store, task_id, change)


def depend(store: Store, task_id: str, caller: Caller, needed: Sequence[str]) -> Task:
    """Make the task wait until other tasks are closed."""
    more = tuple(get(store, one).id for one in needed)
    # Read again at each write: another process may add dependencies too.
    return _rewritten(store, task_id, caller, lambda task: {"needs": (*task.needs, *more)})


def free(store: Store, task_id: str, caller: Caller, needed: Sequence[str]) -> Task:
    """Remove dependencies from the task."""
    less = {canonical(one) for one in needed}

    def left(task: Task) -> dict[str, Any]:
        if foreign := less - set(task.needs):
            raise NotFoundError(f"{task.id} does not depend on {', '.join(sorted(foreign))}")
        return {"needs": tuple(one for one in task.needs if one not in less)}

    return _rewritten(store, task_id, caller, left)


def _written(store: Store, task: Task, fields: dict[str, Any], caller: Caller) -> Task:
    if foreign := sorted(fields.keys() - set(_WRITABLE)):
        raise UsageError(
            f"{', '.join(foreign)} cannot be written into a task: only {', '.join(_WRITABLE)}"
        )
    given: dict[str, Any] = {
        name: storable(text) if isinstance(text, str) else text for name, text in fields.items()
    }
    if "priority" in given:
        given["priority"] = parse_priority(given["priority"])
    if "needs" in given:
        given["needs"] = tuple(
            dict.fromkeys(get(store, one).id for one in as_list(given["needs"], "needs"))
        )
    if given.get("parent"):
        given["parent"] = get(store, given["parent"]).id
    if given.get("test_command", task.test_command) != task.test_command:
        given["test_from"] = caller.actor
    after = task._replace(**given)
    _must_be_no_circle(store, after)
    return after


def _must_be_no_circle(store: Store, task: Task) -> None:
    def needs_of(name: str) -> tuple[str, ...]:
        other = task if name == task.id else store.tasks.get(name)
        return other.needs if other else ()

    def parent_of(name: str) -> tuple[str, ...]:
        other = task if name == task.id else store.tasks.get(name)
        return (other.parent,) if other and other.parent else ()

    for of, word in ((needs_of, "wait for"), (parent_of, "be part of")):
        if task.id and (way := tasks.circle(task.id, of)):
            raise RefusedError(f"{task.id} would {word} itself: {tasks.format_way(way)}")


def claim(store: Store, task_id: str, caller: Caller) -> Task:
    """Claim a task to work on it by hand; no worker takes it then."""
    return _change_task(store, task_id, lambda task: tasks.claim(task, caller, store.now()))


def release(store: Store, task_id: str, caller: Caller) -> Task:
    """End a claim by hand."""

    def change(task: Task) -> TaskChange:
        if task.run or task.state != TaskState.IN_PROGRESS:
            raise RefusedError(f"{task.id} is not claimed by hand: it is {task.state}")
        return tasks.move(task, TaskState.OPEN, caller, store.now(), claimed_by="")

    return _change_task(store, task_id, change)


def close(store: Store, task_id: str, caller: Caller, reason: str = "") -> Task:
    """Close a task as done or not needed; end a run that works on it."""
    return _end_task(store, task_id, caller, TaskState.CLOSED, reason)


def defer(store: Store, task_id: str, caller: Caller, reason: str = "") -> Task:
    """Defer a task until it is reopened; end a run that works on it."""
    return _end_task(store, task_id, caller, TaskState.DEFERRED, reason)


def _end_task(store: Store, task_id: str, caller: Caller, state: TaskState, reason: str) -> Task:
    while True:
        task = get(store, task_id)
        run = store.runs.get(task.run) if task.run else None
        if run and not run.has_ended and task.worked_on:
            why = storable(reason) or f"{task.id} is {state}"
            manage_runs.stop(store, run.id, caller, why, state)
            return get(store, task.id)
        # Only if it is unchanged: a worker may take it now, and that run must be ended.
        change = tasks.move(task, state, caller, store.now(), storable(reason))
        if store.tasks.change(change, task):
            break
    after = get(store, task.id)
    for ask in pending(store, after):
        permit_call.retire(store, ask, caller, f"{after.id} is {state}")
    return after


def reopen(store: Store, task_id: str, caller: Caller, *, fresh: bool = False) -> Task:
    """Reopen a task: continue the folder of the last run, or start fresh from its dependencies."""

    def change(task: Task) -> TaskChange:
        if task.state in (TaskState.OPEN, TaskState.IN_PROGRESS, TaskState.AWAITING_INPUT):
            raise RefusedError(f"{task.id} is {task.state}, so it cannot be reopened")
        again = 0 if fresh else task.run or task.goes_on_from
        # The runs keep the earlier results.
        return tasks.move(
            task, TaskState.OPEN, caller, store.now(), claimed_by="", run=0, goes_on_from=again,
            summary="", details="", confidence=None,
        )  # fmt: skip

    return _change_task(store, task_id, change)


def take_up(store: Store, project: str, digest: str, key: str = "") -> Run | None:
    """Create a run for the first ready task of a project; None if no task is ready.

    The run works in this folder of the project, also if the task was created in another clone.
    """
    while task := store.tasks.next(project, key):
        now = store.now()
        run = Run(
            id=0,
            flow=tasks.FLOW,
            source=SOURCE,
            source_digest=digest,
            prompt=prompt_of(store, task),
            project=project,
            started_by=task.created_by,
            created_at=now,
            task=task.id,
            priority=task.priority,
            project_key=task.project_key,
            host=store.machine.host,
        )
        content = {"flow": run.flow, "task": task.id, "source": digest}
        told = runs.event(EventKind.RUN_STARTED, run, runs.DRIVER, **content)
        if made := store.tasks.take_up(tasks.take_up(task, now), run, [told], task):
            return made
    return None


def prompt_of(store: Store, task: Task) -> str:
    """Return the prompt of the run: the text of the task, quoted if an agent wrote it."""
    words = f"{task.title}\n\n{task.description}".rstrip()
    if agent := _agent_who_wrote(store, task):
        return f"# Task: {task.id}, in the words of {inert_line(agent)}\n\n{quote(words)}"
    return f"# Task: {words}"


def _agent_who_wrote(store: Store, task: Task) -> str:
    """Return the agent that wrote the title or description; empty if a person did."""
    for name in (name for name in ("title", "description") if getattr(task, name)):
        if (wrote := _writer(store, task, name)).startswith("agent:"):
            return wrote
    return ""


def _writer(store: Store, task: Task, name: str) -> str:
    """Return the principal that wrote this field last."""
    wrote = [
        entry.event.actor
        for entry in store.audit.of_subject(task.id)
        if entry.event.kind == EventKind.TASK_CREATED
        or name in entry.event.content.get("changed", ())
    ]
    return wrote[-1] if wrote else ""


def canonical(named: str) -> str:
    """Return the full id for `tm-abc`, `TM-ABC` or `abc`."""
    name = named.strip().lower()
    return name if name.startswith(KIND) else KIND + name


def get(store: Store, named: str) -> Task:
    """Return the task with exactly this id."""
    task_id = canonical(named)
    if found := store.tasks.get(task_id):
        return found
    if ids := store.tasks.matching(task_id, 5) if task_id != KIND else []:
        raise NotFoundError(f"{named} is not a complete id: write {' or '.join(ids)}")
    raise NotFoundError(f"there is no task {storable(named)}. List all: gate task list")


def look_up(store: Store, named: str) -> Task:
    """Return the task whose id starts with this text; for reading only."""
    ids = store.tasks.matching(canonical(named), 6)
    if canonical(named) not in ids and len(ids) > 1:
        raise UsageError(f"{named!r} matches {', '.join(ids[:5])} …: write one of them")
    return get(store, ids[0] if len(ids) == 1 else named)


def history(store: Store, task: Task) -> list[Exchange]:
    """Return every question of the task with its answer, oldest first."""
    return [_exchange(ask) for ask in store.asks.of_task(task.id)]


def pending(store: Store, task: Task) -> list[Ask]:
    """Return the pending asks of the task."""
    return [ask for ask in store.asks.of_task(task.id) if ask.pending]


def _exchange(ask: Ask) -> Exchange:
    answer = ask.decision or ("" if ask.value is None else answer_text(ask, ask.value))
    question = ask.question
    return Exchange(
        ask.id, run_of(ask.origin.owner) or 0, ask.opened_at, question.prompt, plain(question.context), ask.status, answer,
        ask.note, ask.settled_by, ask.settled_at,
    )  # fmt: skip


def waiting_for(store: Store, task: Task) -> list[Task]:
    """Return the open tasks that this task waits for."""
    found = (store.tasks.get(one) for one in task.needs)
    return [one for one in found if one and one.state != TaskState.CLOSED]


def _change_task(store: Store, task_id: str, change: Callable[[Task], TaskChange]) -> Task:
    while True:
        task = get(store, task_id)
        if store.tasks.change(change(task), task):
            return get(store, task.id)


def stale(store: Store, after: timedelta) -> list[tuple[Task, str]]:
    """Return tasks in progress without a worker, each with the reason.

    A task that waits for a person is never stale.
    """
    found = []
    now, left = store.now(), {run.id for run in Abandoned(store).find()}
    for task in store.tasks.list_claimed():
        if task.run in left:
            found.append((task, f"the process that drove run {task.run} is gone"))
        elif not task.run and now - task.updated_at >= after:
            hours = (now - task.updated_at).total_seconds() / 3600
            found.append((task, f"{task.claimed_by} claimed it {hours:.1f} hours ago"))
    return found


def recover(store: Store, task: Task, caller: Caller) -> Task:
    """Open a stale task again; an abandoned run continues where it stopped."""
    if not task.run:
        return release(store, task.id, caller)
    run = store.runs.get(task.run)
    if run and run.state == RunState.RUNNING:
        store.runs.change(runs.release(run), run)
    return get(store, task.id)
