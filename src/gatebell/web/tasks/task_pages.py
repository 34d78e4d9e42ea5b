"""Tasks in the browser and over HTTP, read-only; `task_changes.py` has the changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from gatebell.domain.tasks.seen_tasks import events_document, seen_document, whole_document
from gatebell.services.asks.apply_deadlines import sweep
from gatebell.services.tasks import backlog
from gatebell.services.tasks.see_tasks import see_task, see_whole_task
from gatebell.services.tasks.task_events import EventReader
from gatebell.web.asks.answer_fields import number
from gatebell.web.rendering import page
from gatebell.web.runs.run_pages import Document
from gatebell.web.tasks import task_views

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from gatebell.ports.store import Store
    from gatebell.web.context import WebRequest

_LISTED = 50
_MAX_LISTED = 1000


def tree_page(web_request: WebRequest) -> Response:
    """Show the tasks of one project as a tree, with their asks."""
    store, query = web_request.store, web_request.query
    seq = store.audit.head().seq
    projects = store.tasks.projects()
    waiting = [one for one in projects if store.tasks.page(one, "awaiting", 1)]
    project = query.get("project") or _first(projects, waiting)
    closed = query.get("all") == "1"
    limit = number(query.get("limit", ""), _LISTED, _MAX_LISTED)
    tree = task_views.tree(store, project, limit, closed=closed)
    data: dict[str, Any] = {
        "projects": projects,
        "with_questions": waiting,
        "project": project,
        "tree": tree,
        "closed": _how_many_closed(store, project),
        "all": closed,
        "other": _address(project, limit, closed=not closed),
        "more": _address(project, min(_MAX_LISTED, limit * 4), closed=closed)
        if tree.left and limit < _MAX_LISTED
        else "",
    }
    return page(web_request, "tasks.html", "Tasks · gatebell", seq=seq, **data)


def _first(projects: Sequence[str], waiting: Sequence[str]) -> str:
    """Return the project with waiting questions, or else the first one."""
    return next(iter([*waiting, *projects]), "")


def _how_many_closed(store: Store, project: str) -> int:
    return store.tasks.how_many(project, closed=True) - store.tasks.how_many(project, closed=False)


def _address(project: str, limit: int, *, closed: bool) -> str:
    wanted = {"project": project}
    wanted |= {"all": "1"} if closed else {}
    wanted |= {"limit": str(limit)} if limit != _LISTED else {}
    return f"/tasks?{urlencode(wanted, errors='replace')}"


def task_page(web_request: WebRequest) -> Response:
    """Show one task with its history, runs and related tasks."""
    store = web_request.store
    seq = store.audit.head().seq
    task = backlog.get(store, web_request.path["id"])
    asks, runs = store.asks.of_task(task.id), store.runs.of_task(task.id)
    asked, before = task_views.list_asked(asks)
    data: dict[str, Any] = {
        "task": task,
        "seen": task_views.Seen(task),
        "asks": [ask for ask in asks if ask.pending],
        "held": task_views.held_up(store, task),
        "texts": task_views.texts(task),
        "kin": task_views.kin(store, task),
        "asked": asked,
        "before": before,
        "runs": task_views.runs(store, runs),
        "last": runs[-1] if runs else None,
        "tree_of": _address(task.project, _LISTED, closed=False),
    }
    return page(web_request, "task.html", f"{task.id} · gatebell", seq=seq, **data)


def list_tasks(web_request: WebRequest) -> Response:
    """Return one of the lists, of a project or of all."""
    store, query = web_request.store, web_request.query
    sweep(store)
    limit, which = int(query.get("limit", 100)), query.get("which", "unfinished")
    one = query.get("project")
    # Without a project, each folder has its own list.
    places = (
        [(folder, "") for folder in store.tasks.projects()]
        if one is None
        else [(one, query.get("project_key", ""))]
    )
    found: list[dict[str, Any]] = []
    for folder, key in places:
        listed = store.tasks.page(folder, which, limit - len(found), key)
        found += [seen_document(see_task(store, task)) for task in listed]
    return Document(found)


def list_projects(web_request: WebRequest) -> Response:
    return Document(web_request.store.tasks.projects())


def list_events(web_request: WebRequest) -> Response:
    """Return the newest events of tasks, or those after a number."""
    query, limit = web_request.query, int(web_request.query.get("limit", 100))
    named = (query.get(name, "") for name in ("task", "project", "project_key"))
    reader = EventReader(web_request.store, *named)
    found = (
        reader.read_after(int(query["after"]), limit)
        if "after" in query
        else reader.read_newest(limit)
    )
    return Document(events_document(found))


def show_task(web_request: WebRequest) -> Response:
    store, named = web_request.store, web_request.path["id"]
    sweep(store)
    find = backlog.look_up if web_request.query.get("by") == "beginning" else backlog.get
    return Document(whole_document(see_whole_task(store, find(store, named))))
