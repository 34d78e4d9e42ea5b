"""Routes for commands on other machines: who I am, notes, signals, rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response

from gatebell.domain.asks.asks import iso
from gatebell.domain.digests import text_digest
from gatebell.domain.enums import RuleKind
from gatebell.services import members
from gatebell.services.asks import wait_for_ask
from gatebell.services.asks.waiters import make_ask_document
from gatebell.services.notifications import notes
from gatebell.services.permissions import manage_rules
from gatebell.services.runs import manage_runs
from gatebell.web.api.endpoints import find
from gatebell.web.api.permissions import agent_caller, build_origin
from gatebell.web.problems import Problem
from gatebell.web.runs import run_pages

if TYPE_CHECKING:
    from gatebell.domain.permissions.rules import Rule
    from gatebell.web.context import WebRequest


def show_me(web_request: WebRequest) -> Response:
    """Return the person and the scopes of the token."""
    who = web_request.who
    return JSONResponse(
        {
            "person": who.person,
            "scopes": list(who.scopes),
            "token_id": who.token_id,
            "may_approve": web_request.caller.verified and "answer" in who.scopes,
        }
    )


def hear(web_request: WebRequest) -> Response:
    """Record how many messages of people the asker got."""
    ask = find(web_request)
    if not web_request.is_own_ask(ask):
        raise Problem(403, f"another client opened {ask.id}: only that client hears its messages")
    heard = min(web_request.body["messages"], ask.asked_back)
    wait_for_ask.hear(web_request.store, ask._replace(asked_back=heard))
    return Response(status_code=204)


def leave_note(web_request: WebRequest) -> Response:
    """Leave a note that the inbox shows."""
    origin, named = build_origin(web_request), web_request.body.get("session", "")
    web_request.count_for_session(named, origin.session)
    caller = agent_caller(web_request, named)
    notes.tell(web_request.store, origin, caller, web_request.body["text"])
    return Response(status_code=204)


def list_notes(web_request: WebRequest) -> Response:
    found = web_request.store.notes.newest(int(web_request.query.get("limit", 100)))
    return JSONResponse([note._asdict() | {"sent_at": iso(note.sent_at)} for note in found])


def signal(web_request: WebRequest) -> Response:
    """Keep a note and an event of an agent's report."""
    body, origin = web_request.body, build_origin(web_request)
    web_request.count_for_session(body.get("session", ""), origin.session)
    caller = agent_caller(web_request, body.get("session", ""))
    notes.signal(web_request.store, origin, caller, body["status"], body.get("summary", ""))
    return Response(status_code=204)


def signal_run(web_request: WebRequest) -> Response:
    """Give a run the signal that it waits for."""
    body, run = web_request.body, run_pages.find(web_request)
    caller = web_request.caller
    ask = manage_runs.signal(
        web_request.store, run.id, body["status"], body.get("message", ""), caller
    )
    return JSONResponse(make_ask_document(web_request.store, ask))


def show_worker(web_request: WebRequest) -> Response:
    return JSONResponse({"running": members.has_worker(web_request.store)})


def list_rules(web_request: WebRequest) -> Response:
    """Return gates and denials, or grants."""
    list_ = manage_rules.grants if _which(web_request) == "grants" else manage_rules.gates
    response = JSONResponse([_document(rule) for rule in list_(web_request.store)])
    tag = f'"{text_digest(bytes(response.body).decode())}"'
    # A client may keep it, but must ask each time whether it still holds.
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    given = web_request.headers.get("if-none-match", "")
    known = {one.strip().removeprefix("W/") for one in given.split(",")}
    if known & {tag, "*"}:
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return response


def add_rule(web_request: WebRequest) -> Response:
    """Add a gate or a denial."""
    body, kind = web_request.body, RuleKind(web_request.body["kind"])
    rule = manage_rules.add(
        web_request.store,
        web_request.caller,
        kind,
        body.get("project", ""),
        body["pattern"],
        body.get("project_key", ""),
    )
    return JSONResponse(_document(rule), 201)


def end_rule(web_request: WebRequest) -> Response:
    """End a gate, a denial or a grant."""
    end = manage_rules.end_grant if _which(web_request) == "grants" else manage_rules.end_gate
    named = web_request.query.get("named", "")
    return JSONResponse(_document(end(web_request.store, web_request.caller, named)))


def _which(web_request: WebRequest) -> str:
    return web_request.query.get("which", "gates")


def _document(rule: Rule) -> dict[str, Any]:
    return rule._asdict() | {"made_at": iso(rule.made_at), "expires_at": iso(rule.expires_at)}
