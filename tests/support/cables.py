"""Hosts with networks of their own, each joined with that of the servers by a cable to cut."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING, Self

from tests.support.agent_programs import Network

if TYPE_CHECKING:
    from collections.abc import Sequence


class Cables:
    """Network namespaces; the machine's own network is not touched."""

    def __init__(self, servers: Network, hosts: Sequence[str]) -> None:
        self._servers = servers
        self._hosts = {name: Network() for name in hosts}
        self._near = {name: f"10.78.{number}.1" for number, name in enumerate(hosts, 1)}
        for name, network in self._hosts.items():
            near = self._near[name]
            far = f"{near.removesuffix('1')}2"
            _ip(servers, "link", "add", name, "type", "veth", "peer", "name", "cable",
                "netns", self.find_network(name))  # fmt: skip
            for one, device, address in ((servers, name, near), (network, "cable", far)):
                _ip(one, "address", "add", f"{address}/24", "dev", device)
                _ip(one, "link", "set", device, "up")

    @classmethod
    def lay(cls, hosts: Sequence[str]) -> Self | None:
        """Return cables to these hosts; None where the kernel permits no networks, or without ip."""
        servers = Network()
        return cls(servers, hosts) if servers.file and shutil.which("ip") else None

    def find_network(self, host: str) -> str:
        """Return the file by which a process enters the network of a host."""
        return f"/proc/{os.getpid()}/fd/{self._hosts[host].file}"

    def listen(self, host: str) -> socket.socket:
        """Listen at the servers' end of the cable of a host."""
        made: socket.socket = self._servers.inside(
            lambda: socket.create_server((self._near[host], 0), backlog=100)
        )
        return made

    def cut(self, host: str) -> None:
        """Lose all packets in both directions; no connection is closed."""
        _ip(self._servers, "link", "set", host, "down")

    def mend(self, host: str) -> None:
        _ip(self._servers, "link", "set", host, "up")

    def close(self) -> None:
        for network in (self._servers, *self._hosts.values()):
            os.close(network.file)


def _ip(network: Network, *words: str) -> None:
    done = subprocess.run(
        [*network.prefix, "ip", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (words, done.stderr)
