"""Devices of people: sign a browser up for notifications, and decide by their buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, RedirectResponse, Response

from gatebell.app import push
from gatebell.errors import GateError
from gatebell.services.notifications import push_devices
from gatebell.services.notifications.push_devices import Pressed, Subscription
from gatebell.web.asks.answer_fields import field
from gatebell.web.problems import Problem, problem_of

if TYPE_CHECKING:
    from gatebell.web.context import WebRequest


def describe_devices(web_request: WebRequest) -> dict[str, Any]:
    """Return what the inbox page needs to sign this browser up."""
    own = [
        one.id for one in web_request.store.devices.all() if one.person == web_request.who.person
    ]
    can = bool(web_request.csrf) and "answer" in web_request.who.scopes
    key = push.find_public_key(web_request.store) if can else ""
    return {"push_key": key, "own_devices": " ".join(own)}


def add(web_request: WebRequest) -> Response:
    form = web_request.sent_form
    given = Subscription(field(form, "endpoint"), field(form, "p256dh"), field(form, "auth"))
    browser = web_request.headers.get("user-agent", "")
    made = push_devices.add(
        web_request.store, web_request.caller, web_request.who, given, browser, push.list_services()
    )
    return JSONResponse({"id": made.id}, 201)


def send_test(web_request: WebRequest) -> Response:
    device = push_devices.get_own(web_request.store, web_request.caller, web_request.path["id"])
    url = web_request.web_context.site.url
    if problem := push.send_test_message(web_request.store, device, url):
        raise Problem(502, f"not sent: {problem}")
    return Response(status_code=204)


def remove(web_request: WebRequest) -> Response:
    form, device_id = web_request.sent_form, web_request.path["id"]
    if "admin" not in web_request.who.scopes:
        push_devices.get_own(web_request.store, web_request.caller, device_id)
    push_devices.remove(web_request.store, web_request.caller, device_id)
    return RedirectResponse("/people" if field(form, "next") == "/people" else "/", 303)


def answer(web_request: WebRequest) -> Response:
    """Decide by a button of a notification; its token stands for the proofs of a page."""
    form = web_request.sent_form
    if not web_request.csrf:
        # A token in a header may be that of a program; a button is pressed by a person.
        raise Problem(403, "buttons work only in a browser that is signed in: open the inbox")
    pressed = Pressed(*(field(form, name) for name in ("device", "ask", "decision", "token")))
    try:
        ask = push_devices.answer(web_request.store, web_request.caller, pressed)
    except GateError as error:
        # The service worker shows this in a notification, so it is not a page.
        problem = problem_of(error)
        return JSONResponse({"detail": problem.detail}, problem.status)
    return JSONResponse({"detail": f"{ask.id} is {ask.decision}"}, 201)
