"""Open an ask and wait a short time for its answer, in one request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from gatebell.web.admission import is_still_admitted
from gatebell.web.api import endpoints
from gatebell.web.problems import Problem
from gatebell.web.waits import Look, spread_end

if TYPE_CHECKING:
    from starlette.responses import Response

    from gatebell.domain.asks.asks import Ask
    from gatebell.web.context import WebRequest


async def open_ask(web_request: WebRequest) -> Response:
    """Open an ask; with `wait`, reply when it is settled, a person asked back, or the time is over."""
    admissions = web_request.web_context.hub.admissions
    opened = await run_in_threadpool(endpoints.open_ask, web_request)
    seconds = int(web_request.query.get("wait", 0))
    # The token of a secret comes with the first reply only: a lost connection would lose it.
    if seconds and not opened.token:
        opened = opened._replace(ask=await _wait(web_request, opened.ask, seconds))
    if web_request.web_context.hub.admissions != admissions and not await run_in_threadpool(
        is_still_admitted,
        web_request.web_context,
        web_request.secret,
        by_header=not web_request.csrf,
    ):
        raise Problem(401, "the token was revoked while you waited")
    return await run_in_threadpool(endpoints.show_opened, web_request, opened)


async def _wait(web_request: WebRequest, ask: Ask, seconds: float) -> Ask:
    hub, loop = web_request.web_context.hub, asyncio.get_running_loop()
    until = loop.time() + spread_end(seconds)
    with hub.waits.join(ask.id) as wait:
        # After it has joined: no change is missed.
        ask = (await hub.waits.look(ask.id)).ask
        while hub.open and not _is_over(ask) and (left := until - loop.time()) > 0:
            news = await wait.sleep(left)
            if isinstance(news, Look):
                ask = news.ask
            elif news is not None:
                raise news
    return ask


def _is_over(ask: Ask) -> bool:
    return not ask.pending or ask.asked_back > ask.heard
