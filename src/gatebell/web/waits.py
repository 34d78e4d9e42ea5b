"""Requests that wait for an ask: one small coroutine each, woken by one reading for all of them."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from gatebell.domain.enums import AskStatus
from gatebell.errors import GateError, NotFoundError, StoreError
from gatebell.services.asks import create_ask, wait_for_ask
from gatebell.services.asks.apply_deadlines import fall_due
from gatebell.services.asks.waiters import make_ask_document
from gatebell.web.admission import admit, is_still_admitted, limited_name
from gatebell.web.problems import Problem, document, problem_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.store import Store
    from gatebell.web.context import Row, WebContext, WebRequest

# Proxies close a connection on which nothing is sent for a while, usually after 60 seconds. Longer
# waits send a blank in between. Shorter ones do not, because each blank costs as much as a reply.
BLANK_SECONDS = 25.0
QUIET_SECONDS = 60.0
# From this length on, the server chooses the end, so that not all agents come back at once.
_SPREAD_FROM_SECONDS = 30.0
_SHORTEST_PART = 7 / 12
# Clients of a server that ends come back to another one within this time, not all at once.
_COME_BACK_WITHIN_SECONDS = 5
_READ_AT_ONCE = 50
_JSON = (b"content-type", b"application/json")
_log = logging.getLogger("gatebell.web")
_PATH = re.compile(r"/api/asks/([^/]+)/wait")


class Look(NamedTuple):
    """An ask, read once for all its waits."""

    ask: Ask
    shown: dict[str, Any]
    said: str
    """The messages from people that the asker did not get yet."""

    def body(self, *, own: bool, called: bool) -> bytes:
        """Return the reply. Its asker gets decision, value and note only by taking the answer."""
        shown = hide_untaken(self.ask, self.shown) if own else self.shown
        reply = {"ask": shown, "asked_back": self.said if called else ""}
        return json.dumps(reply, ensure_ascii=False, separators=(",", ":")).encode()


def hide_untaken(ask: Ask, shown: dict[str, Any]) -> dict[str, Any]:
    """Return what its asker sees of an ask.

    Otherwise one yes could be read again and again, for every similar request.
    """
    if ask.status == AskStatus.ANSWERED and not ask.delivered_at:
        return shown | {"decision": None, "value": None, "note": "", "answer_attachments": []}
    return shown


class WaitRequest(NamedTuple):
    """What a waiting request needs while it waits, and no more: there may be ten thousand."""

    ask_id: str
    named: str
    """The id as the client wrote it."""
    seconds: float
    hears: bool
    own_prefix: str
    """The prefix of the sessions of asks that this token opened; empty without a token."""
    sees_all: bool
    secret: str
    by_header: bool

    def owns(self, ask: Ask) -> bool:
        return bool(self.own_prefix) and ask.origin.session.startswith(self.own_prefix)


class Wait:
    """One waiting request, in the loop's thread."""

    __slots__ = ("_sleep", "is_left", "news")

    def __init__(self) -> None:
        self.news: Look | GateError | None = None
        self.is_left = False
        """The client has gone."""
        self._sleep: asyncio.Future[None] | None = None

    def tell(self, news: Look | GateError) -> None:
        self.news = news
        self.wake()

    def leave(self) -> None:
        self.is_left = True
        self.wake()

    def wake(self) -> None:
        if self._sleep and not self._sleep.done():
            self._sleep.set_result(None)

    async def sleep(self, seconds: float) -> Look | GateError | None:
        """Return news of the ask, or None after so many seconds, or when it was woken."""
        if self.news is None and not self.is_left:
            loop = asyncio.get_running_loop()
            self._sleep = loop.create_future()
            timer = loop.call_later(seconds, self.wake)
            try:
                await self._sleep
            finally:
                timer.cancel()
                self._sleep = None
        news, self.news = self.news, None
        return news


class Waits:
    """All waiting requests of this process, by ask."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_ask: dict[str, set[Wait]] = {}
        self._wanted: dict[str, asyncio.Future[Look | GateError]] = {}
        self._reading: asyncio.Task[None] | None = None
        self._number = 0

    def __contains__(self, ask_id: str) -> bool:
        return ask_id in self._by_ask

    def __len__(self) -> int:
        return self._number

    @contextmanager
    def join(self, ask_id: str) -> Iterator[Wait]:
        """Wait for news of an ask. Join before the first look, so that no change is missed."""
        wait = Wait()
        self._by_ask.setdefault(ask_id, set()).add(wait)
        self._number += 1
        try:
            yield wait
        finally:
            self._number -= 1
            self._by_ask[ask_id].discard(wait)
            if not self._by_ask[ask_id]:
                del self._by_ask[ask_id]

    def read(self, ids: Iterable[str]) -> dict[str, Look | GateError]:
        """Read the changed asks that clients wait for, each once; on the watcher's thread."""
        wanted = [ask_id for ask_id in ids if ask_id in self._by_ask]
        return {ask_id: _try_to_look(self._store, ask_id) for ask_id in wanted}

    def tell(self, news: Mapping[str, Look | GateError]) -> None:
        """Give each ask to all its waits."""
        for ask_id, one in news.items():
            for wait in self._by_ask.get(ask_id, ()):
                wait.tell(one)

    def wake_all(self) -> None:
        for waits in self._by_ask.values():
            for wait in waits:
                wait.wake()

    async def look(self, ask_id: str) -> Look:
        """Read an ask. Requests that come at the same time share one thread and one reading."""
        if ask_id not in self._wanted:
            self._wanted[ask_id] = asyncio.get_running_loop().create_future()
        found = self._wanted[ask_id]
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_wanted())
        # Others may wait for the same reading, so a client that goes must not cancel it.
        result = await asyncio.shield(found)
        if isinstance(result, GateError):
            raise result
        return result

    async def _read_wanted(self) -> None:
        try:
            while self._wanted:
                ids = list(self._wanted)[:_READ_AT_ONCE]
                # Taken out before they are read: a later request must see later changes.
                asked = [self._wanted.pop(one) for one in ids]
                results = await run_in_threadpool(self._read_each, ids)
                for future, result in zip(asked, results, strict=True):
                    future.set_result(result)
        finally:
            self._reading = None

    def _read_each(self, ids: list[str]) -> list[Look | GateError]:
        return [_try_to_look(self._store, ask_id) for ask_id in ids]


def _try_to_look(store: Store, ask_id: str) -> Look | GateError:
    try:
        return look(store, ask_id)
    except GateError as error:
        return error
    except Exception:
        # Many requests share a reading: without a result for each of them, all would hang.
        _log.exception("an ask could not be read")
        return StoreError(f"{ask_id!r} could not be read: the server's log has the error")


def look(store: Store, ask_id: str) -> Look:
    """Read an ask after its deadlines, and the messages to its asker."""
    ask = fall_due(store, create_ask.get(store, ask_id))
    said = wait_for_ask.new_messages(store, ask) if ask.asked_back > ask.heard else ""
    return Look(ask, make_ask_document(store, ask), said)


def spread_end(seconds: float) -> float:
    """Return how long a wait really lasts: agents that came together leave one by one."""
    if seconds < _SPREAD_FROM_SECONDS:
        return seconds
    return seconds * random.uniform(_SHORTEST_PART, 1)  # noqa: S311  it protects no secret


class WaitHandler:
    """Serves waiting requests before the router, whose frames would cost 16 kB for each of them."""

    def __init__(self, app: ASGIApp, web_context: WebContext, row: Row) -> None:
        self._app = app
        self._web_context = web_context
        self._row = row

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = scope["type"] == "http" and _PATH.fullmatch(scope["path"])
        if not found or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        scope["path_params"] = {"id": found[1]}
        connection = scope.get("state", {}).get("connection")
        reply = Reply(send, connection)
        try:
            admissions = self._web_context.hub.admissions
            wanted = await self._admit(scope, receive)
            await self._wait(wanted, reply, admissions)
        except (GateError, Problem) as error:
            if reply.is_begun:
                # The status is sent already. The client comes back, and gets the error then.
                reply.cut_off()
            else:
                await document(problem_of(error))(scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive) -> WaitRequest:
        # On its own: the request must not stay in memory while it waits.
        web_request = await admit(self._web_context, self._row, Request(scope, receive))
        wanted: WaitRequest = self._row.act(web_request)
        return wanted

    async def _wait(self, wanted: WaitRequest, reply: Reply, admissions: int) -> None:
        """Reply once the ask is settled or a person asked back; after a while, in any case."""
        hub, loop = self._web_context.hub, asyncio.get_running_loop()
        until = loop.time() + spread_end(wanted.seconds)
        pause = BLANK_SECONDS if wanted.seconds > QUIET_SECONDS else wanted.seconds
        with hub.waits.join(wanted.ask_id) as wait, reply.leaving(wait):
            seen: Look | GateError | None = await self._look(wanted)
            while hub.open and not _is_over(wanted, seen) and (left := until - loop.time()) > 0:
                # Not kept while it sleeps: an ask may be long.
                seen = await wait.sleep(min(left, pause))
                if wait.is_left:
                    return
                if seen is None and hub.open and until - loop.time() > 0:
                    await reply.send_blank()
            if not isinstance(seen, Look):
                seen = await self._look(wanted)
        if hub.admissions != admissions and not await run_in_threadpool(
            is_still_admitted, self._web_context, wanted.secret, by_header=wanted.by_header
        ):
            raise Problem(401, "the token was revoked while you waited")
        called = wanted.hears and seen.ask.asked_back > seen.ask.heard
        body = seen.body(own=wanted.owns(seen.ask), called=called)
        await reply.end(body, come_back=not hub.open and seen.ask.pending)

    async def _look(self, wanted: WaitRequest) -> Look:
        hub, why = self._web_context.hub, f"there is no ask {wanted.named} of yours"
        try:
            seen = await hub.waits.look(wanted.ask_id)
            if wanted.sees_all or wanted.owns(seen.ask):
                return seen
        except NotFoundError as error:
            # Other errors are failures of the store: the client comes back.
            why = str(error) if wanted.sees_all else why
        self._web_context.limits.count("missed wait", limited_name(wanted.secret))
        raise Problem(404, why)


def _is_over(wanted: WaitRequest, seen: Look | GateError | None) -> bool:
    if not isinstance(seen, Look):
        # An error ends the wait, and nothing seen yet does not.
        return seen is not None
    return not seen.ask.pending or (wanted.hears and seen.ask.asked_back > seen.ask.heard)


class Reply:
    """The reply to one waiting request; blanks may come before its JSON."""

    __slots__ = ("_connection", "_send", "is_begun")

    def __init__(self, send: Send, connection: Any) -> None:
        self._send = send
        self._connection = connection
        self.is_begun = False

    @contextmanager
    def leaving(self, wait: Wait) -> Iterator[None]:
        """Wake the wait when its client goes."""
        if self._connection is None:
            yield
            return
        self._connection.on_lost = wait.leave
        try:
            yield
        finally:
            self._connection.on_lost = None

    async def send_blank(self) -> None:
        """Show proxies that this connection is in use; JSON may begin with blanks."""
        await self._begin([_JSON])
        await self._send({"type": "http.response.body", "body": b" ", "more_body": True})

    async def end(self, body: bytes, *, come_back: bool) -> None:
        headers = [_JSON, (b"content-length", str(len(body)).encode())]
        if come_back:
            pause = random.randint(0, _COME_BACK_WITHIN_SECONDS)  # noqa: S311  it protects no secret
            headers.append((b"retry-after", str(pause).encode()))
        await self._begin(headers)
        await self._send({"type": "http.response.body", "body": body})

    async def _begin(self, headers: list[tuple[bytes, bytes]]) -> None:
        if not self.is_begun:
            self.is_begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    def cut_off(self) -> None:
        if self._connection:
            self._connection.cut_off()


def parse_wait(web_request: WebRequest) -> WaitRequest:
    """Return what a request waits for; its query was checked."""
    query, who = web_request.query, web_request.who
    return WaitRequest(
        ask_id=web_request.path["id"].lower(),
        named=web_request.path["id"],
        seconds=float(query.get("seconds", 30)),
        hears=query.get("hears", "false") == "true",
        own_prefix=web_request.own_prefix,
        sees_all=bool({"read", "answer"} & set(who.scopes)),
        secret=web_request.secret,
        by_header=not web_request.csrf,
    )
