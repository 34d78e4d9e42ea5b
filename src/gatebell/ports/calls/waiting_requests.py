"""The port to requests that wait on a server, for async programs: it does no input or output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ssl import SSLContext

    from gatebell.domain.asks.asks import Ask
    from gatebell.errors import ServerError


class WaitingRequest(Protocol):
    """One request: where it goes, what is sent, and how its response is read."""

    host: str
    port: int
    context: SSLContext | None
    """How the server's certificate is checked; None: there is no TLS."""
    content: bytes
    seconds: float
    """The limit for the whole request."""

    def read(self, received: bytes) -> Ask | None:
        """Return the ask of a response; None if it is not complete yet."""
        ...


class Pauses(Protocol):
    """Pauses between attempts that grow, until a time is over."""

    def choose_pause(self) -> float | None:
        """Return the seconds before the next attempt; None if the time is over."""
        ...

    def begin_again(self) -> None:
        """Forget earlier failures after a success."""
        ...


class WaitingRequests(Protocol):
    """Builds the requests of waits on one server."""

    def build(self, ask_id: str, seconds: float | None, hears: bool) -> WaitingRequest:
        """Return a request that waits so long, or for a while that is usual.

        `hears`: it returns also when a person asked back.
        """
        ...

    def choose_pauses(self, seconds: float | None) -> Pauses:
        """Return the pauses of a wait; None: it has no limit."""
        ...

    def describe_failure(self, error: Exception) -> ServerError:
        """Return the error for a request that got no response."""
        ...

    def close(self) -> None:
        """Close the idle connections to the server."""
        ...
