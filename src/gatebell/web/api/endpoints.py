"""The HTTP API: JSON in and out, for agents that ask and for programs that answer for people."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from sse_starlette import EventSourceResponse
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.deadlines import Escalation
from gatebell.domain.asks.documents import (
    answer_document,
    entry_document,
    message_document,
    token_document,
)
from gatebell.domain.asks.history_filters import parse_filter
from gatebell.domain.enums import AskStatus
from gatebell.domain.people.logins import PERSONAL
from gatebell.domain.people.principals import Sighting, person
from gatebell.domain.permissions.rules import Scope
from gatebell.domain.sessions.visits import Terms
from gatebell.services.asks import answer_ask, ask_messages, create_ask, wait_for_ask
from gatebell.services.asks.apply_deadlines import fall_due, sweep
from gatebell.services.asks.create_ask import Request
from gatebell.services.asks.waiters import make_ask_document
from gatebell.services.people import manage_people
from gatebell.web.admission import is_still_admitted
from gatebell.web.asks.uploads import find_uploads
from gatebell.web.live import ADMISSION_CHANGED, MAX_BEHIND, event_data
from gatebell.web.problems import Problem, problem_of
from gatebell.web.waits import hide_untaken

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.requests import Opened
    from gatebell.domain.people.principals import Caller
    from gatebell.web.context import WebRequest

# Per request; a list of many of them must still load quickly.
_LARGEST_CONTEXT = 200_000
# A client that does not read is disconnected.
_READS_WITHIN_SECONDS = 30.0
# The rights of a stream are checked again from time to time.
_MAX_STREAM_SECONDS = 900.0


def list_asks(web_request: WebRequest) -> Response:
    sweep(web_request.store)
    limit, query = int(web_request.query.get("limit", 100)), web_request.query
    if "session" in query:
        own = web_request.session(query["session"])
        found = web_request.store.asks.pending_of_session(own) if web_request.who.token_id else []
    elif "read" not in web_request.who.scopes:
        raise Problem(403, "this needs the scope read, or the session of your own asks")
    elif "task" in query:
        found = web_request.store.asks.of_task(query["task"].lower())
    elif "run" in query:
        found = web_request.store.asks.of_run(int(query["run"]))
    elif query.get("status", AskStatus.PENDING) == AskStatus.PENDING:
        found = web_request.store.asks.pending(
            limit, query.get("project"), query.get("project_key", "")
        )
    else:
        wanted = parse_filter(dict(query), web_request.store.now())
        found = web_request.store.asks.list_settled(limit, wanted)
    return JSONResponse([make_ask_document(web_request.store, ask) for ask in found])


def count_asks(web_request: WebRequest) -> Response:
    counts = web_request.store.asks.waiting_counts()
    return JSONResponse([{"project": project, "waiting": number} for project, number in counts])


def open_ask(web_request: WebRequest) -> Opened:
    """Open the ask of a request; `opening.py` waits for it and replies."""
    given: dict[str, Any] = dict(web_request.body)
    may_change = "answer" in web_request.who.scopes
    if given.get("owner") and not may_change:
        # Not by the task: this token must not learn which tasks exist or who claimed them.
        raise Problem(403, "this token may not change tasks, so it cannot ask for one: ask without")
    named = given.pop("session", "")
    session = web_request.session(named)
    web_request.count_for_session(named, session)
    origin = Origin(
        project=given.pop("project", ""),
        project_key=given.pop("project_key", ""),
        cwd=given.pop("cwd", ""),
        agent=web_request.name_asker(given.pop("agent", "")),
        session=session,
        tool_use_id=given.pop("tool_use_id", ""),
        started_by=person(web_request.who.person),
        owner=given.pop("owner", ""),
    )
    terms, host = given.pop("terms", None), given.pop("host", "")
    steps = tuple(Escalation(**step) for step in given.pop("escalations", ()))
    options = tuple(given.pop("options", ()))
    files = find_uploads(web_request, given.pop("attachments", ()))
    given |= {"attachments": files} if files else {}
    request = Request(options=options, escalations=steps, session=terms and Terms(**terms), **given)
    caller = _describe_asker(web_request, session)
    # A session works in a folder of the machine that asks, never in one of this machine.
    caller = caller._replace(evidence=caller.evidence | {"host": host or web_request.address})
    if len(json.dumps(request.context)) > _LARGEST_CONTEXT:
        raise Problem(413, f"the context is too long: at most {_LARGEST_CONTEXT} characters here")
    # A task waits for the ask only if the person of this token has claimed it.
    claimer = person(web_request.who.person) if may_change else ""
    opened = create_ask.ask(
        web_request.store, request, origin, caller, _key(web_request, "ask"), claimer
    )
    if not web_request.is_own_ask(opened.ask) and "read" not in web_request.who.scopes:
        raise Problem(403, "another client has asked this already: only that client sees it")
    return opened


def _describe_asker(web_request: WebRequest, session: str) -> Caller:
    """Return the caller as the agent of a session of its token.

    Whatever else the token may do, a caller here is the asker, not a person at a screen.
    """
    prefix, _, name = session.partition("/")
    agent = Sighting(prefix, name, "it asked over HTTP")
    return web_request.caller._replace(verified=False, agent=agent)


def show_opened(web_request: WebRequest, opened: Opened) -> Response:
    """Return the ask that a request has opened, or found."""
    document = {
        "ask": _shown(web_request, opened.ask),
        "token": opened.token,
        "attached": opened.attached,
    }
    return JSONResponse(document, 200 if opened.attached else 201)


def _key(web_request: WebRequest, kind: str = "") -> str:
    """Return the idempotency key; a key of an ask belongs to its sender, like keys of answers."""
    key = web_request.headers.get("idempotency-key", "")
    if len(key) > 200:
        raise Problem(400, "the idempotency key is too long: at most 200 characters")
    whose = web_request.who.token_id or web_request.who.person
    return f"{kind} {whose} {key}" if key and kind else key


def find(web_request: WebRequest) -> Ask:
    """Return the ask of the path after its deadlines. A token that may only ask sees its own asks."""
    if {"read", "answer"} & set(web_request.who.scopes):
        ways = {"name": create_ask.find, "beginning": create_ask.look_up}
        way = ways.get(web_request.query.get("by", ""), create_ask.get)
        return fall_due(web_request.store, way(web_request.store, web_request.path["id"]))
    ask = web_request.store.asks.get(web_request.path["id"].lower())
    if ask is None or not web_request.is_own_ask(ask):
        raise Problem(404, f"there is no ask {web_request.path['id']} of yours")
    return fall_due(web_request.store, ask)


def show_ask(web_request: WebRequest) -> Response:
    return JSONResponse(_shown(web_request, find(web_request)))


def _shown(web_request: WebRequest, ask: Ask) -> dict[str, Any]:
    """Return the ask; its asker sees that it is answered, and gets the answer by taking it."""
    document = make_ask_document(web_request.store, ask)
    return hide_untaken(ask, document) if web_request.is_own_ask(ask) else document


def take(web_request: WebRequest) -> Response:
    """Hand the answer over, and record that once it is sent."""
    ask = find(web_request)
    if not web_request.is_own_ask(ask):
        raise Problem(403, f"another client opened {ask.id}: only that client can take its answer")
    value = wait_for_ask.reveal(web_request.store, ask, web_request.body.get("token", ""))
    if web_request.body.get("keep"):
        # Its asker takes it again once it has handed it over; a secret is then erased.
        return JSONResponse(make_ask_document(web_request.store, ask) | {"value": value})
    # A person's token may take what its agent asked: the session that asked is the taker.
    taker = _describe_asker(web_request, ask.origin.session).actor
    done = BackgroundTask(wait_for_ask.take, web_request.store, ask, taker)
    return JSONResponse(
        make_ask_document(web_request.store, ask) | {"value": value}, background=done
    )


def give_answer(web_request: WebRequest) -> Response:
    body = web_request.body
    scope = Scope(body["for"], body.get("pattern", "")) if "for" in body else None
    key = _key(web_request)
    files = find_uploads(web_request, body.get("attachments", ()))
    given = Given(body["value"], body.get("note", ""), body.get("digest"), key, scope, files)
    _, ask = answer_ask.answer(web_request.store, find(web_request).id, web_request.caller, given)
    return JSONResponse(make_ask_document(web_request.store, ask), 201)


def give_answers(web_request: WebRequest) -> Response:
    """Give one answer to several asks with the same question."""
    shown = [(one["id"], one["digest"]) for one in web_request.body["asks"]]
    key = _key(web_request)
    given = Given(web_request.body["value"], web_request.body.get("note", ""), None, key)
    results = answer_ask.answer_alike(web_request.store, shown, web_request.caller, given)
    return JSONResponse(
        [
            {
                "id": ask.id,
                "status": ask.status,
                "problem": problem_of(error).detail if error else None,
            }
            for ask, error in results
        ]
    )


def list_answers(web_request: WebRequest) -> Response:
    found = web_request.store.asks.answers(find(web_request).id)
    return JSONResponse([answer_document(answer) for answer in found])


def list_messages(web_request: WebRequest) -> Response:
    found = web_request.store.asks.messages(find(web_request).id)
    return JSONResponse([message_document(message) for message in found])


def say(web_request: WebRequest) -> Response:
    """Let a person ask back, or the asker reply."""
    ask, text = find(web_request), web_request.body["text"]
    if web_request.is_own_ask(ask):
        ask_messages.reply(web_request.store, ask.id, web_request.caller, text)
        wait_for_ask.hear(web_request.store, ask)
    elif "answer" in web_request.who.scopes:
        ask_messages.ask_back(web_request.store, ask.id, web_request.caller, text)
    else:
        raise Problem(403, f"another client opened {ask.id}: only that client can reply")
    return list_messages(web_request)


def get_draft(web_request: WebRequest) -> Response:
    return JSONResponse(
        {"text": answer_ask.draft(web_request.store, find(web_request).id, web_request.caller)}
    )


def put_draft(web_request: WebRequest) -> Response:
    answer_ask.save_draft(
        web_request.store, find(web_request).id, web_request.caller, web_request.body["text"]
    )
    return Response(status_code=204)


def cancel(web_request: WebRequest) -> Response:
    ask = find(web_request)
    if "answer" not in web_request.who.scopes and not web_request.is_own_ask(ask):
        raise Problem(403, f"another client opened {ask.id}: only that client can withdraw it")
    reason = web_request.body.get("reason", "")
    after = create_ask.cancel(web_request.store, ask.id, web_request.caller, reason)
    return JSONResponse(make_ask_document(web_request.store, after))


def ask_events(web_request: WebRequest) -> Response:
    found = web_request.store.audit.of_subject(find(web_request).id)
    return JSONResponse([entry_document(entry) for entry in found])


def list_events(web_request: WebRequest) -> Response:
    """Return the audit trail after a number, oldest first."""
    after, limit = int(web_request.query.get("after", 0)), int(web_request.query.get("limit", 100))
    found: list[dict[str, Any]] = []
    for entry in web_request.store.audit.entries(after):
        if len(found) == limit:
            break
        found.append(entry_document(entry))
    return JSONResponse(found)


async def stream(web_request: WebRequest) -> Response:
    """Stream changes; a client that comes back names the last event that it saw."""
    hub, loop = web_request.web_context.hub, asyncio.get_running_loop()
    last = web_request.headers.get("last-event-id", "")
    # Of a browser, which shows a page; a program that listens is not a sign of a person.
    person = web_request.who.person if web_request.csrf else ""

    async def send_events() -> AsyncIterator[dict[str, Any]]:
        until = loop.time() + _MAX_STREAM_SECONDS
        with hub.stream() as queue, hub.attendance.attend(person):
            seen = hub.seq
            yield {"event": "hello", "data": "{}", "id": str(seen), "retry": 1000}
            if last.isdecimal() and len(last) < 16 and int(last) < seen:
                for entry in await run_in_threadpool(_list_missed, web_request, int(last), seen):
                    yield {"id": str(entry.seq), "data": event_data(entry)}
            while loop.time() < until:
                try:
                    message = await asyncio.wait_for(queue.get(), until - loop.time())
                except TimeoutError:
                    return
                if message is None:
                    return
                admission = any(kind in message.data for kind in ADMISSION_CHANGED)
                if admission and not await run_in_threadpool(_still_admitted, web_request):
                    return
                if message.seq is None:
                    yield {"data": message.data}
                elif message.seq > seen:
                    yield {"id": str(message.seq), "data": message.data}

    return EventSourceResponse(
        send_events(), headers={"cache-control": "no-store"}, send_timeout=_READS_WITHIN_SECONDS
    )


def _list_missed(web_request: WebRequest, last: int, seen: int) -> list[Any]:
    """Return the events since the last one that was seen; after too many, the client reloads."""
    entries = web_request.store.audit.entries(max(last, seen - MAX_BEHIND))
    return [entry for entry in entries if entry.seq <= seen and entry.is_news]


def _still_admitted(web_request: WebRequest) -> bool:
    secret, by_header = web_request.secret, not web_request.csrf
    return is_still_admitted(web_request.web_context, secret, by_header=by_header)


def list_people(web_request: WebRequest) -> Response:
    people = [{"name": one.name, "tokens": one.tokens} for one in web_request.store.people.all()]
    tokens = [token_document(token) for token in web_request.store.people.tokens()]
    groups = web_request.store.people.groups()
    return JSONResponse({"people": people, "tokens": tokens, "groups": groups})


def add_person(web_request: WebRequest) -> Response:
    name, scopes = web_request.body["name"], web_request.body.get("scopes", PERSONAL)
    label = web_request.body.get("label", "")
    token = manage_people.add(web_request.store, web_request.caller, name, scopes, label)
    return JSONResponse({"name": name, "token": token}, 201)


def add_token(web_request: WebRequest) -> Response:
    name, scopes = web_request.path["name"], web_request.body.get("scopes", PERSONAL)
    label = web_request.body.get("label", "")
    token = manage_people.token(web_request.store, web_request.caller, name, scopes, label)
    return JSONResponse({"name": name, "token": token}, 201)


def remove_person(web_request: WebRequest) -> Response:
    manage_people.remove(web_request.store, web_request.caller, web_request.path["name"])
    return Response(status_code=204)


def revoke_token(web_request: WebRequest) -> Response:
    manage_people.revoke(web_request.store, web_request.caller, web_request.path["id"])
    return Response(status_code=204)


def describe(web_request: WebRequest) -> Response:
    # Imported here: the document is built from the route table, which names this function.
    from gatebell.web.api.openapi import DOCUMENT

    return JSONResponse(DOCUMENT)
