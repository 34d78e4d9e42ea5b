"""Freeze everything from the browser and over HTTP, and lift it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, RedirectResponse

from gatebell.domain.freezes import freeze_document
from gatebell.services import freezes
from gatebell.web.asks.answer_fields import field

if TYPE_CHECKING:
    from starlette.responses import Response

    from gatebell.web.context import WebRequest


def begin_from_page(web_request: WebRequest) -> Response:
    """Freeze everything; the banner of every page then shows it."""
    freezes.begin(web_request.store, web_request.caller, field(web_request.sent_form, "reason"))
    return RedirectResponse("/runs", 303)


def lift_from_page(web_request: WebRequest) -> Response:
    freezes.lift(web_request.store, web_request.caller)
    return RedirectResponse("/runs", 303)


def show(web_request: WebRequest) -> Response:
    return JSONResponse(freeze_document(freezes.find(web_request.store)))


def begin(web_request: WebRequest) -> Response:
    """Freeze everything; a second freeze changes nothing."""
    reason = web_request.body.get("reason", "")
    freeze, is_new = freezes.begin(web_request.store, web_request.caller, reason)
    return JSONResponse(freeze_document(freeze) | {"is_new": is_new})


def lift(web_request: WebRequest) -> Response:
    """Lift the freeze, and return it as it was."""
    return JSONResponse(freeze_document(freezes.lift(web_request.store, web_request.caller)))
