"""The ports to a phone: programs that make an address, and a look at that address."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from gatebell.domain.enums import TunnelKind
    from gatebell.domain.phone.tunnels import Tunnel


class OpenTunnel(NamedTuple):
    """An address that leads to a port of this machine."""

    url: str
    pid: int = 0
    """The process that serves it, if it was started for it."""


class Tunnels(Protocol):
    """Asks the programs on the PATH, each within some seconds."""

    def find(self, kind: TunnelKind, port: int) -> Tunnel:
        """Return the state of the program for the port."""
        ...

    def open(self, tunnel: Tunnel, port: int) -> OpenTunnel:
        """Let the program serve the port; return when the address is known.

        Raises:
            GateError: It does not serve. The text says what to do.
        """
        ...


class Look(NamedTuple):
    """What an address answered."""

    problem: str = ""
    """Empty: it is our page."""
    answered: bool = False
    """Something answered, so that a phone gets the same."""


class Probe(Protocol):
    """Opens addresses of the inbox, as a browser would."""

    def look(self, address: str, seconds: float) -> Look:
        """Open a page of ours; try again until this time is over."""
        ...
