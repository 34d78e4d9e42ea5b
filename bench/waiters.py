"""Ten thousand agents in one process: each waits on its own connection, and comes back."""

from __future__ import annotations

import asyncio
import json
import random
import time
from typing import Any

# As clients do: after an error or the end of a server they come back within this time.
PAUSE_SECONDS = 5.0
_AT_ONCE = 200


class Crowd:
    """The agents, and what they have seen."""

    def __init__(self, port: int, token: str, seconds: int) -> None:
        self.port = port
        self.head = (
            f"GET /api/asks/%s/wait?seconds={seconds} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Authorization: Bearer {token}\r\n\r\n"
        )
        self.told: dict[str, tuple[float, str]] = {}
        """By ask: when its agent heard of the answer, and when that was written."""
        self.returned = 0
        self.lost = 0
        self.problems: list[bytes] = []
        self.agents: list[Agent] = []
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._returning: set[asyncio.Task[None]] = set()

    async def join(self, ids: list[str]) -> None:
        """Let one agent wait for each ask."""
        self.agents += [Agent(self, ask_id) for ask_id in ids]
        await asyncio.gather(*(self.connect(agent) for agent in self.agents[-len(ids) :]))

    async def connect(self, agent: Agent) -> None:
        loop = asyncio.get_running_loop()
        async with self._places:
            try:
                await loop.create_connection(lambda: agent, "127.0.0.1", self.port)
            except OSError:
                self.come_back(agent)

    def come_back(self, agent: Agent) -> None:
        pause = random.uniform(0, PAUSE_SECONDS)
        asyncio.get_running_loop().call_later(pause, self._connect_again, agent)

    def _connect_again(self, agent: Agent) -> None:
        if not agent.is_done:
            task = asyncio.create_task(self.connect(agent))
            self._returning.add(task)
            task.add_done_callback(self._returning.discard)

    def leave(self) -> None:
        for agent in self.agents:
            agent.is_done = True
            if agent.transport:
                agent.transport.abort()


class Agent(asyncio.Protocol):
    """One agent with one ask."""

    __slots__ = ("_crowd", "_got", "ask_id", "is_done", "transport")

    def __init__(self, crowd: Crowd, ask_id: str) -> None:
        self._crowd = crowd
        self.ask_id = ask_id
        self._got = b""
        self.is_done = False
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._ask_again()

    def _ask_again(self) -> None:
        assert self.transport
        self._got = b""
        self.transport.write((self._crowd.head % self.ask_id).encode())

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, _, body = self._got.partition(b"\r\n\r\n")
        if not body.rstrip().endswith(b"}"):
            return
        if b" 200 " not in head.partition(b"\r\n")[0]:
            self._crowd.problems.append(self._got[:300])
        elif b'"status":"answered"' in body:
            self.is_done = True
            written = json.loads(body)["ask"]["settled_at"]
            self._crowd.told[self.ask_id] = (time.time(), written)
        else:
            self._crowd.returned += 1
            self._ask_again()

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        if not self.is_done:
            self._crowd.lost += 1
            self._crowd.come_back(self)


async def request(port: int, token: str, method: str, path: str, body: Any = None) -> Any:
    """Send one request on a connection of its own, and return its JSON."""
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


async def count_requests(port: int, tokens: list[str], path: str, seconds: float) -> float:
    """Return how many requests a second are answered, with one kept connection for each token."""

    async def repeat(token: str) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
        number, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            writer.write(head.encode())
            reply = await reader.readuntil(b"\r\n\r\n")
            assert b" 200 " in reply[:20], reply
            length = int(reply.lower().partition(b"content-length:")[2].split()[0])
            await reader.readexactly(length)
            number += 1
        writer.close()
        return number

    return sum(await asyncio.gather(*map(repeat, tokens))) / seconds
