"""Tunnels: programs that give the web inbox an https:// address, and their output."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from gatebell.domain.enums import TunnelKind, TunnelState

_NAMES = {TunnelKind.TAILSCALE: "Tailscale", TunnelKind.CLOUDFLARED: "Cloudflare Tunnel"}
_WHO = {
    TunnelKind.TAILSCALE: "only your own devices reach it",
    TunnelKind.CLOUDFLARED: "open to the internet; a new address after each start",
}
# Other services of this machine may have the first ones.
_HTTPS_PORTS = (443, 8443, 10000)
_QUICK_TUNNEL = re.compile(r"https://[a-z0-9-]+\.trycloudflare\.com\b")
_ENABLE_PAGE = re.compile(r"https://login\.tailscale\.com/[!-~]+")


class Tunnel(NamedTuple):
    """One program, and its service for a port of this machine."""

    kind: TunnelKind
    state: TunnelState
    url: str = ""
    """The address, if it serves the port."""
    hint: str = ""
    """What to do, if it is off."""
    https_port: int = 443
    """The port of a new address."""

    @property
    def name(self) -> str:
        return _NAMES[self.kind]

    @property
    def is_private(self) -> bool:
        return self.kind == TunnelKind.TAILSCALE

    @property
    def who_reaches_it(self) -> str:
        return _WHO[self.kind]


def read_tailscale(status: str, serve: str, port: int) -> Tunnel:
    """Read `tailscale status --json` and `tailscale serve status --json`."""
    kind = TunnelKind.TAILSCALE
    if _read_object(status).get("BackendState") != "Running":
        return Tunnel(kind, TunnelState.OFF, hint="tailscale is not connected: run tailscale up")
    served = _read_object(serve).get("Web")
    taken = set()
    for address, site in (served if isinstance(served, dict) else {}).items():
        host, _, https_port = str(address).rpartition(":")
        taken.add(https_port)
        if _find_target(site) in (f"http://127.0.0.1:{port}", f"http://localhost:{port}"):
            end = "" if https_port == "443" else f":{https_port}"
            return Tunnel(kind, TunnelState.SERVING, f"https://{host}{end}")
    free = [number for number in _HTTPS_PORTS if str(number) not in taken]
    if not free:
        hint = "tailscale serve uses all its usual ports: tailscale serve status lists them"
        return Tunnel(kind, TunnelState.OFF, hint=hint)
    return Tunnel(kind, TunnelState.READY, https_port=free[0])


def _read_object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _find_target(site: Any) -> str:
    handlers = site.get("Handlers") if isinstance(site, dict) else None
    root = handlers.get("/") if isinstance(handlers, dict) else None
    target = root.get("Proxy") if isinstance(root, dict) else None
    return target.rstrip("/") if isinstance(target, str) else ""


def explain_refusal(output: str) -> str:
    """Return why `tailscale serve` did not serve, and what to do."""
    if page := _ENABLE_PAGE.search(output):
        return f"Serve is off in your tailnet: open {page[0]} once, then run this again"
    if "denied" in output.lower():
        return (
            "tailscale lets only root do this. To allow it for you, run once: "
            "sudo tailscale set --operator=$USER"
        )
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"tailscale serve failed: {lines[-1][:200] if lines else 'it said nothing'}"


def find_quick_tunnel(log: str) -> str:
    """Return the address that cloudflared has printed, or ""."""
    found = _QUICK_TUNNEL.search(log)
    return found[0] if found else ""
