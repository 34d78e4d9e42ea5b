"""The HTTP API: JSON in and out, for agents that ask and for programs of people who answer."""

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
from gatebell.domain.audit.events import EventKind
from gatebell.domain.enums import AskStatus
from gatebell.domain.people.logins import PERSONAL
from gatebell.domain.people.principals import Sighting, person
from gatebell.domain.permissions.rules import Scope
from gatebell.services.asks import answer_ask, ask_messages, create_ask, wait_for_ask
from gatebell.services.asks.apply_deadlines import fall_due, sweep
from gatebell.services.asks.create_ask import Request
from gatebell.services.asks.waiters import make_ask_document
from gatebell.services.people import manage_logins, manage_people
from gatebell.web.live import MAX_BEHIND, event_data
from gatebell.web.problems import Problem, problem_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gatebell.domain.asks.asks import Ask
    from gatebell.web.context import Visit

_MAX_WAIT_SECONDS = 60.0
# Of a request; a list that many of them stand in must still come up at once.
_LARGEST_CONTEXT = 200_000
# A client that does not read is sent home.
_READS_WITHIN_SECONDS = 30.0
# Whoever watches proves now and then that they still may.
_MAX_STREAM_SECONDS = 900.0
_ADMISSION_CHANGED = (EventKind.LOGIN_ENDED, EventKind.TOKEN_REVOKED, EventKind.PERSON_REMOVED)


def list_asks(visit: Visit) -> Response:
    sweep(visit.store)
    limit, query = int(visit.query.get("limit", 100)), visit.query
    if query.get("status", AskStatus.PENDING) == AskStatus.PENDING:
        found = visit.store.asks.pending(limit, query.get("project"))
    else:
        found = visit.store.asks.list_settled(limit, query.get("search", ""))
    return JSONResponse([make_ask_document(visit.store, ask) for ask in found])


def count_asks(visit: Visit) -> Response:
    counts = visit.store.asks.waiting_counts()
    return JSONResponse([{"project": project, "waiting": number} for project, number in counts])


def open_ask(visit: Visit) -> Response:
    given: dict[str, Any] = dict(visit.body)
    session = visit.session(given.pop("session", ""))
    origin = Origin(
        project=given.pop("project", ""),
        cwd=given.pop("cwd", ""),
        agent=given.pop("agent", "") or visit.who.person,
        session=session,
        sponsor=person(visit.who.person),
    )
    steps = tuple(Escalation(**step) for step in given.pop("escalations", ()))
    options = tuple(given.pop("options", ()))
    request = Request(options=options, escalations=steps, **given)
    door, _, name = session.partition("/")
    # Whatever the token may do else, whoever asks here is the asker, not a person at a screen.
    caller = visit.caller._replace(verified=False, agent=Sighting(door, name, "it asked over HTTP"))
    if len(json.dumps(request.context)) > _LARGEST_CONTEXT:
        raise Problem(413, f"a context has at most {_LARGEST_CONTEXT} characters here")
    opened = create_ask.ask(visit.store, request, origin, caller, _key(visit, "ask"))
    document = {
        "ask": _shown(visit, opened.ask),
        "token": opened.token,
        "attached": opened.attached,
    }
    return JSONResponse(document, 200 if opened.attached else 201)


def _key(visit: Visit, kind: str = "") -> str:
    """The idempotency key; that of an ask belongs to the one who sent it, as answers' do anyway."""
    key = visit.headers.get("idempotency-key", "")
    if len(key) > 200:
        raise Problem(400, "an idempotency key has at most 200 characters")
    whose = visit.who.token_id or visit.who.person
    return f"{kind} {whose} {key}" if key and kind else key


def find(visit: Visit) -> Ask:
    """The ask of the path, as time has left it. Whoever may only ask sees only their own."""
    if {"read", "answer"} & set(visit.who.scopes):
        return fall_due(visit.store, create_ask.get(visit.store, visit.path["id"]))
    ask = visit.store.asks.get(visit.path["id"].lower())
    if ask is None or not visit.is_own_ask(ask):
        raise Problem(404, f"there is no ask {visit.path['id']} of yours")
    return fall_due(visit.store, ask)


def show_ask(visit: Visit) -> Response:
    return JSONResponse(_shown(visit, find(visit)))


def _shown(visit: Visit, ask: Ask) -> dict[str, Any]:
    """The ask; its asker is told that it is answered, and gets the answer by taking it.

    Otherwise one yes, read again and again, would serve for every later request like it.
    """
    document = make_ask_document(visit.store, ask)
    if visit.is_own_ask(ask) and ask.status == AskStatus.ANSWERED and not ask.delivered_at:
        return document | {"decision": None, "value": None, "note": ""}
    return document


async def wait(visit: Visit) -> Response:
    """The ask once it is settled or somebody asked back; after a while, as it is then."""
    loop, hub = asyncio.get_running_loop(), visit.desk.hub
    seconds = min(float(visit.query.get("seconds", 30)), _MAX_WAIT_SECONDS)
    hears = visit.query.get("hears", "false") == "true"
    until = loop.time() + seconds
    with hub.watch(visit.path["id"].lower()) as changed:
        while True:
            changed.clear()
            ask = await run_in_threadpool(find, visit)
            left = until - loop.time()
            called = hears and ask.asked_back > ask.heard
            if not ask.pending or called or left <= 0 or not hub.open:
                break
            # A deadline of the ask itself is watched by the watcher.
            try:
                await asyncio.wait_for(changed.wait(), left)
            except TimeoutError:
                continue
    if not await run_in_threadpool(_still_admitted, visit):
        raise Problem(401, "the token was revoked while you waited")
    said = await run_in_threadpool(wait_for_ask.new_messages, visit.store, ask) if called else ""
    return JSONResponse({"ask": _shown(visit, ask), "asked_back": said})


def take(visit: Visit) -> Response:
    """Hand the answer over, and record that once it is sent."""
    ask = find(visit)
    if not visit.is_own_ask(ask):
        raise Problem(403, f"{ask.id} was opened by somebody else: its answer is not yours to take")
    value = wait_for_ask.reveal(visit.store, ask, visit.body.get("token", ""))
    done = BackgroundTask(wait_for_ask.take, visit.store, ask, visit.caller.actor)
    return JSONResponse(make_ask_document(visit.store, ask) | {"value": value}, background=done)


def give_answer(visit: Visit) -> Response:
    body = visit.body
    scope = Scope(body["for"], body.get("pattern", "")) if "for" in body else None
    key = _key(visit)
    given = Given(body["value"], body.get("note", ""), body.get("digest"), key, scope)
    _, ask = answer_ask.answer(visit.store, find(visit).id, visit.caller, given)
    return JSONResponse(make_ask_document(visit.store, ask), 201)


def give_answers(visit: Visit) -> Response:
    """One answer to several asks that are the same question."""
    shown = [(one["id"], one["digest"]) for one in visit.body["asks"]]
    key = _key(visit)
    given = Given(visit.body["value"], visit.body.get("note", ""), None, key)
    results = answer_ask.answer_alike(visit.store, shown, visit.caller, given)
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


def list_answers(visit: Visit) -> Response:
    found = visit.store.asks.answers(find(visit).id)
    return JSONResponse([answer_document(answer) for answer in found])


def list_messages(visit: Visit) -> Response:
    found = visit.store.asks.messages(find(visit).id)
    return JSONResponse([message_document(message) for message in found])


def say(visit: Visit) -> Response:
    """A person asks back, or the asker replies."""
    ask, text = find(visit), visit.body["text"]
    if visit.is_own_ask(ask):
        ask_messages.reply(visit.store, ask.id, visit.caller, text)
        wait_for_ask.hear(visit.store, ask)
    elif "answer" in visit.who.scopes:
        ask_messages.ask_back(visit.store, ask.id, visit.caller, text)
    else:
        raise Problem(403, f"{ask.id} was opened by somebody else")
    return list_messages(visit)


def get_draft(visit: Visit) -> Response:
    return JSONResponse({"text": answer_ask.draft(visit.store, find(visit).id, visit.caller)})


def put_draft(visit: Visit) -> Response:
    answer_ask.save_draft(visit.store, find(visit).id, visit.caller, visit.body["text"])
    return Response(status_code=204)


def cancel(visit: Visit) -> Response:
    ask = find(visit)
    if "answer" not in visit.who.scopes and not visit.is_own_ask(ask):
        raise Problem(403, f"{ask.id} was opened by somebody else")
    reason = visit.body.get("reason", "")
    after = create_ask.cancel(visit.store, ask.id, visit.caller, reason)
    return JSONResponse(make_ask_document(visit.store, after))


def ask_events(visit: Visit) -> Response:
    found = visit.store.audit.of_subject(find(visit).id)
    return JSONResponse([entry_document(entry) for entry in found])


def list_events(visit: Visit) -> Response:
    """The audit trail after a number, oldest first."""
    after, limit = int(visit.query.get("after", 0)), int(visit.query.get("limit", 100))
    found: list[dict[str, Any]] = []
    for entry in visit.store.audit.entries(after):
        if len(found) == limit:
            break
        found.append(entry_document(entry))
    return JSONResponse(found)


async def stream(visit: Visit) -> Response:
    """What happens, as it happens; a client that comes back says what it saw last."""
    hub, loop = visit.desk.hub, asyncio.get_running_loop()
    last = visit.headers.get("last-event-id", "")

    async def send_events() -> AsyncIterator[dict[str, Any]]:
        until = loop.time() + _MAX_STREAM_SECONDS
        with hub.stream() as queue:
            seen = hub.seq
            yield {"event": "hello", "data": "{}", "id": str(seen), "retry": 1000}
            if last.isdecimal() and len(last) < 16 and int(last) < seen:
                for entry in await run_in_threadpool(_list_missed, visit, int(last), seen):
                    yield {"id": str(entry.seq), "data": event_data(entry)}
            while loop.time() < until:
                try:
                    message = await asyncio.wait_for(queue.get(), until - loop.time())
                except TimeoutError:
                    return
                if message is None:
                    return
                admission = any(kind in message.data for kind in _ADMISSION_CHANGED)
                if admission and not await run_in_threadpool(_still_admitted, visit):
                    return
                if message.seq is None:
                    yield {"data": message.data}
                elif message.seq > seen:
                    yield {"id": str(message.seq), "data": message.data}

    return EventSourceResponse(
        send_events(), headers={"cache-control": "no-store"}, send_timeout=_READS_WITHIN_SECONDS
    )


def _list_missed(visit: Visit, last: int, seen: int) -> list[Any]:
    """What came while nobody listened; whoever missed more than that looks at everything anyway."""
    entries = visit.store.audit.entries(max(last, seen - MAX_BEHIND))
    return [entry for entry in entries if entry.seq <= seen and entry.is_news]


def _still_admitted(visit: Visit) -> bool:
    if visit.csrf:
        return manage_logins.whose_login(visit.store, visit.secret) is not None
    return any(token.id == visit.who.token_id for token in visit.store.people.tokens())


def list_people(visit: Visit) -> Response:
    people = [{"name": one.name, "tokens": one.tokens} for one in visit.store.people.all()]
    tokens = [token_document(token) for token in visit.store.people.tokens()]
    groups = visit.store.people.groups()
    return JSONResponse({"people": people, "tokens": tokens, "groups": groups})


def add_person(visit: Visit) -> Response:
    name, scopes = visit.body["name"], visit.body.get("scopes", PERSONAL)
    label = visit.body.get("label", "")
    token = manage_people.add(visit.store, visit.caller, name, scopes, label)
    return JSONResponse({"name": name, "token": token}, 201)


def add_token(visit: Visit) -> Response:
    name, scopes = visit.path["name"], visit.body.get("scopes", PERSONAL)
    label = visit.body.get("label", "")
    token = manage_people.token(visit.store, visit.caller, name, scopes, label)
    return JSONResponse({"name": name, "token": token}, 201)


def remove_person(visit: Visit) -> Response:
    manage_people.remove(visit.store, visit.caller, visit.path["name"])
    return Response(status_code=204)


def revoke_token(visit: Visit) -> Response:
    manage_people.revoke(visit.store, visit.caller, visit.path["id"])
    return Response(status_code=204)


def health(visit: Visit) -> Response:
    """Whether the store can be read and everybody is told of changes."""
    visit.store.audit.head()
    if not visit.desk.hub.open:
        raise Problem(503, "nobody is told of changes any more: start gate up again")
    return JSONResponse({"status": "ok"})


def describe(visit: Visit) -> Response:
    # Imported here: the document is made of the route table, which names this function.
    from gatebell.web.api.openapi import DOCUMENT

    return JSONResponse(DOCUMENT)
