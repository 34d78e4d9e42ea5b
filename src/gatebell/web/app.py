"""The inbox as an ASGI application: each row of the route table, behind its login and limits."""

from __future__ import annotations

import hmac
import inspect
import json
import logging
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from gatebell.domain.digests import text_digest, token_digest
from gatebell.domain.people.logins import Login
from gatebell.errors import GateError
from gatebell.services.people import manage_logins
from gatebell.web.api.schemas import faults
from gatebell.web.context import COOKIE, Row, WebContext, WebRequest
from gatebell.web.limits import Guards
from gatebell.web.live import Hub
from gatebell.web.people.login import problem_page
from gatebell.web.problems import Problem, document, problem_of
from gatebell.web.rate_limits import Limits
from gatebell.web.routes import ROWS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from gatebell.ports.store import Store
    from gatebell.web.context import Site

STATIC = os.path.join(os.path.dirname(__file__), "static")
_MAX_THREADS = 24
_log = logging.getLogger("gatebell.web")


def make_web_context(store: Store, site: Site) -> WebContext:
    return WebContext(store, site, Hub(store), Limits(store.monotonic))


def make_app(web_context: WebContext) -> ASGIApp:
    """The whole inbox for one store."""

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = _MAX_THREADS
        web_context.hub.start()
        try:
            yield
        finally:
            web_context.hub.close()
            await run_in_threadpool(web_context.hub.stop)

    async def unknown(request: Request, error: Exception) -> Response:
        """No such path or method."""
        assert isinstance(error, HTTPException)
        problem = Problem(error.status_code, str(error.detail), error.headers)
        if request.url.path.startswith("/api/"):
            return document(problem)
        return problem_page(problem, "/")

    routes = [_route(web_context, row) for row in ROWS]
    app = Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=STATIC))],
        lifespan=life,
        exception_handlers={HTTPException: unknown, Problem: _show_error},
    )
    return Guards(app, web_context.site)


async def _show_error(_: Request, error: Exception) -> Response:
    return document(problem_of(error))


def _route(web_context: WebContext, row: Row) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            web_request = await _admit(web_context, row, request)
            if inspect.iscoroutinefunction(row.act):
                return await _complete_response(row.act(web_request))
            return await run_in_threadpool(row.act, web_request)
        except (GateError, Problem) as error:
            return _refuse(web_context, row, problem_of(error), request)
        except ClientDisconnect:
            return Response(status_code=400)
        except HTTPException as error:
            # A form that cannot be taken apart.
            return _refuse(web_context, row, Problem(error.status_code, error.detail), request)
        except Exception:
            _log.exception("%s %s failed", row.method, row.path)
            failure = Problem(500, "the server failed: gate up has logged the error; try again")
            return _refuse(web_context, row, failure, request)

    return Route(row.path, endpoint, methods=[row.method])


async def _complete_response(act: Any) -> Response:
    response: Response = await act
    return response


def _refuse(web_context: WebContext, row: Row, problem: Problem, request: Request) -> Response:
    if row.api:
        return document(problem)
    has_cookie = COOKIE in request.cookies
    personal = web_context.site.personal
    return problem_page(problem, request.url.path, personal=personal, has_cookie=has_cookie)


async def _admit(web_context: WebContext, row: Row, request: Request) -> WebRequest:
    """Check the login, the scope and the body of a request, in this order."""
    secret, by_header = _secret(request)
    login = await run_in_threadpool(_login, web_context, secret, by_header) if secret else None
    address = request.client.host if request.client else ""
    whose = token_digest(secret)[:16] if login else address
    if login or row.needs:
        # Sign-in counts only failures: a flood of them must not keep others out.
        web_context.limits.count(_kind(row), whose)
    csrf = text_digest(f"csrf {secret}") if login and not by_header else ""
    if row.needs:
        if login is None:
            way = "gate link --as NAME" if web_context.site.personal else "gate link"
            why = "this store does not know that token" if by_header else f"sign in first: {way}"
            raise Problem(401, why, {"www-authenticate": "Bearer"})
        named = request.headers.get("x-gate-as", login.person)
        if named != login.person:
            raise Problem(403, f"this token belongs to {login.person}, not to {named[:64]}")
        if not set(row.needs) & set(login.scopes):
            needed = " or ".join(row.needs)
            raise Problem(403, f"this needs the scope {needed}; yours: {', '.join(login.scopes)}")
    web_request = WebRequest(
        web_context,
        login,
        csrf,
        request.path_params,
        request.query_params,
        request.headers,
        address=address,
        secret=secret if login else "",
    )
    _check_query(row, web_request)
    if not row.changes:
        return web_request
    if not by_header and "origin" not in request.headers:
        raise Problem(
            403, "this must come from a page of the inbox, so nothing was done: reload it"
        )
    return await _read(row, request, web_request)


def _check_query(row: Row, web_request: WebRequest) -> None:
    for name, schema, about in row.query:
        given: Any = web_request.query.get(name)
        if schema.get("type") == "integer" and given and given.isascii() and given.isdecimal():
            given = int(given) if len(given) < 17 else given
        if given is not None and faults(schema, given):
            words = f" ({' or '.join(schema['enum'])})" if "enum" in schema else ""
            raise Problem(400, f"{name}: {about}{words}; got {given!r}")


def _kind(row: Row) -> str:
    if not row.changes:
        return "read"
    return "ask" if row.needs == ("ask",) else "change"


def _secret(request: Request) -> tuple[str, bool]:
    """The token of the header, or the login of the cookie."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme:
        return (token.strip() if scheme.lower() == "bearer" else "?"), True
    return request.cookies.get(COOKIE, ""), False


def _login(web_context: WebContext, secret: str, by_header: bool) -> Login | None:
    if not by_header:
        login = manage_logins.whose_login(web_context.store, secret)
        return login if login and (login.verified or not web_context.site.personal) else None
    token = web_context.store.people.by_token(token_digest(secret))
    if token is None:
        return None
    return Login(token.person, True, token.scopes, web_context.store.now(), token.id)


async def _read(row: Row, request: Request, web_request: WebRequest) -> WebRequest:
    """Read the body: JSON for the API; a form for a page, with the proof that our page sent it."""
    seal = web_request.headers.get("x-seal", "")
    if row.api:
        given = web_request.headers.get("x-csrf-token", "")
        web_request = web_request._replace(
            body=_check_body(row, await request.body(), web_request.headers)
        )
    else:
        form = await request.form(max_files=0, max_fields=10_000)
        given = str(form.get("csrf", "")) or web_request.headers.get("x-csrf-token", "")
        seal = str(form.get("seal", "")) or seal
        web_request = web_request._replace(form=form)
    if web_request.csrf and not hmac.compare_digest(given.encode(), web_request.csrf.encode()):
        raise Problem(403, "this page is older than your sign-in: reload it and send it again")
    if web_request.csrf and web_request.who.seal and token_digest(seal) != web_request.who.seal:
        # A cookie goes to every port of its host, so it may come from any page there.
        raise Problem(403, "another page made this sign-in: sign out, then sign in again")
    return web_request


def _check_body(row: Row, raw: bytes, headers: Any) -> Any:
    if row.body is None:
        return None
    if not raw and not row.body["required"]:
        return {}
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Problem(415, "send JSON: content-type application/json")
    try:
        body = json.loads(raw)
        found = faults(row.body, body)
    except (ValueError, RecursionError):
        # Also text that cannot be encoded: half of a surrogate pair.
        raise Problem(400, "the body is not JSON") from None
    if found:
        raise Problem(400, f"the body does not fit: {found}")
    return body
