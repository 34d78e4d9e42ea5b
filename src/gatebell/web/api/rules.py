"""Routes for being asked less: suggestions, shadow rules, and the numbers of a period."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

from gatebell.domain.asks.history_filters import parse_filter
from gatebell.domain.stats import stats_document
from gatebell.services.permissions import rule_reports
from gatebell.services.stats import read_stats
from gatebell.web.api.endpoints import find

if TYPE_CHECKING:
    from starlette.responses import Response

    from gatebell.web.context import WebRequest


def list_suggestions(web_request: WebRequest) -> Response:
    """Return the patterns that people always approved in a project."""
    project = web_request.query.get("project", "")
    found = rule_reports.list_suggestions(web_request.store, web_request.caller, project)
    return JSONResponse(found)


def show_suggestion(web_request: WebRequest) -> Response:
    """Return the pattern that the card of an ask offers to allow always."""
    found = rule_reports.find_suggestion(web_request.store, find(web_request))
    return JSONResponse({"suggested_rule": found})


def replay_rule(web_request: WebRequest) -> Response:
    """Replay history, and perhaps begin a shadow rule."""
    body = web_request.body
    found = rule_reports.replay_rule(
        web_request.store, web_request.caller, body["project"], body["pattern"],
        body.get("shadow_days"),
    )  # fmt: skip
    return JSONResponse(found)


def list_shadows(web_request: WebRequest) -> Response:
    """Return the shadow rules, with what people decided beside them."""
    return JSONResponse(rule_reports.list_shadows(web_request.store, web_request.caller))


def promote(web_request: WebRequest) -> Response:
    """Make a shadow rule a grant."""
    named = web_request.body["promote"]
    return JSONResponse(rule_reports.promote(web_request.store, web_request.caller, named), 201)


def remove_shadow(web_request: WebRequest) -> Response:
    """Remove a shadow rule."""
    named = web_request.query.get("named", "")
    return JSONResponse(rule_reports.remove(web_request.store, web_request.caller, named))


def show_stats(web_request: WebRequest) -> Response:
    """Return the numbers of a period."""
    query, store = web_request.query, web_request.store
    given = {name: query.get(name, "") for name in ("since", "until")}
    wanted = parse_filter(given, store.now())
    found = read_stats(store, wanted.since, wanted.until, query.get("project", ""))
    return JSONResponse(stats_document(found))
