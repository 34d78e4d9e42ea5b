"""The server process: uvicorn around the inbox, the sender beside it."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

import uvicorn

from humangate.web.app import make_app, make_desk

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from humangate.doors.store import Store
    from humangate.service.notifying import Sender
    from humangate.web.desk import Site
    from humangate.web.live import Hub


class _Server(uvicorn.Server):
    """Sends streams and waits home first, so that ending takes no longer than it must."""

    def __init__(self, config: uvicorn.Config, hub: Hub, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._hub = hub
        self._ready = ready

    def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002 - uvicorn calls it so
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
