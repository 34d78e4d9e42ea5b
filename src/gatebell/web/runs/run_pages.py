"""Runs of flows in the browser and over HTTP: looked at, stopped, and taken up again."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup
from starlette.responses import JSONResponse, RedirectResponse, Response

from gatebell.app import locks, runtime
from gatebell.domain.asks.documents import call_document, run_document, turn_document
from gatebell.errors import GateError, RefusedError
from gatebell.services.asks.apply_deadlines import apply_due
from gatebell.services.asks.waiters import make_waiting_document
from gatebell.services.runs import manage_runs
from gatebell.services.runs.claims import is_kept
from gatebell.services.runs.run_journal import place_of
from gatebell.terminal import task_runs
from gatebell.web.asks import diffs
from gatebell.web.asks.answer_fields import field, number
from gatebell.web.problems import Problem
from gatebell.web.rendering import page
from gatebell.web.runs import timeline

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run
    from gatebell.web.context import Visit

_LISTED = 100
_MAX_LISTED = 1000
_MAX_DIGITS = 18


class Document(JSONResponse):
    """What flows hand on may hold half of a surrogate pair, which only goes out escaped."""

    def render(self, content: Any) -> bytes:
        try:
            return super().render(content)
        except UnicodeEncodeError:
            return json.dumps(content).encode()


class Changes(NamedTuple):
    """What the agents of a run have changed."""

    trouble: str
    """Why there is nothing to show."""
    diff: Markup = Markup()


def find(visit: Visit) -> Run:
    """The run of the path."""
    given = visit.path["id"]
    if not (given.isascii() and given.isdecimal() and len(given) <= _MAX_DIGITS):
        raise Problem(404, f"{given[:100]!r} is no run: runs have numbers")
    apply_due(visit.store)
    return manage_runs.get(visit.store, int(given))


def list_page(visit: Visit) -> Response:
    """The active runs, then the others."""
    seq = visit.store.audit.head().seq
    limit = number(visit.query.get("limit", ""), _LISTED, _MAX_LISTED)
    apply_due(visit.store)
    active, ended, more = timeline.list_runs(visit.store, limit)
    data: dict[str, Any] = {
        "active": active,
        "ended": ended,
        "more": min(_MAX_LISTED, limit * 4) if more and limit < _MAX_LISTED else 0,
        "left_out": more and limit == _MAX_LISTED,
    }
    return page(visit, "runs.html", "Runs · gatebell", seq=seq, **data)


def run_page(visit: Visit) -> Response:
    """One run; what its agents have changed only if that is asked for, for git may take long."""
    seq = visit.store.audit.head().seq
    return _page(visit, find(visit), seq=seq)


def _page(
    visit: Visit, run: Run, status: int = 200, *, seq: int = 0, trouble: str = "", unsaid: str = ""
) -> Response:
    store, at = visit.store, visit.query.get("call", "")
    data: dict[str, Any] = {
        "run": run,
        "standing": timeline.standing(run, task_runs.end_of(store, run)),
        "task": task_runs.task_of(store, run),
        "prompt": timeline.prompt(run),
        "asks": timeline.list_waiting(store, run),
        "working": timeline.working(store, run),
        "driven": locks.is_worked_at(store.path) or is_kept(store, run),
        "result": timeline.result(run),
        "error": timeline.last_words(run.error),
        "timeline": timeline.timeline(store, run, at),
        "at": at,
        "changes": _changes(visit, run) if visit.query.get("changes") == "shown" else None,
        "trouble": trouble,
        "unsaid": unsaid,
    }
    title = f"Run {run.id} · gatebell"
    return page(visit, "run.html", title, status, seq=seq, **data)


def _changes(visit: Visit, run: Run) -> Changes:
    if not os.path.isdir(run.folder):
        return Changes("Its folder is not there any more, or not yet.")
    try:
        diff = runtime.workspace(visit.store).diff(place_of(run))
    except GateError as error:
        return Changes(str(error))
    return Changes("", diffs.render(diff)) if diff else Changes("Nothing has changed.")


def stop(visit: Visit) -> Response:
    run, form = find(visit), visit.form
    assert form is not None
    reason = field(form, "reason")
    try:
        manage_runs.stop(visit.store, run.id, visit.caller, reason)
    except RefusedError as error:
        current = manage_runs.get(visit.store, run.id)
        return _page(visit, current, 409, trouble=str(error), unsaid=reason)
    return RedirectResponse(f"/runs/{run.id}", 303)


def resume(visit: Visit) -> Response:
    run = find(visit)
    try:
        manage_runs.resume(visit.store, run.id, visit.caller)
    except RefusedError as error:
        return _page(visit, manage_runs.get(visit.store, run.id), 409, trouble=str(error))
    return RedirectResponse(f"/runs/{run.id}", 303)


def list_runs(visit: Visit) -> Response:
    limit = int(visit.query.get("limit", 100))
    active = visit.query.get("active", "false") == "true"
    apply_due(visit.store)
    found = visit.store.runs.newest(limit, active=active)
    return Document([_document(visit, run) for run in found])


def show_run(visit: Visit) -> Response:
    """A run with its whole journal."""
    run = find(visit)
    journal = {
        "calls": [call_document(call) for call in visit.store.runs.calls(run.id)],
        "turns": [turn_document(turn) for turn in visit.store.runs.turns(run.id)],
    }
    return Document(_document(visit, run) | journal)


def stop_run(visit: Visit) -> Response:
    run, reason = find(visit), visit.body.get("reason", "")
    try:
        return Document(
            _document(visit, manage_runs.stop(visit.store, run.id, visit.caller, reason))
        )
    except RefusedError as error:
        raise Problem(409, str(error)) from None


def resume_run(visit: Visit) -> Response:
    run = find(visit)
    try:
        return Document(_document(visit, manage_runs.resume(visit.store, run.id, visit.caller)))
    except RefusedError as error:
        raise Problem(409, str(error)) from None


def _document(visit: Visit, run: Run) -> dict[str, Any]:
    """As `gate list --json` and `gate status --json` print it."""
    asks = [] if run.has_ended else visit.store.asks.pending_of_run(run.id)
    return run_document(run) | make_waiting_document(visit.store, asks)
