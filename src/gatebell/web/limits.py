"""Refuses requests before any route: foreign hosts and origins, and bodies that are too large."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatebell.domain.asks.attachments import MAX_FILE_BYTES, MAX_TOTAL_BYTES
from gatebell.web.operations import HEALTH, METRICS, READY
from gatebell.web.problems import Problem, document

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from typing import Any

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gatebell.web.context import Site
    from gatebell.web.metrics import Requests

MAX_BYTES = 8_000_000
UPLOADS = "/api/attachments"
# Forms with files: the answer to an ask.
_ANSWER = re.compile(r"/asks/[^/]+/answer")
# Probes call each server by its address. These paths show no asks, and change nothing.
NAMELESS = frozenset([HEALTH, READY, METRICS])
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not no-referrer: with that, browsers hide the origin even from us.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class Guards:
    """Checks every request, even to routes that do not exist."""

    def __init__(self, app: ASGIApp, site: Site, requests: Requests) -> None:
        self._app = app
        self._site = site
        self._requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._requests.count(scope["method"], scope["path"], message["status"])
                _add_headers(message, self._site.secure)
            await send(message)

        try:
            self._check(scope)
        except Problem as problem:
            await document(problem)(scope, receive, send_guarded)
            return
        await self._app(scope, _limit_body(receive, _find_limit(scope["path"])), send_guarded)

    def _check(self, scope: Scope) -> None:
        values: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            values.setdefault(name, []).append(value)
        hosts = [host.decode("latin-1").lower() for host in values.get(b"host", [])]
        if scope["path"] not in NAMELESS and (len(hosts) != 1 or hosts[0] not in self._site.hosts):
            raise Problem(403, f"this inbox has only one address: open {self._site.url}")
        for origin in values.get(b"origin", []):
            if origin.decode("latin-1").lower() not in self._site.origins:
                raise Problem(
                    403, "another site sent this request, so nothing was done: open the inbox"
                )
        length = values.get(b"content-length", [b"0"])[0]
        most = _find_limit(scope["path"])
        if not length.isdigit() or int(length[:20]) > most:
            raise Problem(413, f"the body is too large: at most {most} bytes")


def _find_limit(path: str) -> int:
    """Return how long a body may be; a login is checked before it is read."""
    if path == UPLOADS:
        return MAX_FILE_BYTES
    return MAX_BYTES + MAX_TOTAL_BYTES if _ANSWER.fullmatch(path) else MAX_BYTES


def _add_headers(message: MutableMapping[str, Any], secure: bool) -> None:
    present = {name for name, _ in message["headers"]}
    added = HEADERS | ({"strict-transport-security": "max-age=31536000"} if secure else {})
    for name, value in added.items():
        if name.encode() not in present:
            message["headers"].append((name.encode(), value.encode()))


def _limit_body(receive: Receive, most: int) -> Receive:
    taken = 0

    async def receive_limited() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > most:
            raise Problem(413, f"the body is too large: at most {most} bytes")
        return message

    return receive_limited
