"""Sign people in to the web inbox, by a link that works once or by a token."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.digests import token_digest
from gatebell.domain.people.logins import SCOPES, Login
from gatebell.domain.people.principals import must_be_a_person, person
from gatebell.errors import RefusedError

if TYPE_CHECKING:
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

LINKS_LIVE = timedelta(minutes=15)
LOGINS_LIVE = timedelta(days=30)
PERSONAL_ONLY = (
    "other people can reach this inbox, so a link needs your personal token: gate link --as NAME "
    "(gate person add NAME makes a token)"
)


def must_be_let_in(store: Store, caller: Caller) -> None:
    """Refuse agents: a link lets its user answer in the person's name. A demo allows everybody."""
    if not store.throwaway:
        must_be_a_person(caller, "opens the web inbox")


def make_link(store: Store, caller: Caller) -> str:
    """Return the secret of a new link that signs this person in once, within 15 minutes."""
    must_be_let_in(store, caller)
    made = os.urandom(32).hex()
    scopes = {token.id: token.scopes for token in store.people.tokens()} | {"": SCOPES}
    may = scopes.get(caller.token_id, ())
    login = Login(caller.name, caller.verified, may, store.now() + LINKS_LIVE, caller.token_id)
    event = Event(EventKind.LINK_MADE, caller.name, caller.actor, {"evidence": caller.evidence})
    if not store.logins.add_link(token_digest(made), login, [event]):
        raise RefusedError("this token was revoked. Make a new one: gate person token NAME")
    return made


def link_to(store: Store, url: str, caller: Caller, *, personal: bool = False) -> str:
    """Return the full address of a new link; `personal` requires a caller with a token."""
    if personal and not caller.verified:
        raise RefusedError(PERSONAL_ONLY)
    return f"{url}/link/{make_link(store, caller)}"


def find_link(store: Store, link: str) -> Login | None:
    """Return the login that a link would give, without using the link."""
    return store.logins.link(token_digest(link))


def enter_by_link(store: Store, link: str, evidence: dict[str, str], seal: str = "") -> str:
    """Use a link; return the secret of the login. A browser adds a seal of its own."""
    found = find_link(store, link)
    entered = found and _enter(store, found, token_digest(link), evidence, seal)
    if not entered:
        raise RefusedError(
            "this link was used or is older than 15 minutes. Make a new one: gate link"
        )
    return entered


def enter_by_token(store: Store, token: str, evidence: dict[str, str], seal: str = "") -> str:
    """Sign in with a personal token; return the secret of the login."""
    found = store.people.by_token(token_digest(token.strip()))
    if found is None:
        raise RefusedError("this token is unknown here. Make a new one: gate person token NAME")
    login = Login(found.person, verified=True, scopes=found.scopes, expires_at=store.now())
    entered = _enter(store, login._replace(token_id=found.id), "", evidence, seal)
    if not entered:
        raise RefusedError("this token was revoked. Make a new one: gate person token NAME")
    return entered


def _enter(
    store: Store, found: Login, link: str, evidence: dict[str, str], seal: str
) -> str | None:
    made = os.urandom(32).hex()
    sealed = token_digest(seal) if seal else ""
    login = found._replace(expires_at=store.now() + LOGINS_LIVE, seal=sealed)
    event = Event(EventKind.LOGIN_MADE, found.person, person(found.person), {"evidence": evidence})
    return made if store.logins.enter(token_digest(made), login, link, [event]) else None


def whose_login(store: Store, secret: str) -> Login | None:
    return store.logins.get(token_digest(secret))


def leave(store: Store, secret: str, login: Login) -> None:
    event = Event(EventKind.LOGIN_ENDED, login.person, person(login.person), {})
    store.logins.end(token_digest(secret), [event])
