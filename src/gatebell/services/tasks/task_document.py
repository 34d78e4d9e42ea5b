"""Build the JSON document of a task that every face gives to programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import iso
from gatebell.domain.asks.documents import answer_document, task_document
from gatebell.services.tasks import backlog

if TYPE_CHECKING:
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store
    from gatebell.services.tasks.backlog import Exchange


def recount(store: Store, task: Task) -> dict[str, Any]:
    """Return a task with the asks that it waits for."""
    asked = [
        {
            "ask": ask.id,
            "question": ask.question.prompt,
            "context": ask.question.context,
            "asked_at": iso(ask.opened_at),
        }
        for ask in (backlog.pending(store, task) if task.worked_on else [])
    ]
    return task_document(task) | {"questions": asked}


def recount_all(store: Store, task: Task) -> dict[str, Any]:
    """Return a task with all its asks, its runs, and the related tasks."""
    return recount(store, task) | {
        "history": [_exchange(store, one) for one in backlog.history(store, task)],
        "runs": [run.id for run in store.runs.of_task(task.id)],
        "waits_for": [one.id for one in backlog.waiting_for(store, task)],
        "needed_by": [one.id for one in store.tasks.needing(task.id)],
        "parts": [one.id for one in store.tasks.beneath(task.id)],
    }


def _exchange(store: Store, exchange: Exchange) -> dict[str, Any]:
    times = {"asked_at": iso(exchange.asked_at), "answered_at": iso(exchange.answered_at)}
    answers = [answer_document(one) for one in store.asks.answers(exchange.ask_id)]
    return exchange._asdict() | times | {"answers": answers}
