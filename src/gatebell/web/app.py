"""The inbox as an ASGI application: each row of the route table, behind its login and limits."""

from __future__ import annotations

import inspect
import logging
import os
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from gatebell.errors import GateError
from gatebell.web.admission import admit
from gatebell.web.context import COOKIE, Row, WebContext
from gatebell.web.limits import Guards
from gatebell.web.live import Hub
from gatebell.web.metrics import Requests
from gatebell.web.operations import METRICS
from gatebell.web.people.login import find_retry, problem_page
from gatebell.web.problems import Problem, document, problem_of
from gatebell.web.rate_limits import Limits
from gatebell.web.routes import ROWS
from gatebell.web.waits import WaitHandler

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
    return WebContext(store, site, Hub(store), Limits(store.monotonic), Requests())


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
        is_api = request.url.path.startswith("/api/")
        detail = str(error.detail)
        if error.status_code == HTTPStatus.NOT_FOUND:
            detail = "there is nothing at this address"
        elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not is_api:
            detail = "only the forms of the inbox use this address"
        problem = Problem(error.status_code, detail, error.headers)
        return document(problem) if is_api else problem_page(problem, request.url.path)

    routes = [_route(web_context, row) for row in ROWS]
    app = Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=STATIC))],
        lifespan=life,
        exception_handlers={HTTPException: unknown, Problem: _show_error},
    )
    (row,) = [row for row in ROWS if row.waits]
    return Guards(WaitHandler(app, web_context, row), web_context.site, web_context.requests)


async def _show_error(_: Request, error: Exception) -> Response:
    return document(problem_of(error))


def _route(web_context: WebContext, row: Row) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            web_request = await admit(web_context, row, request)
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
            failure = Problem(500, "the server failed: its log has the error; try again")
            return _refuse(web_context, row, failure, request)
        finally:
            # Closes the files of a form.
            await request.close()

    return Route(row.path, endpoint, methods=[row.method])


async def _complete_response(act: Any) -> Response:
    response: Response = await act
    return response


def _refuse(web_context: WebContext, row: Row, problem: Problem, request: Request) -> Response:
    # Programs read the metrics, and show no page.
    if row.api or row.path == METRICS:
        return document(problem)
    has_cookie = COOKIE in request.cookies
    personal = web_context.site.personal
    retry = find_retry(request)
    return problem_page(
        problem, request.url.path, personal=personal, has_cookie=has_cookie, retry=retry
    )
