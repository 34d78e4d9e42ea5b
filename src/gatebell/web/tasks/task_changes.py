"""Change the state of tasks over HTTP, as gate task claim, release, close, defer and reopen do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.services.tasks import backlog
from gatebell.services.tasks.task_document import recount
from gatebell.web.runs.run_pages import Document

if TYPE_CHECKING:
    from starlette.responses import Response

    from gatebell.domain.tasks.tasks import Task
    from gatebell.web.context import WebRequest


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


def _reply(web_request: WebRequest, task: Task) -> Response:
    return Document(recount(web_request.store, task))
