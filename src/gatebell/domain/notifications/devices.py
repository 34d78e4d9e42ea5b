"""Devices: browsers in which a person gets notifications by web push."""

from __future__ import annotations

import json
import re
from binascii import Error as NotBase64Error, a2b_base64
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from gatebell.domain.digests import text_digest
from gatebell.domain.enums import ChannelKind
from gatebell.domain.notifications.routes import Route
from gatebell.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

PUSH_SERVICES = (
    "fcm.googleapis.com",
    ".push.services.mozilla.com",
    ".push.apple.com",
    ".notify.windows.com",
)
"""The push services of the usual browsers; a name with a dot before it means all hosts below it."""
MAX_DEVICES = 20
_MAX_ENDPOINT_CHARACTERS = 1000
_PUBLIC_KEY_BYTES, _AUTH_BYTES = 65, 16
_BROWSERS = {"Edg": "Edge", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari"}
_SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac": "Mac",
    "Linux": "Linux",
}


class Device(NamedTuple):
    """A browser that a person has signed up for notifications."""

    id: str
    person: str
    endpoint: str
    """The address at its push service. Who knows it can waste its messages, but cannot read any."""
    p256dh: str
    """The public key of the browser, to which messages are encrypted."""
    auth: str
    """A secret that the browser shares with this store."""
    seal: str
    """The seal of the login (`people/logins.py`): it tells one browser from another."""
    token_id: str
    """The token of the login; the device is removed when the token is revoked."""
    label: str
    added_at: datetime

    def __repr__(self) -> str:
        # Without its address and keys: it may be shown in a traceback.
        return f"Device({self.id!r})"


def make_device_id(endpoint: str) -> str:
    """Return the id by which a device is listed and removed; it does not reveal the endpoint."""
    return f"d-{text_digest(endpoint)[:10]}"


def build_route(device: Device) -> Route:
    """Return the route to a device."""
    keys = json.dumps([device.endpoint, device.p256dh, device.auth])
    return Route(ChannelKind.WEBPUSH, device.id, device.person, secret=keys)


def check_endpoint(endpoint: str, services: Sequence[str]) -> None:
    """Refuse an address that does not belong to a push service.

    The server calls it, so it must not be any address that a person of the team writes: it could be
    one inside of the server's own network.

    Args:
        endpoint: the address of a browser at its push service
        services: `PUSH_SERVICES` and the further ones of the settings, as HOST or HOST:PORT
    """
    if len(endpoint) > _MAX_ENDPOINT_CHARACTERS or not re.fullmatch(r"[!-~]+", endpoint):
        raise UsageError("the address of this browser is not a plain address: use another browser")
    try:
        parts = urlsplit(endpoint)
        host = parts.netloc.lower()
    except ValueError:
        raise UsageError(
            "the address of this browser cannot be read: use another browser"
        ) from None
    is_plain_local = parts.scheme == "http" and parts.hostname == "127.0.0.1"
    if parts.scheme != "https" and not is_plain_local:
        raise RefusedError("the push service of this browser has no https address")
    is_named = any(host == one or (one[:1] == "." and host.endswith(one)) for one in services)
    if not is_named or not re.fullmatch(r"[a-z0-9.-]+(:\d{1,5})?", host):
        shown = host.rpartition("@")[2][:80]
        raise RefusedError(
            f"messages are not sent to the push service {shown}: to allow it, add it to the "
            "setting push_services"
        )


def check_keys(p256dh: str, auth: str) -> None:
    """Refuse keys that no browser makes."""
    if _decode(p256dh)[:1] != b"\x04" or len(_decode(p256dh)) != _PUBLIC_KEY_BYTES:
        raise UsageError("expected the public key of a browser: 65 bytes in base64url")
    if len(_decode(auth)) != _AUTH_BYTES:
        raise UsageError("expected the secret of a browser: 16 bytes in base64url")


def _decode(text: str) -> bytes:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,200}", text):
        return b""
    try:
        plain = text.replace("-", "+").replace("_", "/")
        return a2b_base64(plain + "=" * (-len(text) % 4), strict_mode=True)
    except (NotBase64Error, ValueError):
        return b""


def describe_browser(user_agent: str) -> str:
    """Return a short name such as `Chrome on Android`; unknown words are left out."""
    browser = next((name for word, name in _BROWSERS.items() if word in user_agent), "a browser")
    system = next((name for word, name in _SYSTEMS.items() if word in user_agent), "")
    return f"{browser} on {system}" if system else browser
