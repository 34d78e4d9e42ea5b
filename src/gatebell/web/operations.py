"""Routes for operators: whether the process lives, whether it can serve, and its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response

from gatebell.errors import GateError
from gatebell.web.metrics import CONTENT_TYPE, format_metrics, list_metrics
from gatebell.web.problems import Problem

if TYPE_CHECKING:
    from gatebell.web.context import WebContext, WebRequest

HEALTH, READY, METRICS = "/api/health", "/api/ready", "/metrics"
# The hub reads changes at least every second.
_OLDEST_FEED_SECONDS = 10.0


async def check_health(_: WebRequest) -> Response:
    """Reply from the loop alone: a store that is away is no reason to restart this process."""
    return JSONResponse({"status": "ok"})


def check_ready(web_request: WebRequest) -> Response:
    """Check that this server can do its work now; a proxy sends no requests here until then."""
    if why := _find_obstacle(web_request.web_context):
        raise Problem(503, f"not ready: {why}")
    return JSONResponse({"status": "ready"})


def _find_obstacle(web_context: WebContext) -> str:
    hub, store = web_context.hub, web_context.store
    if not hub.open:
        return "this server is stopping, or it has lost the store; ask another one"
    try:
        store.audit.head()
        faults = store.audit.schema_faults()
    except GateError as error:
        return str(error)
    if faults:
        return f"the store has another schema than this server ({faults[0]}); use one version"
    if (age := hub.feed_age()) > _OLDEST_FEED_SECONDS:
        return f"no changes were read for {age:.0f} s, so answers would come late"
    return ""


def show_metrics(web_request: WebRequest) -> Response:
    context = web_request.web_context
    metrics = list_metrics(context.store, context.hub, context.requests)
    return Response(format_metrics(metrics), media_type=CONTENT_TYPE)
