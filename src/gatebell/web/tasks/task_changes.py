"""Create and change tasks over HTTP, as gate task does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.tasks.seen_tasks import seen_document
from gatebell.services.tasks import backlog
from gatebell.services.tasks.see_tasks import see_task
from gatebell.web.runs.run_pages import Document

if TYPE_CHECKING:
    from starlette.responses import Response

    from gatebell.domain.tasks.tasks import Task
    from gatebell.web.context import WebRequest


def create(web_request: WebRequest) -> Response:
    """Create a task in the project that the client names."""
    fields = dict(web_request.body)
    project, key = fields.pop("project"), fields.pop("project_key", "")
    task = backlog.create(web_request.store, project, web_request.caller, fields, key)
    return _reply(web_request, task, 201)


def update(web_request: WebRequest) -> Response:
    store, task_id = web_request.store, web_request.path["id"]
    return _reply(web_request, backlog.update(store, task_id, web_request.caller, web_request.body))


def change_needs(web_request: WebRequest) -> Response:
    """Make a task wait for others, or no longer."""
    body, task_id = web_request.body, web_request.path["id"]
    change = backlog.free if body.get("remove") else backlog.depend
    task = change(web_request.store, task_id, web_request.caller, body["needed"])
    return _reply(web_request, task)


def claim(web_request: WebRequest) -> Response:
    store = web_request.store
    return _reply(web_request, backlog.claim(store, web_request.path["id"], web_request.caller))


def release(web_request: WebRequest) -> Response:
    store = web_request.store
    return _reply(web_request, backlog.release(store, web_request.path["id"], web_request.caller))


def close(web_request: WebRequest) -> Response:
    store, reason = web_request.store, web_request.body.get("reason", "")
    task = backlog.close(store, web_request.path["id"], web_request.caller, reason)
    return _reply(web_request, task)


def defer(web_request: WebRequest) -> Response:
    store, reason = web_request.store, web_request.body.get("reason", "")
    task = backlog.defer(store, web_request.path["id"], web_request.caller, reason)
    return _reply(web_request, task)


def reopen(web_request: WebRequest) -> Response:
    store, fresh = web_request.store, web_request.body.get("fresh", False)
    task = backlog.reopen(store, web_request.path["id"], web_request.caller, fresh=fresh)
    return _reply(web_request, task)


def _reply(web_request: WebRequest, task: Task, status: int = 200) -> Response:
    return Document(seen_document(see_task(web_request.store, task)), status)
