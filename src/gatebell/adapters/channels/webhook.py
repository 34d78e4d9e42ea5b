"""Send events over HTTP, signed by the Standard Webhooks specification."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from base64 import b64encode
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from gatebell.domain.notifications.routes import signing_key
from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from gatebell.domain.notifications.messages import NotificationMessage

_LIMIT_SECONDS = 10.0


class WebhookChannel:
    def __init__(
        self,
        url: str,
        secret: str,
        now: Callable[[], datetime],
        limit_seconds: float = _LIMIT_SECONDS,
    ) -> None:
        self._url = url
        self._secret = secret
        self._now = now
        self._limit_seconds = limit_seconds

    def send(self, message: NotificationMessage) -> None:
        body = json.dumps(message.document).encode()
        headers = {"content-type": "application/json", "user-agent": "gatebell"}
        headers |= self._signature(message.id, body)
        request = Request(self._url, body, headers, method="POST")  # noqa: S310 - parse_route lets http and https through
        line = _Line()
        # A socket's own limit restarts with every byte, and bytes may come for ever.
        over = threading.Timer(self._limit_seconds, line.cut)
        over.daemon = True
        over.start()
        try:
            # The response body is not read: the status is enough.
            build_opener(_NoRedirects, line).open(request, timeout=self._limit_seconds).close()
            if line.is_cut():
                raise TimeoutError
        except HTTPError as error:
            error.close()
            raise DeliveryError(f"the webhook answered {error.code}, not 2xx") from None
        except (OSError, HTTPException, ValueError) as error:
            raise DeliveryError(self._problem(error, line.is_cut())) from None
        finally:
            over.cancel()
            line.cut()

    def _problem(self, error: Exception, is_cut: bool) -> str:
        if is_cut or isinstance(getattr(error, "reason", error), TimeoutError):
            return f"the webhook did not answer within {self._limit_seconds:g} seconds"
        if isinstance(error, URLError):
            return f"the webhook cannot be reached: {_describe_reason(error)}"
        return f"the connection to the webhook failed: {type(error).__name__}"

    def _signature(self, message_id: str, body: bytes) -> dict[str, str]:
        seconds = str(int(self._now().timestamp()))
        headers = {"webhook-id": message_id, "webhook-timestamp": seconds}
        if self._secret:
            signed = f"{message_id}.{seconds}.".encode() + body
            mark = hmac.new(signing_key(self._secret), signed, hashlib.sha256).digest()
            headers["webhook-signature"] = f"v1,{b64encode(mark).decode()}"
        return headers


class _Line(HTTPHandler, HTTPSHandler):
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


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: an event goes only to the address of the user."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _describe_reason(error: URLError) -> str:
    return getattr(error.reason, "strerror", None) or type(error.reason).__name__
