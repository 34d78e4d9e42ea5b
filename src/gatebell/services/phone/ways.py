"""Find and open a way from a phone to the web inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import TunnelKind, TunnelState
from gatebell.errors import UsageError
from gatebell.ports.phone import OpenTunnel

if TYPE_CHECKING:
    from gatebell.domain.phone.tunnels import Tunnel
    from gatebell.ports.phone import Tunnels

_SCHEME = "https://"


def list_ways(tunnels: Tunnels, port: int) -> list[Tunnel]:
    """Return the programs that are installed, the most private one first."""
    found = [tunnels.find(kind, port) for kind in TunnelKind]
    return [one for one in found if one.state != TunnelState.MISSING]


def open_way(tunnels: Tunnels, way: str, port: int) -> OpenTunnel:
    """Return an address that leads to the port.

    Args:
        way: a program, or the https:// address of the person's own proxy

    Raises:
        UsageError: The program is missing or off, or this is not such an address.
        GateError: The program made no address.
    """
    if way not in list(TunnelKind):
        return OpenTunnel(check_own_address(way))
    tunnel = tunnels.find(TunnelKind(way), port)
    if tunnel.state == TunnelState.MISSING:
        raise UsageError(f"{way} is not on the PATH: install it, or use another way")
    if tunnel.state == TunnelState.OFF:
        raise UsageError(tunnel.hint)
    if tunnel.state == TunnelState.SERVING:
        return OpenTunnel(tunnel.url)
    return tunnels.open(tunnel, port)


def check_own_address(given: str) -> str:
    """Return the address of a proxy without a slash at its end, or refuse it."""
    address = given.strip().rstrip("/")
    rest = address.removeprefix(_SCHEME)
    if rest == address or not rest or set(rest) & set("/@?# \t\r\n\\\"'"):
        raise UsageError(f"expected an address such as https://gate.example.org, got {given!r}")
    return address.lower()
