"""Measure one `gate serve` with many waiting agents: memory, idle CPU, and answered to told."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import shutil
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from datetime import datetime
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import psycopg
from bench import measured, stores
from bench.figures import Figure
from bench.measured import find_p99
from bench.waiters import Crowd, count_requests, request
from tests.support import postgres_server

from gatebell.app import wiring
from gatebell.domain.asks.asks import Origin
from gatebell.domain.people.logins import session_prefix
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_people

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.ports.store import Store

SIZES = (1_000, 10_000)
LIMIT_MEGABYTES = 300.0
LIMIT_IDLE_PERCENT = 5.0
LIMIT_MILLISECONDS = 50.0

_WAIT_SECONDS = 60
# The server ends such a wait after 35 seconds or later, so until then it is quiet.
_FIRST_RETURN_SECONDS = 35.0
_IDLE_SECONDS = 10.0
_ANSWERS = 200
_PAUSE_SECONDS = 0.05
_REQUESTS_FOR_SECONDS = 3.0
_READERS = 16
_STARTS_WITHIN_SECONDS = 30.0
_MEMORY = "/dev/shm"


class Prepared(NamedTuple):
    """A store with asks, and tokens for it."""

    path: str
    asker: str
    people: list[str]
    """Each answers in one phase only, so that no rate limit is reached."""
    ids: list[str]


class Seen(NamedTuple):
    """The delays of one phase, in milliseconds."""

    sent: list[float]
    """From sending the answer to the agent's reply, with the synced write."""
    written: list[float]
    """From the write's beginning."""
    noise: float
    """How late a process that only sleeps woke up in this phase, p99."""
    cpu: float
    returned: float

    def figure(self, what: str, limit: float | None = LIMIT_MILLISECONDS) -> Figure:
        detail = (
            f"p50 {median(self.written):.1f} ms; from sending the answer p50 "
            f"{median(self.sent):.1f}, p99 {find_p99(self.sent):.1f} ms; a sleeping process woke "
            f"{self.noise:.1f} ms late (p99); {self.cpu:.0f} % CPU, {self.returned:.0f} returns a second"
        )
        return Figure(what, find_p99(self.written), "ms", limit, detail)


def measure() -> Iterator[Figure]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for size in SIZES:
        with stores.folder() as folder:
            prepared = _prepare(folder, size)
            yield from asyncio.run(_measure(prepared, f"{size} waits"))
    with closing(_Postgres()) as database:
        prepared = _prepare_postgres(database.dsn, SIZES[-1])
        yield from asyncio.run(_measure(prepared, f"{SIZES[-1]} waits, PostgreSQL"))


class _Postgres:
    """A server of PostgreSQL that syncs each commit, and the tables of a store."""

    def __init__(self) -> None:
        self._server = postgres_server.Server(postgres_server.SAFE)
        self.dsn = self._server.dsn("postgres")
        wiring.migrate_store(self.dsn)

    def close(self) -> None:
        self._server.stop()


def _prepare(folder: str, size: int) -> Prepared:
    """Fill a store in memory, where each commit is quick, and copy it to the disk."""
    with TemporaryDirectory(dir=_MEMORY if os.path.isdir(_MEMORY) else None) as quick:
        path = os.path.join(quick, "gate.db")
        with closing(stores.open_store(path)) as store:
            prepared = _fill(store, size)
        return prepared._replace(path=shutil.copy(path, folder))


def _prepare_postgres(dsn: str, size: int) -> Prepared:
    """Fill a store without waiting for the disk; the server of the test syncs each commit."""
    with psycopg.connect(dsn, autocommit=True) as database:
        database.execute("ALTER DATABASE postgres SET synchronous_commit = off")
        with closing(wiring.open_postgres(dsn)) as store:
            prepared = _fill(store, size)._replace(path=dsn)
        database.execute("ALTER DATABASE postgres RESET synchronous_commit")
    return prepared


def _fill(store: Store, size: int) -> Prepared:
    caller = stores.CALLER
    asker = manage_people.add(store, caller, "asker", ["ask"])
    scopes = ["answer", "read"]
    people = [manage_people.add(store, caller, f"person{n}", scopes) for n in range(_READERS)]
    (token,) = [one for one in store.people.tokens() if one.person == "asker"]
    ids = []
    for number in range(size):
        session = f"{session_prefix(token.id)}{number}"
        origin = Origin(f"/projects/{number % 50}", "", "bot", session, "", "person:asker")
        ids.append(create_ask.ask(store, Request(f"Number {number}?"), origin, caller).ask.id)
    return Prepared("", asker, people, ids)


async def _measure(prepared: Prepared, name: str) -> list[Figure]:
    port = _find_port()
    ids, people = list(prepared.ids), list(prepared.people)
    size = len(ids)
    random.shuffle(ids)
    crowd = Crowd(port, prepared.asker, _WAIT_SECONDS)
    with _serving(prepared.path, port) as process:
        rate = await count_requests(port, people, f"/api/asks/{ids[0]}", _REQUESTS_FOR_SECONDS)
        empty, spent = measured.megabytes(process.pid), measured.cpu_seconds(process.pid)
        began = time.monotonic()
        await crowd.join(prepared.ids)
        await _settle(process.pid)
        opened = (measured.cpu_seconds(process.pid) - spent) / size * 1000
        idle = await _measure_cpu(process.pid, _IDLE_SECONDS)
        quiet = await _answer(crowd, process.pid, people.pop(), ids)
        memory = measured.megabytes(process.pid)
        await asyncio.sleep(max(0.0, began + _FIRST_RETURN_SECONDS + 3 - time.monotonic()))
        herd = await _answer(crowd, process.pid, people.pop(), ids)
        process.kill()
        process.wait()
    with _serving(prepared.path, port) as process:
        back = await _answer(crowd, process.pid, people.pop(), ids)
        home = await _measure_end(process)
    crowd.leave()
    assert not crowd.problems, crowd.problems[:3]
    detail = f"{empty} MB without waits; {opened:.2f} ms of CPU to open one"
    return [
        Figure(f"{name}: memory", memory, "MB", LIMIT_MEGABYTES, detail),
        Figure(f"{name}: idle CPU", idle, "%", LIMIT_IDLE_PERCENT, f"over {_IDLE_SECONDS:.0f} s"),
        quiet.figure(f"{name}: answered to told, p99"),
        herd.figure(f"{name}: the same while they come back, p99"),
        back.figure(f"{name}: the same after a killed server, p99", None),
        Figure(f"{name}: end of a server", home, "s", None, "SIGTERM, all waits sent home"),
        Figure(f"{name}: requests a second", rate, "", None, f"GET of an ask, {_READERS} clients"),
    ]


async def _settle(pid: int) -> None:
    """Return when the server has read all requests, and is quiet."""
    while await _measure_cpu(pid, 1.0) > 10:
        pass


async def _measure_cpu(pid: int, seconds: float) -> float:
    before = measured.cpu_seconds(pid)
    await asyncio.sleep(seconds)
    return (measured.cpu_seconds(pid) - before) / seconds * 100


async def _answer(crowd: Crowd, pid: int, person: str, ids: list[str]) -> Seen:
    """Answer some asks one by one, and return how long it took until their agents knew."""
    some = [ids.pop() for _ in range(_ANSWERS)]
    sent, before, returned, began = {}, measured.cpu_seconds(pid), crowd.returned, time.monotonic()
    with measured.noise() as late:
        for ask_id in some:
            sent[ask_id] = time.time()
            path = f"/api/asks/{ask_id}/answers"
            await request(crowd.port, person, "POST", path, {"value": "so"})
            await asyncio.sleep(_PAUSE_SECONDS)
        while not all(one in crowd.told for one in some):  # noqa: ASYNC110  sockets tell
            await asyncio.sleep(0.1)
    lasted = time.monotonic() - began
    heard = [crowd.told[one][0] for one in some]
    written = [datetime.fromisoformat(crowd.told[one][1]).timestamp() for one in some]
    return Seen(
        sorted((at - sent[one]) * 1000 for one, at in zip(some, heard, strict=True)),
        sorted((at - began) * 1000 for at, began in zip(heard, written, strict=True)),
        find_p99(late),
        (measured.cpu_seconds(pid) - before) / lasted * 100,
        (crowd.returned - returned) / lasted,
    )


async def _measure_end(process: subprocess.Popen[str]) -> float:
    began = time.monotonic()
    process.terminate()
    assert await asyncio.to_thread(process.wait, _STARTS_WITHIN_SECONDS) == 0
    return time.monotonic() - began


def _find_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def _serving(path: str, port: int) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "gatebell", "serve", f"--port={port}"],
        env=stores.environment(path), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr
        assert "serving" in (line := process.stderr.readline()), line
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(_STARTS_WITHIN_SECONDS)
        assert process.stderr
        process.stderr.close()
