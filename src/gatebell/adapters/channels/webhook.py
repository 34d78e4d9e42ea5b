"""Send events over HTTP, signed by the Standard Webhooks specification."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.request import Request

from gatebell.adapters.system.short_requests import send_request
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
        status = send_request(request, self._limit_seconds, "the webhook")
        if not 200 <= status < 300:
            raise DeliveryError(f"the webhook answered {status}, not 2xx")

    def _signature(self, message_id: str, body: bytes) -> dict[str, str]:
        seconds = str(int(self._now().timestamp()))
        headers = {"webhook-id": message_id, "webhook-timestamp": seconds}
        if self._secret:
            signed = f"{message_id}.{seconds}.".encode() + body
            mark = hmac.new(signing_key(self._secret), signed, hashlib.sha256).digest()
            headers["webhook-signature"] = f"v1,{b64encode(mark).decode()}"
        return headers
