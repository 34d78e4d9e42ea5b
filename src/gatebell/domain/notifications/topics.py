"""Topics of ntfy: everybody who knows the name of one can read it."""

from __future__ import annotations

from base64 import b32encode
from typing import NamedTuple

from gatebell.errors import UsageError

NTFY = "ntfy"
_BEGINNING = "gate-"


class Topic(NamedTuple):
    """A topic on a server."""

    server: str
    name: str

    @property
    def host(self) -> str:
        return self.server.partition("://")[2]

    @property
    def page(self) -> str:
        """The page on which a phone subscribes."""
        return f"{self.server}/{self.name}"

    @property
    def route(self) -> str:
        """The address for a route in the settings."""
        scheme = f"{NTFY}s" if self.server.startswith("https:") else NTFY
        return f"{scheme}://{self.host}/{self.name}"


def make_topic(server: str, random: bytes) -> Topic:
    """Return a topic whose name cannot be guessed; it consists of these random bytes."""
    given = server.rstrip("/")
    scheme, _, host = given.partition("://")
    if scheme not in ("http", "https") or not host or set(host) & set("/@?# \t\r\n\\\"'"):
        raise UsageError(f"expected a server such as https://ntfy.sh, got {server!r}")
    return Topic(given, _BEGINNING + b32encode(random).decode().lower().rstrip("="))
