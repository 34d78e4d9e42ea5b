"""Measure one `gate up` with many watchers: its threads, and the delay from answer to asker."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any

from bench import measured, stores
from bench.figures import Figure

from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.people.principals import Caller, person
from gatebell.services.people import manage_people

if TYPE_CHECKING:
    from collections.abc import Iterator

STREAMS = 500
AGENTS = 200
LIMIT_THREADS = 60
LIMIT_MILLISECONDS = 200.0

_PAUSE_SECONDS = 0.05
_STARTS_WITHIN_SECONDS = 20.0
# A separate process, so that reading all the streams does not delay the clock.
_LISTEN = """
import asyncio, sys
async def listen(port, token):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /api/events/stream HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nAuthorization: Bearer {token}\\r\\n\\r\\n".encode())
    while b"hello" not in await reader.readline(): pass
    return reader
async def main(port, token, number):
    readers = [await listen(port, token) for _ in range(number)]
    print("listening", flush=True)
    async def drain(reader):
        while await reader.read(65536): pass
    await asyncio.gather(*map(drain, readers))
asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
"""


def measure() -> Iterator[Figure]:
    with stores.folder() as folder:
        path = os.path.join(folder, "gate.db")
        store = open_throwaway_store(path)
        caller = Caller(person("bench"), verified=False, via="cli", agent=None, evidence={})
        asker = manage_people.add(store, caller, "asker", ["ask"])
        token = manage_people.add(store, caller, "person", ["answer", "read"])
        store.close()
        with run_up(path) as (pid, port), _listening(port, token):
            late = asyncio.run(_answers(port, asker, token))
            threads, memory = measured.threads(pid), measured.megabytes(pid)
    late.sort()
    detail = (
        f"p50 {median(late):.1f} ms, max {late[-1]:.1f} ms, {STREAMS} streams, {AGENTS} waiting"
    )
    p99 = late[int(len(late) * 0.99) - 1]
    yield Figure("answer to agent over HTTP, p99", p99, "ms", LIMIT_MILLISECONDS, detail)
    yield Figure("threads of gate up", threads, "", LIMIT_THREADS, f"{memory} MB in memory")


@contextmanager
def run_up(path: str, *options: str) -> Iterator[tuple[int, int]]:
    """Run a server of this store; yield its process and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gatebell", "up", f"--port={port}", *options]
    environ = {
        k: v for k, v in os.environ.items() if not k.startswith(("GATE_", "CLAUDE", "CODEX"))
    }
    process = subprocess.Popen(
        command, env=environ | {"GATE_STORE": path}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        assert "Inbox" in process.stdout.readline()
        yield process.pid, port
    finally:
        process.terminate()
        process.wait(_STARTS_WITHIN_SECONDS)


@contextmanager
def _listening(port: int, token: str) -> Iterator[None]:
    words = [sys.executable, "-c", _LISTEN, str(port), token, str(STREAMS)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        assert process.stdout.readline() == "listening\n"
        yield
    finally:
        process.kill()
        process.wait()


async def _answers(port: int, asker: str, token: str) -> list[float]:
    """Return the milliseconds from sending each answer until the wait of its agent returns."""
    asks = [
        (await _request(port, asker, "POST", "/api/asks", {"prompt": f"Number {n}?"}))["ask"]
        for n in range(AGENTS)
    ]

    async def agent(ask_id: str) -> float:
        told = await _request(port, asker, "GET", f"/api/asks/{ask_id}/wait?seconds=60")
        assert told["ask"]["status"] == "answered"
        return time.perf_counter()

    waits = [asyncio.create_task(agent(ask["id"])) for ask in asks]
    await asyncio.sleep(2)
    sent = []
    for ask in asks:
        sent.append(time.perf_counter())
        await _request(port, token, "POST", f"/api/asks/{ask['id']}/answers", {"value": "so"})
        await asyncio.sleep(_PAUSE_SECONDS)
    return [(await wait - began) * 1000 for wait, began in zip(waits, sent, strict=True)]


async def _request(port: int, token: str, method: str, path: str, body: Any = None) -> Any:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    content = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + content)
    answer = await reader.read()
    writer.close()
    status, _, rest = answer.partition(b"\r\n\r\n")
    assert b" 20" in status.split(b"\r\n")[0], answer
    return json.loads(rest)
