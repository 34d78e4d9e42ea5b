"""Start a flow from the browser, in a project that this server has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse

from gatebell.app import environment, project_files, runtime
from gatebell.errors import GateError
from gatebell.services import members
from gatebell.services.runs import manage_runs
from gatebell.services.runs.manage_runs import RunRequest
from gatebell.web.asks.answer_fields import field
from gatebell.web.projects import list_projects, must_have
from gatebell.web.rendering import page

if TYPE_CHECKING:
    from starlette.responses import Response

    from gatebell.web.context import WebRequest


def new_page(web_request: WebRequest) -> Response:
    """Show the flows of a project, as gate flows lists them; their code is not run."""
    return _page(web_request, web_request.query.get("project", ""))


def _page(
    web_request: WebRequest,
    project: str,
    status: int = 200,
    *,
    chosen: str = "",
    prompt: str = "",
    problem: str = "",
) -> Response:
    projects = list_projects(web_request.store)
    if project not in projects:
        project = projects[0] if projects else ""
    data: dict[str, Any] = {
        "projects": projects,
        "project": project,
        "flows": project_files.flows(project) if project else [],
        "chosen": chosen,
        "typed": prompt,
        "problem": problem,
        "driven": members.has_worker(web_request.store),
    }
    return page(web_request, "new_run.html", "Start a flow · gatebell", status, **data)


def start(web_request: WebRequest) -> Response:
    """Make a run in a worktree of the project; a worker drives it."""
    form = web_request.sent_form
    project, chosen, prompt = (field(form, name) for name in ("project", "flow", "prompt"))
    must_have(web_request.store, project)
    file, _, flow = chosen.rpartition(":")
    try:
        source, digest = project_files.find_listed_flow(project, file, flow)
        key = environment.project_key(project)
        request = RunRequest(flow, source, digest, prompt.strip(), project, project_key=key)
        workspace = runtime.workspace(web_request.store)
        made, _ = manage_runs.start(web_request.store, workspace, request, web_request.caller)
    except GateError as error:
        words = str(error)
        return _page(web_request, project, 422, chosen=chosen, prompt=prompt, problem=words)
    return RedirectResponse(f"/runs/{made.id}", 303)
