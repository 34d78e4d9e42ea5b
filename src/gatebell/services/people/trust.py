"""How far an approval can be trusted, by the way in which it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.people.logins import session_prefix
from gatebell.domain.people.principals import L1, TRUST

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.store import Store

_OVER_HTTP = session_prefix("").removesuffix("/")


def describe_trust(store: Store, ask: Ask) -> str:
    """Return L1 if the ask was opened with a token that may only ask, else L0."""
    prefix = ask.origin.session.partition("/")[0]
    if not prefix.startswith(_OVER_HTTP):
        return TRUST
    token_id = prefix.removeprefix(_OVER_HTTP)
    found = next((token for token in store.people.tokens() if token.id == token_id), None)
    return L1 if found and not {"answer", "admin"} & set(found.scopes) else TRUST
