"""Tokens, logins, and the scopes that they give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.records import NamedTuple
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

SCOPES = ("ask", "answer", "read", "admin", "metrics")
_VERBS = {"admin": "manage people", "metrics": "read the metrics"}
"""What a scope allows, where its name is not a verb."""
_OVER_HTTP = "http-"
PERSONAL = ("ask", "answer", "read")
"""The scopes of a personal token by default."""


def describe_scopes(scopes: Sequence[str]) -> str:
    """Return the scopes as the end of a sentence: `ask, answer and read`."""
    *first, last = [_VERBS.get(one, one) for one in scopes] or ["do nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def make_token_id(token_digest: str) -> str:
    """Return the id by which a token is listed and revoked; it does not reveal the token."""
    return token_digest[:8]


def session_prefix(token_id: str) -> str:
    """Return the prefix of the session of every ask that was opened with this token."""
    return f"{_OVER_HTTP}{token_id}/"


def client_of(session: str) -> str:
    """Return the prefix of a session that a token opened; empty for a session of this machine."""
    head, slash, _ = session.partition("/")
    return f"{head}/" if slash and head.startswith(_OVER_HTTP) else ""


class Token(NamedTuple):
    """A token as it is listed; the store keeps only a digest of the token."""

    id: str
    person: str
    scopes: tuple[str, ...] = PERSONAL
    label: str = ""
    made_at: datetime | None = None


class Login(NamedTuple):
    """A person's login by a link or a token, with its scopes and its end."""

    person: str
    verified: bool
    """True for a login by a personal token; otherwise the name is not proven."""
    scopes: tuple[str, ...]
    expires_at: datetime
    token_id: str = ""
    """The token that made the login; the login ends when the token is revoked."""
    seal: str = ""
    """Digest of a secret of the page that logged in; if it is set, changes need that secret."""


def check_scopes(given: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes in their usual order; refuse unknown ones."""
    wanted = set(given)
    if not wanted or not wanted <= set(SCOPES):
        raise UsageError(f"expected one or more of the scopes {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in wanted)
