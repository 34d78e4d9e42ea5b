"""Create a task from the browser, in a project that this server has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse

from gatebell.app import environment
from gatebell.domain.enums import Priority
from gatebell.errors import GateError
from gatebell.services.tasks import backlog
from gatebell.web.asks.answer_fields import field, number
from gatebell.web.projects import list_projects, must_have
from gatebell.web.rendering import page

if TYPE_CHECKING:
    from starlette.responses import Response

    from gatebell.web.context import WebRequest


def new_page(web_request: WebRequest) -> Response:
    return _page(web_request, {"project": web_request.query.get("project", "")})


def _page(
    web_request: WebRequest, typed: dict[str, str], status: int = 200, problem: str = ""
) -> Response:
    empty = {"title": "", "description": "", "priority": str(int(Priority.NORMAL))}
    data: dict[str, Any] = {
        "projects": list_projects(web_request.store),
        "typed": empty | typed,
        "priorities": [(int(one), one.word) for one in Priority],
        "problem": problem,
    }
    return page(web_request, "new_task.html", "New task · gatebell", status, **data)


def create(web_request: WebRequest) -> Response:
    """Create a task; a worker takes it up when it is ready."""
    form = web_request.sent_form
    names = ("project", "title", "description", "priority")
    typed = {name: field(form, name) for name in names}
    must_have(web_request.store, typed["project"])
    fields = {
        "title": typed["title"].strip(),
        "description": typed["description"].strip(),
        "priority": number(typed["priority"], Priority.NORMAL, max(Priority)),
    }
    key = environment.project_key(typed["project"])
    try:
        task = backlog.create(web_request.store, typed["project"], web_request.caller, fields, key)
    except GateError as error:
        return _page(web_request, typed, 422, str(error))
    return RedirectResponse(f"/tasks/{task.id}", 303)
