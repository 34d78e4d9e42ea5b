"""The server process: uvicorn with the inbox, and the sender beside it."""

from __future__ import annotations

import gc
import logging
import resource
import sys
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from gatebell.web.app import make_app, make_web_context

if TYPE_CHECKING:
    import argparse
    import asyncio
    from collections.abc import Callable

    from gatebell.ports.store import Store
    from gatebell.services.notifications.send_notices import Sender
    from gatebell.web.context import Site
    from gatebell.web.live import Hub

HEADERS_WITHIN_SECONDS = 10.0
BODY_WITHIN_SECONDS = 60.0
MAX_CONNECTIONS = 4_000
_OTHER_FILES = 100
# One wait of so many ends, and one more, to let a new connection in.
_PART_OF_WAITS = 200
# Long enough to tell ten thousand waiting agents to come back.
_ENDS_WITHIN_SECONDS = 20
_log = logging.getLogger("gatebell.serve")


class LimitedConnection(H11Protocol):
    """A connection that must complete its requests in time.

    When there are too many connections, the oldest incomplete requests are closed. Requests of
    real clients are complete within milliseconds, so endless requests keep no client out. If all
    are complete, the oldest waits are closed: their agents come back.
    """

    max_connections = MAX_CONNECTIONS

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.on_lost: Callable[[], None] | None = None
        # A waiting request has no task that listens for the end of its connection.
        self.app_state = {**self.app_state, "connection": self}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        # Narrower than uvicorn's own signature, as in its own code.
        super().connection_made(transport)
        self._check: asyncio.TimerHandle | None = None
        self._expect_request()
        if len(self.connections) > self.max_connections and not self._make_room():
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._check:
            self._check.cancel()
        super().connection_lost(exc)
        if self.on_lost:
            self.on_lost()
        # These refer to this connection again. Without such circles it is freed at once, not by the
        # garbage collector, which stops the loop for half a second if ten thousand clients wait.
        self.on_lost = None
        self.app_state = {}
        self.scope = self.headers = self.cycle = None  # type: ignore[assignment]

    def on_response_complete(self) -> None:
        self._expect_request()
        super().on_response_complete()

    def _expect_request(self) -> None:
        self.waits_since = self.loop.time()
        if self._check is None:
            self._check = self.loop.call_later(HEADERS_WITHIN_SECONDS, self._end_if_late)

    def cut_off(self) -> None:
        """End the connection in the middle of a reply, so that the client sees that it is not whole."""
        self.cycle.disconnected = True
        self.transport.abort()

    def _make_room(self) -> bool:
        others = [one for one in self.connections if isinstance(one, LimitedConnection)]
        ended = [one for one in others if one is not self and one.is_incomplete()]
        # Half of them at once, so that a flood does not cost a search per connection.
        part = 2
        if not ended:
            # An agent that waits comes back. A person who cannot connect cannot answer.
            ended = [one for one in others if one.on_lost]
            part = _PART_OF_WAITS
        ended.sort(key=lambda one: one.waits_since)
        for one in ended[: len(ended) // part + 1]:
            one.transport.abort()
        return bool(ended)

    def is_incomplete(self) -> bool:
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _end_if_late(self) -> None:
        self._check = None
        if not self.is_incomplete():
            # It is being served. The next check begins with the next request.
            return
        has_headers = self.conn.their_state is h11.SEND_BODY
        allowed = BODY_WITHIN_SECONDS if has_headers else HEADERS_WITHIN_SECONDS
        left = self.waits_since + allowed - self.loop.time()
        # The loop may call a little early.
        if left < 0.01:
            self.transport.abort()
        else:
            pause = min(left, HEADERS_WITHIN_SECONDS)
            self._check = self.loop.call_later(pause, self._end_if_late)


class _Server(uvicorn.Server):
    """Ends streams and waits first, so that the server stops quickly."""

    def __init__(self, config: uvicorn.Config, hub: Hub, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._hub = hub
        self._ready = ready

    def handle_exit(self, sig: int, frame: Any) -> None:
        # Not uvicorn's handler: that one ends by the signal, and ends the sender with it.
        self.force_exit = self.should_exit
        self.should_exit = True
        _log.info("ending: %d waits and %d streams are sent home", *self._hub.count_clients())
        self._hub.close()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def serve(
    store: Store,
    site: Site,
    args: argparse.Namespace,
    sender: Sender,
    ready: Callable[[], None],
    max_connections: int = MAX_CONNECTIONS,
) -> int:
    """Serve until it is stopped; report when it can be reached."""
    _may_open_many_files(max_connections)
    _collect_garbage_seldom()
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(name)s: %(message)s")
    web_context = make_web_context(store, site)
    config = uvicorn.Config(
        make_app(web_context),
        host=args.host,
        port=args.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(args.public_url),
        forwarded_allow_ips=args.proxy or "127.0.0.1",
        ssl_certfile=args.tls_cert or None,
        ssl_keyfile=args.tls_key or None,
        timeout_graceful_shutdown=_ENDS_WITHIN_SECONDS,
        ws="none",
        http=type("Connection", (LimitedConnection,), {"max_connections": max_connections}),
    )
    sender.start()
    try:
        server = _Server(config, web_context.hub, ready)
        server.run()
        return 0 if server.started else 1
    except KeyboardInterrupt:
        return 0
    finally:
        sender.stop()


def _may_open_many_files(connections: int) -> None:
    """Raise the limit of open files, if possible: each stream and wait holds a connection."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most != resource.RLIM_INFINITY and most < connections + _OTHER_FILES:
        _log.warning(
            "only %d files may be open: raise the hard limit, or not all clients fit", most
        )


def _collect_garbage_seldom() -> None:
    """Look for circles in memory less often: each search stops the loop, and finds very little."""
    gc.set_threshold(10_000, 5, 5)
