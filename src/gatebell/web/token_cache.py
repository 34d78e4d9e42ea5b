"""Tokens of waiting requests, known for a few seconds: agents come back every minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.digests import token_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.people.logins import Login

_KEPT_SECONDS = 5.0
_MAX_TOKENS = 10_000


class TokenCache:
    """Logins by token. The hub clears it as soon as any token is revoked."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._logins: dict[str, tuple[float, Login]] = {}
        self.is_open = False
        """Only while the hub hears of revoked tokens."""

    def get(self, secret: str) -> Login | None:
        until, login = self._logins.get(token_digest(secret), (0.0, None))
        return login if self.is_open and self._monotonic() < until else None

    def keep(self, secret: str, login: Login) -> None:
        if len(self._logins) >= _MAX_TOKENS:
            self._logins.clear()
        if self.is_open:
            self._logins[token_digest(secret)] = (self._monotonic() + _KEPT_SECONDS, login)

    def clear(self) -> None:
        self._logins.clear()
