"""Sign a phone in: its person, a token of its own, and a link that works once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.people.principals import person
from gatebell.services.people import manage_logins, manage_people

if TYPE_CHECKING:
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

LABEL = "phone, by gate setup"


class PhoneLink(NamedTuple):
    """A link for one phone."""

    link: str
    token_id: str
    """The token that ends the phone's login when it is revoked."""


def suggest_name(user: str) -> str:
    """Return the name of the OS user, without characters that a person's name cannot have."""
    return "".join(one for one in user if one.isalnum() or one in "._-@")[:64] or "me"


def count_phones(store: Store, name: str) -> int:
    """Return how many links for phones this person got so far, without revoked ones."""
    return sum(one.person == name and one.label == LABEL for one in store.people.tokens())


def add_person(store: Store, caller: Caller, name: str) -> str | None:
    """Add a person with a token for their phone; return it, or None if the person exists."""
    if any(one.name == name for one in store.people.all()):
        return None
    return manage_people.add(store, caller, name, label=LABEL)


def make_link(store: Store, caller: Caller, name: str, url: str, token: str | None) -> PhoneLink:
    """Make a link for one phone, with this token or with a new one.

    Each phone has its own token, so that a lost phone is signed out alone. Its secret is not kept:
    the link is the only use of it.
    """
    secret = token or manage_people.token(store, caller, name, label=LABEL)
    found = manage_people.whose(store, secret, name)
    proven = caller._replace(principal=person(name), verified=True, token_id=found.id)
    return PhoneLink(manage_logins.link_to(store, url, proven, personal=True), found.id)
