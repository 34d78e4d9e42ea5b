"""Requests that wait on a server, as bytes: an async program sends them by its own loop."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from gatebell.adapters.remote.http import MAX_HEAD_BYTES, Patience, parse_chunk_size, parse_head
from gatebell.adapters.remote.servers import split_address
from gatebell.adapters.remote.wire_format import OUTAGE_SECONDS, WAIT_SECONDS, build_wait

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from gatebell.adapters.remote.http import Http, Reply
    from gatebell.domain.asks.asks import Ask
    from gatebell.errors import ServerError

_SLACK_SECONDS = 15.0


class RemoteWait:
    """One request of a wait."""

    def __init__(
        self, waits: RemoteWaits, content: bytes, seconds: float, context: SSLContext | None
    ) -> None:
        self._waits = waits
        name, self.port = split_address(waits.server)
        self.host, self.context = name.strip("[]"), context
        self.content, self.seconds = content, seconds

    def read(self, received: bytes) -> Ask | None:
        reply = parse_reply(received)
        return self._waits.read(reply) if reply else None


class RemoteWaits:
    """Builds the requests of all waits of a program."""

    def __init__(self, http: Http, read: Callable[[dict[str, Any]], Ask]) -> None:
        self._http, self._read = http, read
        self.server = http.server

    @cached_property
    def _context(self) -> SSLContext | None:
        # Made once: it reads all certificates of the system.
        return self._http.make_context()

    def build(self, ask_id: str, seconds: float | None, hears: bool) -> RemoteWait:
        path, whole = build_wait(ask_id, WAIT_SECONDS if seconds is None else seconds, hears)
        content = self._http.build("GET", path)
        return RemoteWait(self, content, whole + _SLACK_SECONDS, self._context)

    def read(self, reply: Reply) -> Ask:
        return self._read(self._http.read_reply(reply)["ask"])

    def choose_pauses(self, seconds: float | None) -> Patience:
        return Patience(OUTAGE_SECONDS if seconds is None else seconds)

    def close(self) -> None:
        self._http.close()

    def describe_failure(self, error: Exception) -> ServerError:
        return self._http.describe_failure(error)


def parse_reply(received: bytes) -> Reply | None:
    """Return a response; None if it is not complete yet."""
    head, mark, rest = received.partition(b"\r\n\r\n")
    if not mark:
        if len(received) > MAX_HEAD_BYTES:
            raise OSError("its response has too many headers")
        return None
    reply = parse_head(head)
    if not reply.is_chunked:
        length = reply.length
        return reply._replace(body=rest[:length]) if len(rest) >= length else None
    body = bytearray()
    while True:
        line, mark, rest = rest.partition(b"\r\n")
        size = parse_chunk_size(line, len(body)) if mark else 0
        if not mark or len(rest) < size + 2:
            return None
        body += rest[:size]
        rest = rest[size + 2 :]
        if not size:
            return reply._replace(body=bytes(body))
