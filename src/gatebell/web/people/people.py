"""People and their tokens, for whoever may manage them."""

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

    from starlette.datastructures import FormData

    from gatebell.web.context import Visit

_MEANINGS = {
    "ask": "open asks, and take their answers",
    "answer": "answer, ask back and withdraw; stop and resume runs",
    "read": "see everything that was asked and answered, and every run",
    "admin": "manage people and tokens",
}


def people(visit: Visit) -> Response:
    return _people(visit)


def _people(visit: Visit, status: int = 200, **more: Any) -> Response:
    tokens = visit.store.people.tokens()
    listed = [
        (person, [token for token in tokens if token.person == person.name])
        for person in visit.store.people.all()
    ]
    data = {
        "people": listed,
        "groups": visit.store.people.groups(),
        "meanings": [(scope, _MEANINGS[scope]) for scope in SCOPES],
        "usual": PERSONAL,
        "made": None,
        "trouble": "",
        "name": "",
    }
    return page(visit, "people.html", "People · gatebell", status, **data | more)


def _form(visit: Visit) -> FormData:
    assert visit.form is not None
    return visit.form


def add_person(visit: Visit) -> Response:
    return _create(visit, field(_form(visit), "name").strip(), manage_people.add)


def add_token(visit: Visit) -> Response:
    return _create(visit, visit.path["name"], manage_people.token)


def _create(visit: Visit, name: str, make: Callable[..., str]) -> Response:
    """The token is on this page and nowhere else, so there is no redirect."""
    scopes, label = several(_form(visit), "scopes"), field(_form(visit), "label")
    try:
        token = make(visit.store, visit.caller, name, scopes, label)
    except UsageError as error:
        return _people(visit, 422, trouble=str(error), name=name)
    return _people(visit, made=(name, token))


def remove_person(visit: Visit) -> Response:
    name = visit.path["name"]
    sentence = f"Remove {name}, with all their tokens and logins?"
    return _sure(visit, sentence, lambda: manage_people.remove(visit.store, visit.caller, name))


def revoke_token(visit: Visit) -> Response:
    token = visit.path["id"]
    sentence = f"Make the token {token} worthless, with every login that was made with it?"
    return _sure(visit, sentence, lambda: manage_people.revoke(visit.store, visit.caller, token))


def _sure(visit: Visit, sentence: str, act: Callable[[], None]) -> Response:
    """Once more to the person, then done."""
    if field(_form(visit), "sure") != "yes":
        return page(visit, "sure.html", "Are you sure? · gatebell", sentence=sentence)
    act()
    return RedirectResponse("/people", 303)
