"""People and their tokens, for people who may manage them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response

from gatebell.domain.people.logins import PERSONAL, SCOPES
from gatebell.errors import UsageError
from gatebell.services.people import manage_people
from gatebell.web.asks.answer_fields import field, several
from gatebell.web.rendering import page

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.web.context import WebRequest

_MEANINGS = {
    "ask": "open asks, and take their answers",
    "answer": "answer, ask back and withdraw; stop and resume runs",
    "read": "see everything that was asked and answered, and every run",
    "admin": "manage people and tokens",
    "metrics": "see the figures of the server, and no asks",
}


def people(web_request: WebRequest) -> Response:
    return _people(web_request)


def _people(web_request: WebRequest, status: int = 200, **more: Any) -> Response:
    tokens = web_request.store.people.tokens()
    listed = [
        (person, [token for token in tokens if token.person == person.name])
        for person in web_request.store.people.all()
    ]
    data = {
        "people": listed,
        "groups": web_request.store.people.groups(),
        "devices": web_request.store.devices.all(),
        "meanings": [(scope, _MEANINGS[scope]) for scope in SCOPES],
        "usual": PERSONAL,
        "made": None,
        "problem": "",
        "name": "",
    }
    return page(web_request, "people.html", "People · gatebell", status, **data | more)


def add_person(web_request: WebRequest) -> Response:
    return _create(web_request, field(web_request.sent_form, "name").strip(), manage_people.add)


def add_token(web_request: WebRequest) -> Response:
    return _create(web_request, web_request.path["name"], manage_people.token)


def _create(web_request: WebRequest, name: str, make: Callable[..., str]) -> Response:
    """Show the new token. It is only on this page, so there is no redirect."""
    scopes, label = several(web_request.sent_form, "scopes"), field(web_request.sent_form, "label")
    try:
        token = make(web_request.store, web_request.caller, name, scopes, label)
    except UsageError as error:
        return _people(web_request, 422, problem=str(error), name=name)
    return _people(web_request, made=(name, token))


def remove_person(web_request: WebRequest) -> Response:
    name = web_request.path["name"]
    sentence = f"Remove {name}, with all their tokens and logins?"
    return _sure(
        web_request,
        sentence,
        lambda: manage_people.remove(web_request.store, web_request.caller, name),
    )


def revoke_token(web_request: WebRequest) -> Response:
    token = web_request.path["id"]
    sentence = f"Revoke the token {token}, with every login that was made with it?"
    return _sure(
        web_request,
        sentence,
        lambda: manage_people.revoke(web_request.store, web_request.caller, token),
    )


def _sure(web_request: WebRequest, sentence: str, act: Callable[[], None]) -> Response:
    """Ask the person once more, then do it."""
    if field(web_request.sent_form, "sure") != "yes":
        return page(web_request, "sure.html", "Are you sure? · gatebell", sentence=sentence)
    act()
    return RedirectResponse("/people", 303)
