"""The port to a face that tells a person how the requests to a server go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gatebell.errors import ServerError


class ServerWatcher(Protocol):
    """Learns that a server is slow, away or back."""

    def watch_request(self) -> AbstractContextManager[None]:
        """Surround a request that the server answers at once."""
        ...

    def note_failure(self, error: ServerError) -> None:
        """Learn that a request failed, and will be sent again."""
        ...

    def note_reply(self) -> None:
        """Learn that a request got its response."""
        ...
