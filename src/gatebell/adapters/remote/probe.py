"""Open an address of the web inbox, to see whether a phone can."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from urllib.parse import urlsplit

from gatebell.ports.phone import Look

_TRY_SECONDS = 5.0
_PAUSE_SECONDS = 0.5
_MAX_BYTES = 65_536
_OK, _FORBIDDEN, _NOT_FOUND = 200, 403, 404


class InboxProbe:
    """Opens pages, without a proxy of the environment: a phone does not use it either."""

    def __init__(self, ca_file: str = "") -> None:
        self._ca_file = ca_file

    def look(self, address: str, seconds: float) -> Look:
        until = time.monotonic() + seconds
        while True:
            seen = self._try(address)
            # A new name and a new tunnel need some seconds.
            if not seen.problem or time.monotonic() + _PAUSE_SECONDS > until:
                return seen
            time.sleep(_PAUSE_SECONDS)

    def _try(self, address: str) -> Look:
        parts = urlsplit(address)
        try:
            status, body = self._get(parts.scheme, parts.netloc, parts.path or "/")
        except ssl.SSLCertVerificationError as error:
            return Look(f"its certificate is not trusted here ({error.verify_message})")
        except socket.gaierror:
            return Look(f"this machine does not know the name {parts.hostname}")
        except TimeoutError:
            return Look("it does not answer")
        except (OSError, http.client.HTTPException, ValueError) as error:
            return Look(f"it cannot be reached ({getattr(error, 'strerror', '') or error})")
        if status == _OK and b"gatebell" in body:
            return Look(answered=True)
        if status == _FORBIDDEN and b"only one address" in body:
            return Look("the proxy does not pass on the Host header", answered=True)
        if status == _NOT_FOUND and b"gatebell" in body:
            return Look("another gatebell answers there", answered=True)
        if status >= 500:
            return Look(f"the proxy does not reach gate up (HTTP {status})", answered=True)
        return Look(f"another server answers there (HTTP {status})", answered=True)

    def _get(self, scheme: str, netloc: str, path: str) -> tuple[int, bytes]:
        if scheme == "https":
            context = ssl.create_default_context(cafile=self._ca_file or None)
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                netloc, timeout=_TRY_SECONDS, context=context
            )
        else:
            connection = http.client.HTTPConnection(netloc, timeout=_TRY_SECONDS)
        try:
            connection.request("GET", path, headers={"user-agent": "gate"})
            response = connection.getresponse()
            return response.status, response.read(_MAX_BYTES)
        finally:
            connection.close()
