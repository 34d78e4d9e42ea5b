"""Runs of flows in the browser and over HTTP: show, stop and resume them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup
from starlette.responses import JSONResponse, RedirectResponse, Response

from gatebell.app import runtime
from gatebell.domain.asks.documents import call_document, turn_document
from gatebell.domain.asks.owners import parse_run_number
from gatebell.domain.runs.seen_runs import seen_run_document
from gatebell.domain.runs.wanted_runs import WantedRun
from gatebell.domain.text.display import inert_line
from gatebell.errors import GateError, RefusedError
from gatebell.services import members
from gatebell.services.asks.apply_deadlines import apply_due
from gatebell.services.runs import manage_runs, placement
from gatebell.services.runs.claims import is_kept
from gatebell.services.runs.run_journal import place_of
from gatebell.services.runs.see_runs import see_run
from gatebell.terminal import task_runs
from gatebell.web.asks import ask_pages, diffs, work_view
from gatebell.web.asks.answer_fields import field, number
from gatebell.web.problems import Problem
from gatebell.web.rendering import page
from gatebell.web.runs import timeline

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run
    from gatebell.web.context import WebRequest

_LISTED = 100
_MAX_LISTED = 1000
_MAX_TITLE = 80


class Document(JSONResponse):
    """Encode JSON with escapes: values of flows may contain half of a surrogate pair."""

    def render(self, content: Any) -> bytes:
        try:
            return super().render(content)
        except UnicodeEncodeError:
            return json.dumps(content).encode()


class Changes(NamedTuple):
    """The changes of the agents of a run."""

    problem: str
    """Why there is nothing to show."""
    diff: Markup = Markup()


def find(web_request: WebRequest) -> Run:
    """Return the run of the path."""
    given = web_request.path["id"]
    number = parse_run_number(given)
    if number is None:
        raise Problem(404, f"expected the number of a run, got {given[:100]!r}")
    apply_due(web_request.store)
    return manage_runs.get(web_request.store, number)


def list_page(web_request: WebRequest) -> Response:
    """Show the active runs, then the others."""
    seq = web_request.store.audit.head().seq
    limit = number(web_request.query.get("limit", ""), _LISTED, _MAX_LISTED)
    apply_due(web_request.store)
    active, ended, more = timeline.list_runs(web_request.store, limit)
    data: dict[str, Any] = {
        "active": active,
        "ended": ended,
        "more": min(_MAX_LISTED, limit * 4) if more and limit < _MAX_LISTED else 0,
        "left_out": more and limit == _MAX_LISTED,
    }
    return page(web_request, "runs.html", "Runs · gatebell", seq=seq, **data)


def run_page(web_request: WebRequest) -> Response:
    """Show one run; its changes only on request, because git may be slow."""
    seq = web_request.store.audit.head().seq
    return _page(web_request, find(web_request), seq=seq)


def _page(
    web_request: WebRequest,
    run: Run,
    status: int = 200,
    *,
    seq: int = 0,
    problem: str = "",
    unsaid: str = "",
) -> Response:
    store, at = web_request.store, web_request.query.get("call", "")
    data: dict[str, Any] = {
        "run": run,
        "standing": timeline.standing(run, task_runs.end_of(store, run)),
        "task": task_runs.task_of(store, run),
        "prompt": timeline.prompt(run),
        "asks": (asks := timeline.list_waiting(store, run)),
        # One form on a page: the others have links.
        "answer": ask_pages.render_answer(web_request, asks[0][0]) if asks else "",
        "working": timeline.working(store, run),
        "driven": members.has_worker(store, run) or is_kept(store, run),
        "result": timeline.result(run),
        "error": timeline.last_words(run.error),
        "timeline": timeline.timeline(store, run, at),
        "at": at,
        "changes": _changes(web_request, run)
        if web_request.query.get("changes") == "shown"
        else None,
        "problem": problem,
        "unsaid": unsaid,
    }
    title = f"{inert_line(work_view.name_run(store, run), _MAX_TITLE)} · gatebell"
    return page(web_request, "run.html", title, status, seq=seq, **data)


def _changes(web_request: WebRequest, run: Run) -> Changes:
    if not os.path.isdir(run.folder):
        return Changes("Its folder does not exist any more, or not yet.")
    try:
        diff = runtime.workspace(web_request.store).diff(place_of(run))
    except GateError as error:
        return Changes(str(error))
    return Changes("", diffs.render(diff)) if diff else Changes("Nothing has changed.")


def stop(web_request: WebRequest) -> Response:
    run, form = find(web_request), web_request.sent_form
    reason = field(form, "reason")
    try:
        manage_runs.stop(web_request.store, run.id, web_request.caller, reason)
    except RefusedError as error:
        current = manage_runs.get(web_request.store, run.id)
        return _page(web_request, current, 409, problem=str(error), unsaid=reason)
    return RedirectResponse(f"/runs/{run.id}", 303)


def resume(web_request: WebRequest) -> Response:
    run = find(web_request)
    try:
        manage_runs.resume(web_request.store, run.id, web_request.caller, moves=False)
    except RefusedError as error:
        return _page(
            web_request, manage_runs.get(web_request.store, run.id), 409, problem=str(error)
        )
    return RedirectResponse(f"/runs/{run.id}", 303)


def list_runs(web_request: WebRequest) -> Response:
    limit = int(web_request.query.get("limit", 100))
    active = web_request.query.get("active", "false") == "true"
    apply_due(web_request.store)
    found = web_request.store.runs.newest(limit, active=active)
    return Document([_document(web_request, run) for run in found])


def show_run(web_request: WebRequest) -> Response:
    """Return a run with its whole journal."""
    run = find(web_request)
    journal = {
        "calls": [call_document(call) for call in web_request.store.runs.calls(run.id)],
        "turns": [turn_document(turn) for turn in web_request.store.runs.turns(run.id)],
    }
    return Document(_document(web_request, run) | journal)


def start_run(web_request: WebRequest) -> Response:
    """Create a run without a folder, for a worker that has a checkout of its project."""
    run = placement.create(web_request.store, WantedRun(**web_request.body), web_request.caller)
    has_worker = members.has_worker(web_request.store, run)
    return Document(_document(web_request, run) | {"has_worker": has_worker}, 201)


def stop_run(web_request: WebRequest) -> Response:
    run, reason = find(web_request), web_request.body.get("reason", "")
    try:
        return Document(
            _document(
                web_request, manage_runs.stop(web_request.store, run.id, web_request.caller, reason)
            )
        )
    except RefusedError as error:
        raise Problem(409, str(error)) from None


def resume_run(web_request: WebRequest) -> Response:
    run, accept = find(web_request), web_request.body.get("accept", "")
    try:
        after = manage_runs.resume(
            web_request.store, run.id, web_request.caller, accept, moves=False
        )
    except RefusedError as error:
        raise Problem(409, str(error)) from None
    return Document(_document(web_request, after))


def _document(web_request: WebRequest, run: Run) -> dict[str, Any]:
    """Return a run as `gate list --json` and `gate status --json` print it."""
    return seen_run_document(see_run(web_request.store, run))
