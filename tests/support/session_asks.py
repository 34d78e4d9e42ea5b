"""Session asks and the people who open them."""

from __future__ import annotations

from gatebell.domain.asks.asks import Origin
from gatebell.domain.people.principals import Caller, person
from gatebell.domain.sessions.visits import Terms
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request

ADA, BOB = (Caller(person(name), False, "cli", None, {}) for name in ("ada", "bob"))


def open_ask(store, terms=None, **more):
    request = Request("Is the schema good?", "session", session=terms or Terms("approval"), **more)
    return create_ask.ask(store, request, Origin(cwd="/p"), ADA).ask
