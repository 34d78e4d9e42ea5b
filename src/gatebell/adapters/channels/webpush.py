"""Send a message to a browser through its push service."""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gatebell.domain.notifications.devices import check_endpoint
from gatebell.domain.notifications.push import build_headers, build_payload
from gatebell.errors import DeliveryError, GateError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from http.client import HTTPResponse

    from gatebell.domain.notifications.messages import NotificationMessage
    from gatebell.domain.notifications.routes import Route
    from gatebell.ports.channels import Withdrawal

_LIMIT_SECONDS = 10.0
_SIGNED_FOR_SECONDS = 12 * 3600
_GONE = (404, 410)
_MAX_WAIT_SECONDS = 86400.0
# The services want to know whom to write to; a private inbox has no such address.
_NO_CONTACT = "mailto:gatebell@example.org"


class WebPushChannel:
    def __init__(
        self,
        route: Route,
        secret: Callable[[], bytes],
        services: Sequence[str],
        contact: str,
        now: Callable[[], datetime],
    ) -> None:
        self._device = route.target
        self._endpoint, self._p256dh, self._auth = json.loads(route.secret)
        self._secret = secret
        self._services = services
        self._contact = contact if contact.startswith("https://") else _NO_CONTACT
        self._now = now

    def send(self, message: NotificationMessage) -> None:
        body, headers = self._seal(message)
        try:
            # Again: the settings may have changed since the device was signed up.
            check_endpoint(self._endpoint, self._services)
            status, wait = self._post(body, headers)
        except GateError as error:
            raise DeliveryError(str(error)) from None
        except TimeoutError:
            raise DeliveryError(
                f"the push service did not answer within {_LIMIT_SECONDS:g} seconds"
            ) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise DeliveryError(f"the push service cannot be reached: {reason}") from None
        if status in _GONE:
            raise DeliveryError("this browser has ended its notifications", is_gone=True)
        if not 200 <= status < 300:
            raise DeliveryError(
                f"the push service answered {status}, not 2xx", wait_seconds=_read_wait(wait)
            )

    def withdraw(self, withdrawal: Withdrawal) -> None:
        try:
            self.send(withdrawal.rest or withdrawal.news)
        except DeliveryError as error:
            if not error.is_gone:
                raise

    def _seal(self, message: NotificationMessage) -> tuple[bytes, dict[str, str]]:
        try:
            # Imported here: it is an extra, and loads slowly.
            from gatebell.adapters import push_crypto
        except ImportError:
            raise DeliveryError(
                "a device needs cryptography: pip install 'gatebell[notify]'"
            ) from None
        now = self._now()
        try:
            body = push_crypto.encrypt(
                build_payload(self._device, message), self._p256dh, self._auth
            )
        except ValueError:
            raise DeliveryError(
                "the keys of this browser are not valid: sign it up again"
            ) from None
        parts = urlsplit(self._endpoint)
        audience = f"{parts.scheme}://{parts.netloc}"
        until = int(now.timestamp()) + _SIGNED_FOR_SECONDS
        headers = {
            "authorization": push_crypto.sign(self._secret(), audience, until, self._contact),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
        }
        return body, headers | build_headers(message, now)

    def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        """Return the status and the header retry-after. A redirect is a failure, as any status."""
        parts = urlsplit(self._endpoint)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.netloc, timeout=_LIMIT_SECONDS)
        try:
            connection.request(
                "POST",
                f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}",
                body,
                headers,
            )
            # The body of the response is not read: the status is enough.
            response: HTTPResponse = connection.getresponse()
            return response.status, response.getheader("retry-after", "")
        finally:
            connection.close()


def _read_wait(text: str) -> float:
    """Return the seconds of a header; a date in it is not read."""
    is_number = text.isascii() and text.isdecimal() and len(text) < 8
    return min(float(text), _MAX_WAIT_SECONDS) if is_number else 0.0
