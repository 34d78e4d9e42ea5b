"""A program that takes events over HTTP, signed as Standard Webhooks prescribe."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64encode
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from humangate.domain.roads import signing_key
from humangate.errors import DeliveryError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from humangate.domain.letters import Letter

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

    def send(self, letter: Letter) -> None:
        body = json.dumps(letter.document).encode()
        headers = {"content-type": "application/json", "user-agent": "humangate"}
        headers |= self._signature(letter.id, body)
        request = Request(self._url, body, headers, method="POST")  # noqa: S310 - parse_road lets http and https through
        try:
            # What it answers is not read: that it took the event is all there is to know.
            build_opener(_NoRedirects).open(request, timeout=self._limit_seconds).close()
        except HTTPError as error:
            error.close()
            raise DeliveryError(f"the webhook answered {error.code}, not 2xx") from None
        except TimeoutError:
            raise self._too_slow() from None
        except URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._too_slow() from None
            raise DeliveryError(f"the webhook cannot be reached: {_reason(error)}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise DeliveryError(f"the webhook broke off: {type(error).__name__}") from None

    def _too_slow(self) -> DeliveryError:
        return DeliveryError(f"the webhook did not answer within {self._limit_seconds:g} seconds")

    def _signature(self, letter_id: str, body: bytes) -> dict[str, str]:
        seconds = str(int(self._now().timestamp()))
        headers = {"webhook-id": letter_id, "webhook-timestamp": seconds}
        if self._secret:
            signed = f"{letter_id}.{seconds}.".encode() + body
            mark = hmac.new(signing_key(self._secret), signed, hashlib.sha256).digest()
            headers["webhook-signature"] = f"v1,{b64encode(mark).decode()}"
        return headers


class _NoRedirects(HTTPRedirectHandler):
    """An event goes where the user sent it, and nowhere else."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _reason(error: URLError) -> str:
    return getattr(error.reason, "strerror", None) or type(error.reason).__name__
