"""Tasks as people see them, with their questions and related tasks, and their JSON in both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.asks import iso
from gatebell.domain.asks.document_reader import (
    read_answer,
    read_entry,
    read_optional,
    read_time,
)
from gatebell.domain.asks.documents import answer_document, entry_document, task_document
from gatebell.domain.enums import AskStatus, TaskState
from gatebell.domain.tasks.task_reader import read_task

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.asks.answers import Answer
    from gatebell.domain.audit.events import Entry
    from gatebell.domain.tasks.tasks import Task


class OpenQuestion(NamedTuple):
    """A pending ask of a task."""

    ask: str
    question: str
    context: Any
    asked_at: datetime
    options: Sequence[str] = ()


class RelatedTask(NamedTuple):
    """Another task that a task names, or that names it."""

    id: str
    state: TaskState
    title: str


class SeenTask(NamedTuple):
    """A task with its open questions."""

    task: Task
    questions: Sequence[OpenQuestion] = ()
    related: Sequence[RelatedTask] = ()
    """Of a task that waits for others: those that it needs. Deleted ones are missing."""


class Exchange(NamedTuple):
    """One question of a task, and its result."""

    ask_id: str
    run: int
    """0: asked by the person or agent that claimed the task by hand."""
    asked_at: datetime
    question: str
    context: Any
    status: AskStatus
    answer: str
    note: str
    who: str
    answered_at: datetime | None


class TaskRun(NamedTuple):
    """A run that worked on a task."""

    id: int
    state: str
    """The state of the task after it, or of the run itself."""
    branch: str
    folder: str
    completed: bool


class WholeTask(NamedTuple):
    """A task with everything about it."""

    seen: SeenTask
    """Its related tasks are all that exist: needed ones, its parent, its parts, and dependents."""
    made_by: str
    """The principal that created it: a person, or an agent for a person."""
    history: Sequence[tuple[Exchange, Sequence[Answer]]]
    """Each question with all its answers, also refused ones."""
    runs: Sequence[TaskRun]
    waits_for: Sequence[str]
    needed_by: Sequence[str]
    parts: Sequence[str]

    @property
    def task(self) -> Task:
        return self.seen.task


class TaskEvent(NamedTuple):
    """An event of the audit trail about a task."""

    entry: Entry
    words: str
    """Its details: the question, the reason, or the changed fields."""


class TaskEvents(NamedTuple):
    """Some events, and the number up to which the trail was read."""

    head: int
    events: Sequence[TaskEvent]


def seen_document(seen: SeenTask) -> dict[str, Any]:
    """Return a task with its open questions as JSON."""
    return task_document(seen.task) | {
        "questions": [
            one._asdict() | {"asked_at": iso(one.asked_at), "options": list(one.options)}
            for one in seen.questions
        ],
        "related": [one._asdict() for one in seen.related],
    }


def whole_document(whole: WholeTask) -> dict[str, Any]:
    """Return a task with everything about it as JSON."""
    return seen_document(whole.seen) | {
        "made_by": whole.made_by,
        "history": [_exchange_document(*one) for one in whole.history],
        "runs": [run.id for run in whole.runs],
        "run_details": [run._asdict() for run in whole.runs],
        "waits_for": list(whole.waits_for),
        "needed_by": list(whole.needed_by),
        "parts": list(whole.parts),
    }


def _exchange_document(exchange: Exchange, answers: Sequence[Answer]) -> dict[str, Any]:
    times = {"asked_at": iso(exchange.asked_at), "answered_at": iso(exchange.answered_at)}
    return exchange._asdict() | times | {"answers": [answer_document(one) for one in answers]}


def read_seen_task(document: dict[str, Any]) -> SeenTask:
    """Return the task of `seen_document`."""
    return SeenTask(
        read_task(document),
        tuple(_read_question(one) for one in document["questions"]),
        tuple(
            RelatedTask(one["id"], TaskState(one["state"]), one["title"])
            for one in document["related"]
        ),
    )


def read_whole_task(document: dict[str, Any]) -> WholeTask:
    """Return the task of `whole_document`."""
    return WholeTask(
        read_seen_task(document),
        document["made_by"],
        tuple(_read_exchange(one) for one in document["history"]),
        tuple(TaskRun(**one) for one in document["run_details"]),
        tuple(document["waits_for"]),
        tuple(document["needed_by"]),
        tuple(document["parts"]),
    )


def _read_question(document: dict[str, Any]) -> OpenQuestion:
    given = {"asked_at": read_time(document["asked_at"]), "options": tuple(document["options"])}
    return OpenQuestion(**document | given)


def _read_exchange(document: dict[str, Any]) -> tuple[Exchange, Sequence[Answer]]:
    given = {name: document[name] for name in Exchange._fields}
    given |= {
        "asked_at": read_time(document["asked_at"]),
        "answered_at": read_optional(document["answered_at"]),
        "status": AskStatus(document["status"]),
    }
    return Exchange(**given), tuple(map(read_answer, document["answers"]))


def events_document(events: TaskEvents) -> dict[str, Any]:
    """Return events of tasks as JSON."""
    found = [entry_document(one.entry) | {"words": one.words} for one in events.events]
    return {"head": events.head, "events": found}


def read_task_events(document: dict[str, Any]) -> TaskEvents:
    """Return the events of `events_document`."""
    found = [TaskEvent(read_entry(one), one["words"]) for one in document["events"]]
    return TaskEvents(document["head"], found)
