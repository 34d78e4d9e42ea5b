"""Read tasks as people see them: with their questions, answers, runs and related tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.audit.events import EventKind
from gatebell.domain.enums import RunState
from gatebell.domain.tasks.seen_tasks import (
    OpenQuestion,
    RelatedTask,
    SeenTask,
    TaskRun,
    WholeTask,
)
from gatebell.services.runs.see_runs import find_end
from gatebell.services.tasks import backlog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store


def see_task(store: Store, task: Task) -> SeenTask:
    """Return a task with its open questions, and the tasks that it waits for."""
    needed = map(store.tasks.get, task.needs) if task.unmet else ()
    asks = backlog.pending(store, task) if task.worked_on else []
    return SeenTask(task, tuple(map(_read_question, asks)), _list_related(needed))


def see_whole_task(store: Store, task: Task) -> WholeTask:
    """Return a task with all its asks and runs, and all related tasks."""
    needed_by, parts = store.tasks.needing(task.id), store.tasks.beneath(task.id)
    named = map(store.tasks.get, [*task.needs, *([task.parent] if task.parent else [])])
    return WholeTask(
        see_task(store, task)._replace(related=_list_related([*named, *needed_by, *parts])),
        _find_maker(store, task),
        tuple((one, tuple(store.asks.answers(one.ask_id))) for one in backlog.history(store, task)),
        tuple(_describe_run(store, run) for run in store.runs.of_task(task.id)),
        tuple(one.id for one in backlog.waiting_for(store, task)),
        tuple(one.id for one in needed_by),
        tuple(one.id for one in parts),
    )


def _read_question(ask: Ask) -> OpenQuestion:
    question = ask.question
    return OpenQuestion(
        ask.id, question.prompt, question.context, ask.opened_at, tuple(question.options)
    )


def _list_related(tasks: Iterable[Task | None]) -> tuple[RelatedTask, ...]:
    found = {one.id: RelatedTask(one.id, one.state, one.title) for one in tasks if one}
    return tuple(found.values())


def _find_maker(store: Store, task: Task) -> str:
    trail = store.audit.of_subject(task.id)
    made = (one.event.actor for one in trail if one.event.kind == EventKind.TASK_CREATED)
    return next(made, "")


def _describe_run(store: Store, run: Run) -> TaskRun:
    end = find_end(store, run)
    completed = run.state == RunState.COMPLETED
    state = end.state if end else run.state
    return TaskRun(run.id, state, run.branch, run.folder, completed)
