"""What a token or a login lets somebody do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.records import NamedTuple
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

SCOPES = ("ask", "answer", "read", "admin")
PERSONAL = ("ask", "answer", "read")
"""What a personal token may do unless somebody says otherwise."""


def listed_as(token_digest: str) -> str:
    """How a token is listed, revoked and told apart; it gives nothing of the token away."""
    return token_digest[:8]


def session_prefix(token_id: str) -> str:
    """What stands before the session of every ask that was opened with this token."""
    return f"http-{token_id}/"


class Token(NamedTuple):
    """A token as it is listed; the store keeps only a digest of the token itself."""

    id: str
    person: str
    scopes: tuple[str, ...] = PERSONAL
    label: str = ""
    made_at: datetime | None = None


class Login(NamedTuple):
    """Who came in, by a link or a token, and what they may do until when."""

    person: str
    verified: bool
    """By a personal token; otherwise the person is only claimed."""
    scopes: tuple[str, ...]
    expires_at: datetime
    token_id: str = ""
    """The token it was made with, and ends with."""
    seal: str = ""
    """Digest of what only the page that logged in can know; changes need it where there is one."""


def check_scopes(given: Iterable[str]) -> tuple[str, ...]:
    """The scopes in their usual order, if all of them are known."""
    wanted = set(given)
    if not wanted or not wanted <= set(SCOPES):
        raise UsageError(f"a token has one or more of the scopes {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in wanted)
