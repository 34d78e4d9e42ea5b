"""What the workers of each engine need: a store, its servers, and a network that can fail."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import psycopg
from tests.support.cables import Cables
from tests.support.postgres_proxy import Proxy
from tests.support.postgres_server import SAFE, Server
from tests.support.temporal_server import TemporalServer

from gatebell.app import wiring

HOSTS = ("north", "south")
SQLITE, LOCAL, PROCRASTINATE, TEMPORAL = "sqlite", "local", "procrastinate", "temporal"


class Backend:
    """A store that one engine serves; each host has its own way to it."""

    postgres: Server | None = None
    temporal: TemporalServer | None = None
    cables: Cables | None = None
    """The networks of the hosts, where the kernel permits them."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.networks: dict[str, list[Proxy]] = {host: [] for host in HOSTS}
        """The connections of each host to the store, and to the server of the engine."""
        self.path = str(folder / "store" / "gate.db")
        self._environs: dict[str, dict[str, str]] = {host: {} for host in HOSTS}
        if kind != SQLITE:
            self._start_servers()
        with closing(wiring.open_store(self.path)) as store:
            if store.dispatches:
                store.dispatches.use("" if kind == LOCAL else kind)

    def _start_servers(self) -> None:
        self.temporal = TemporalServer() if self.kind == TEMPORAL else None
        self.postgres = Server(SAFE)
        self.path = self.postgres.dsn("postgres")
        wiring.migrate_store(self.path)
        self.cables = Cables.lay(HOSTS)
        for host in HOSTS:
            self.networks[host].append(self._open_way(self.path, host))
            if self.temporal:
                proxy = self._open_way(f"temporal://{self.temporal.address}", host)
                self.networks[host].append(proxy)
                self._environs[host]["GATE_TEMPORAL"] = proxy.address
            if self.cables:
                self._environs[host]["CHAOS_NETWORK"] = self.cables.find_network(host)

    def _open_way(self, server: str, host: str) -> Proxy:
        return Proxy(server, self.cables.listen(host) if self.cables else None)

    @property
    def between_seconds(self) -> tuple[float, float]:
        """The time between two faults; a Temporal server needs seconds until it serves again."""
        return (1.0, 6.0) if self.kind == TEMPORAL else (0.2, 3.0)

    @property
    def has_pools(self) -> bool:
        """Whether a run may begin without a home."""
        return self.kind in (PROCRASTINATE, TEMPORAL)

    def build_environ(self, host: str) -> dict[str, str]:
        """Return the variables by which a process of this host finds the servers."""
        found = self.networks[host]
        return {
            "GATE_HOST": host,
            "GATE_STORE": found[0].dsn if found else self.path,
            **self._environs[host],
        }

    def count_jobs(self) -> int:
        """Return how many jobs the engine still has in the store."""
        if not self.has_pools:
            return 0
        table = "procrastinate_jobs" if self.kind == PROCRASTINATE else "dispatches"
        with psycopg.connect(self.path) as raw:
            found = raw.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert found
        return int(found[0])

    def close(self) -> None:
        for proxy in [one for found in self.networks.values() for one in found]:
            proxy.close()
        if self.cables:
            self.cables.close()
        if self.temporal:
            self.temporal.stop()
        if self.postgres:
            self.postgres.stop()
