"""The server process: uvicorn around the inbox, the sender beside it."""

from __future__ import annotations

import logging
import resource
import sys
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from gatebell.web.app import make_app, make_desk

if TYPE_CHECKING:
    import argparse
    import asyncio
    from collections.abc import Callable

    from gatebell.ports.store import Store
    from gatebell.services.notifications.send_notices import Sender
    from gatebell.web.context import Site
    from gatebell.web.live import Hub

SAYS_WITHIN_SECONDS = 10.0
MAX_CONNECTIONS = 4_000


class Hurried(H11Protocol):
    """A connection that must say what it wants, and there is an end to how many there are."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        # Narrower than uvicorn's own signature, as its own code is, too.
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        self.loop.call_later(SAYS_WITHIN_SECONDS, self._end_if_silent)

    def _end_if_silent(self) -> None:
        cycle: Any = self.cycle
        if cycle is None:
            self.transport.close()


class _Server(uvicorn.Server):
    """Sends streams and waits home first, so that ending takes no longer than it must."""

    def __init__(self, config: uvicorn.Config, hub: Hub, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._hub = hub
        self._ready = ready

    def handle_exit(self, sig: int, frame: Any) -> None:
        # Not uvicorn's own: that dies of the signal in the end, and the sender with it.
        self.force_exit = self.should_exit
        self.should_exit = True
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
) -> int:
    """Serve until somebody ends it; says it is ready once it can be reached."""
    _may_open_many_files()
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(name)s: %(message)s")
    desk = make_desk(store, site)
    config = uvicorn.Config(
        make_app(desk),
        host=args.host,
        port=args.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(args.public_url),
        forwarded_allow_ips=args.proxy or "127.0.0.1",
        ssl_certfile=args.tls_cert or None,
        ssl_keyfile=args.tls_key or None,
        timeout_graceful_shutdown=2,
        ws="none",
        http=Hurried,
    )
    sender.start()
    try:
        server = _Server(config, desk.hub, ready)
        server.run()
        return 0 if server.started else 1
    except KeyboardInterrupt:
        return 0
    finally:
        sender.stop()


def _may_open_many_files() -> None:
    """As many as the system lets us: each watcher and waiter holds a connection."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
