"""The servers behind an engine: PostgreSQL and Temporal, started for one measurement."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psycopg
from bench import measured
from tests.support.postgres_server import Server
from tests.support.temporal_server import TemporalServer

from gatebell.app.wiring import migrate_store

if TYPE_CHECKING:
    from bench.contestants import Contestant

# Synced to disk, as in production.
_SETTINGS = ("shared_buffers=256MB", "max_wal_size=2GB", "max_connections=300")


class Backend:
    """The servers of one side, and the variables by which its processes find them."""

    def __init__(self, side: Contestant) -> None:
        self._side = side
        self._postgres = Server(settings=_SETTINGS) if side.store else None
        self._temporal = TemporalServer() if side.uses_temporal else None
        self._numbers = count(1)

    def prepare(self, folder: str) -> dict[str, str]:
        """Make an empty store; return the variables with its address."""
        found = {"XDG_DATA_HOME": os.path.join(folder, "data")}
        if self._temporal:
            found |= {"GATE_TEMPORAL": self._temporal.address}
            found |= {"BENCH_TEMPORAL": self._temporal.address}
        if self._postgres:
            address = self._add_database(f"bench{next(self._numbers)}")
            found |= {"GATE_STORE": address, "BENCH_DATABASE": address}
            if self._side.worker:
                migrate_store(address)
                with psycopg.connect(address) as raw:
                    raw.execute("SELECT gate_use_engine(%s)", (self._side.engine,))
        return found

    def _add_database(self, name: str) -> str:
        assert self._postgres
        server = self._postgres.dsn("postgres")
        with psycopg.connect(server, autocommit=True) as raw:
            raw.execute(f'CREATE DATABASE "{name}"')
        return urlsplit(server)._replace(path=f"/{name}").geturl()

    def cpu_seconds(self) -> float:
        """Return the processor time of the servers so far."""
        found = 0.0
        if self._postgres:
            found += measured.family_cpu_seconds(self._postgres.process.pid)
        if self._temporal:
            found += measured.cpu_seconds(self._temporal.process.pid)
        return found

    def close(self) -> None:
        for server in (self._postgres, self._temporal):
            if server:
                server.stop()
