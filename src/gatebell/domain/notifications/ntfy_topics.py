"""Topics of ntfy: everybody who knows the name of one can read it."""

from __future__ import annotations

import re
from base64 import b32encode
from typing import NamedTuple
from urllib.parse import unquote

from gatebell.errors import UsageError

NTFY = "ntfy"
_BEGINNING = "gate-"
_CLOUD = "ntfy.sh"
_NAME = r"[-_A-Za-z0-9]{1,64}"
_ADDRESS = re.compile(
    rf"(?P<scheme>ntfys?)://(?:(?P<login>[^/@]*)@)?(?P<host>[A-Za-z0-9.-]+)"
    rf"(?::(?P<port>\d{{1,5}}))?(?:/(?P<topic>{_NAME}))?/?"
)


class Topic(NamedTuple):
    """One topic of an ntfy server, and how to sign in there."""

    server: str
    """http://HOST:PORT or https://HOST."""
    name: str
    user: str = ""
    password: str = ""
    token: str = ""

    def __repr__(self) -> str:
        return "Topic(…)"

    @property
    def host(self) -> str:
        return self.server.partition("://")[2]

    @property
    def page(self) -> str:
        """The page on which a phone subscribes."""
        return f"{self.server}/{self.name}"

    @property
    def route(self) -> str:
        """The address for a route in the settings, without a login."""
        scheme = f"{NTFY}s" if self.server.startswith("https:") else NTFY
        return f"{scheme}://{self.host}/{self.name}"


def make_topic(server: str, random: bytes) -> Topic:
    """Return a topic whose name cannot be guessed; it consists of these random bytes."""
    given = server.rstrip("/")
    scheme, _, host = given.partition("://")
    if scheme not in ("http", "https") or not host or set(host) & set("/@?# \t\r\n\\\"'"):
        raise UsageError(f"expected a server such as https://ntfy.sh, got {server!r}")
    return Topic(given, _BEGINNING + b32encode(random).decode().lower().rstrip("="))


def parse_topic(address: str) -> Topic | None:
    """Return the topic of an address of Apprise; None for other services, and for options and many topics.

    Apprise sends to those, and cannot take a message back.
    """
    found = _ADDRESS.fullmatch(address)
    if not found:
        return None
    scheme, login, host, port, name = found.groups()
    if not name:
        # The short form for a topic of the public server, which has no login.
        is_name = re.fullmatch(_NAME, host) and not login and not port
        return Topic(f"https://{_CLOUD}", host) if is_name else None
    secure = scheme == "ntfys" or host == _CLOUD
    server = f"{'https' if secure else 'http'}://{host}{f':{port}' if port else ''}"
    user, colon, password = (unquote(part) for part in (login or "").partition(":"))
    if user.startswith("tk_") and not colon:
        return Topic(server, name, token=user)
    return Topic(server, name, user, password)
