"""Manage people, their personal tokens and their groups."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.digests import token_digest
from gatebell.domain.people.logins import (
    PERSONAL,
    Token,
    check_scopes,
    describe_scopes,
    make_token_id,
)
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.text.display import storable
from gatebell.errors import NotFoundError, RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store


def add(
    store: Store,
    caller: Caller,
    name: str,
    scopes: Sequence[str] = PERSONAL,
    label: str = "",
) -> str:
    """Add a person and return the first token, which is shown only once."""
    _only_people(store, caller)
    if not name or not all(c.isalnum() or c in "._-@" for c in name) or len(name) > 64:
        raise UsageError(
            f"expected a name of letters, digits and . _ - @, at most 64, got {name!r}"
        )
    check_scopes(scopes)
    if name in store.people.groups():
        raise UsageError(f"{name} is already the name of a group: choose another name")
    if not store.people.add(name, [_event(EventKind.PERSON_ADDED, name, caller)]):
        raise UsageError(f"{name} exists already. Make a token: gate person token {name}")
    return token(store, caller, name, scopes, label)


def token(
    store: Store,
    caller: Caller,
    name: str,
    scopes: Sequence[str] = PERSONAL,
    label: str = "",
) -> str:
    """Make another token for a person, limited to these scopes."""
    _only_people(store, caller)
    made = "gate_" + os.urandom(32).hex()
    digest = token_digest(made)
    new = Token(make_token_id(digest), name, check_scopes(scopes), storable(label)[:100])
    event = _event(EventKind.TOKEN_MADE, name, caller, id=new.id, scopes=list(new.scopes))
    if not store.people.add_token(new, digest, [event]):
        raise NotFoundError(f"there is no person {name}. List all: gate person list")
    return made


def revoke(store: Store, caller: Caller, token_id: str) -> None:
    """Revoke a token, and end every login that was made with it."""
    _only_people(store, caller)
    if not store.people.remove_token(token_id, [_event(EventKind.TOKEN_REVOKED, token_id, caller)]):
        raise NotFoundError(f"there is no token {token_id}. List all: gate person list")


def remove(store: Store, caller: Caller, name: str) -> None:
    """Remove a person with all their tokens; their answers stay."""
    _only_people(store, caller)
    if not store.people.remove(name, [_event(EventKind.PERSON_REMOVED, name, caller)]):
        raise NotFoundError(f"there is no person {name}. List all: gate person list")


def set_group(store: Store, caller: Caller, name: str, members: Sequence[str]) -> None:
    """Create, change or (without members) remove a group. Open asks keep their names."""
    _only_people(store, caller)
    known = {person.name for person in store.people.all()}
    if name in known or name == "all" or not name:
        raise UsageError(f"{name!r} cannot be the name of a group: choose another name")
    for member in members:
        if member not in known:
            raise NotFoundError(f"there is no person {member}. Add one: gate person add {member}")
    content = {"members": list(members), "via": caller.via, "evidence": caller.evidence}
    store.people.set_group(name, members, [Event(EventKind.GROUP_SET, name, caller.actor, content)])


def whose(store: Store, secret: str, name: str = "") -> Token:
    """Return the token with this secret; it must allow answering, and belong to `name` if given."""
    found = store.people.by_token(token_digest(secret.strip()))
    if found and "answer" not in found.scopes:
        raise RefusedError(f"this token may only {describe_scopes(found.scopes)}, not answer")
    if found is None or (name and found.person != name):
        raise RefusedError(
            f"this token does not belong to {name}"
            if name
            else "this token is unknown here. Make a new one: gate person token NAME"
        )
    return found


def _event(kind: EventKind, subject: str, caller: Caller, **more: Any) -> Event:
    content = {"via": caller.via, "evidence": caller.evidence, **more}
    return Event(kind, subject, caller.actor, content)


def _only_people(store: Store, caller: Caller) -> None:
    """Refuse agents: an agent that can add people could approve in their names."""
    if not store.throwaway:
        must_be_a_person(caller, "manages people and tokens")
