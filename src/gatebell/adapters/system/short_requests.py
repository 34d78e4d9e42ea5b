"""Send one HTTP request that ends in time, to one address and no other."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from collections.abc import Callable


def send_request(request: Request, limit_seconds: float, receiver: str) -> int:
    """Send a request and return the status; the body of the response is not read.

    Args:
        request: the request, with http or https
        limit_seconds: for everything together, also for a response that drips
        receiver: the name of the other side in errors, such as "the webhook"

    Raises:
        DeliveryError: It did not answer in time or could not be reached. The text has no address.
    """
    handler = CuttableHandler()
    # A socket's own limit restarts with every byte, and bytes may come for ever.
    over = threading.Timer(limit_seconds, handler.cut)
    over.daemon = True
    over.start()
    try:
        with build_opener(NoRedirects, handler).open(request, timeout=limit_seconds) as response:
            status = int(response.status)
        if handler.is_cut():
            raise TimeoutError
        return status
    except HTTPError as error:
        error.close()
        return error.code
    except (OSError, HTTPException, ValueError) as error:
        is_late = handler.is_cut() or isinstance(getattr(error, "reason", error), TimeoutError)
        late = f"{receiver} did not answer within {limit_seconds:g} seconds"
        raise DeliveryError(late if is_late else _describe(error, receiver)) from None
    finally:
        over.cancel()
        handler.cut()


def _describe(error: Exception, receiver: str) -> str:
    if isinstance(error, URLError):
        return f"{receiver} cannot be reached: {_describe_reason(error)}"
    return f"the connection to {receiver} failed: {type(error).__name__}"


class CuttableHandler(HTTPHandler, HTTPSHandler):
    """Makes the connection, and can cut it at any moment, which ends a pending read."""

    def __init__(self) -> None:
        super().__init__()
        self._end: socket.socket | None = None
        self._cut = threading.Event()
        self.is_cut = self._cut.is_set

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(self._connection(_Connection), req)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(self._connection(_TlsConnection), req)

    def _connection(self, kind: type[_Connection]) -> Any:
        def make_connection(*args: Any, **more: Any) -> _Connection:
            connection = kind(*args, **more)
            connection.connected = self._keep
            return connection

        return make_connection

    def _keep(self, end: socket.socket) -> None:
        # A duplicate: TLS takes over the first descriptor.
        self._end = end.dup()
        if self.is_cut():
            self.cut()

    def cut(self) -> None:
        self._cut.set()
        if self._end:
            with suppress(OSError):
                self._end.shutdown(socket.SHUT_RDWR)
            self._end.close()


class _Connection(HTTPConnection):
    connected: Callable[[socket.socket], None]

    def connect(self) -> None:
        super().connect()
        self.connected(self.sock)


class _TlsConnection(HTTPSConnection, _Connection):
    """The descriptor is kept before TLS begins: the handshake may also hang."""


class NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: an event goes only to the address of the user."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _describe_reason(error: URLError) -> str:
    return getattr(error.reason, "strerror", None) or type(error.reason).__name__
