"""Several `gate serve` processes on one store, and agents that wait at them."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys

import httpx

from gatebell.app.wiring import open_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.people.logins import session_prefix
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_people
from tests.support.people import a_person

_ENDS_WITHIN_SECONDS = 30


class Server:
    """A running `gate serve`."""

    def __init__(self, words, environ):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gatebell", "serve", "--port=0", *words],
            env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        first = self.process.stderr.readline()
        found = re.search(r"serving (http://127\.0\.0\.1:(\d+))$", first)
        assert found, first + self.process.communicate(timeout=_ENDS_WITHIN_SECONDS)[1]
        self.url, self.port = found[1], int(found[2])

    def end(self, number=signal.SIGTERM):
        """Send a signal; return the exit code and the other lines of the log."""
        self.process.send_signal(number)
        log = self.process.communicate(timeout=_ENDS_WITHIN_SECONDS)[1]
        return self.process.returncode, log


class Team:
    """One store, its servers, an asker and a person who answers."""

    def __init__(self, folder, place=""):
        self.path = place or str(folder / "gate.db")
        self.store = open_store(self.path, starts_sender=False)
        self.asker = manage_people.add(self.store, a_person("root"), "asker", ["ask"])
        self.person = manage_people.add(self.store, a_person("root"), "ada", ["answer", "read"])
        (token,) = [one for one in self.store.people.tokens() if one.person == "asker"]
        self._prefix = session_prefix(token.id)
        keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "PYTHONPATH")}
        self.environ = keep | {"GATE_STORE": self.path, "HOME": str(folder)}
        self.servers = []

    def serve(self, *words, **environ):
        self.servers.append(Server(words, self.environ | environ))
        return self.servers[-1]

    def count_waits(self, server):
        """Return how many clients wait at a server, by its metrics."""
        token = manage_people.token(self.store, a_person("root"), "ada", ["metrics"])
        shown = httpx.get(f"{server.url}/metrics", headers={"authorization": f"Bearer {token}"})
        return int(re.search(r"^gate_waits (\d+)$", shown.text, re.MULTILINE)[1])

    def ask(self, prompt, **more):
        """Open an ask of the asker's token, as over HTTP."""
        origin = Origin("/projects/shop", "", "bot", f"{self._prefix}{prompt}", "", "person:asker")
        request = Request(prompt, **more)
        return create_ask.ask(self.store, request, origin, a_person("asker")).ask.id

    def answer(self, ask_id, value):
        answer_ask.answer(self.store, ask_id, a_person("ada"), Given(value))

    def close(self):
        for server in self.servers:
            if server.process.poll() is None:
                server.process.kill()
            server.process.communicate()
        self.store.close()


async def call(port, token, method, path, body=None):
    """Send one request; return its status and its JSON, or raise ConnectionError."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    content = b"" if body is None else json.dumps(body).encode()
    writer.write(
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        "Connection: close\r\n\r\n".encode()
        + content
    )
    try:
        head, _, rest = (await reader.read()).partition(b"\r\n\r\n")
    finally:
        writer.close()
    if not rest:
        raise ConnectionError("the server has gone")
    return int(head.split()[1]), json.loads(rest)


async def wait_and_take(ports, token, ask_id):
    """Wait as a client does: after an error or a pause go to any server; return the answer."""
    while True:
        try:
            port = random.choice(ports)
            status, reply = await call(port, token, "GET", f"/api/asks/{ask_id}/wait?seconds=60")
            if status == 200 and reply["ask"]["status"] == "answered":
                _, taken = await call(port, token, "POST", f"/api/asks/{ask_id}/take", {})
                return taken["value"]
        except ConnectionError:
            # Both servers are here at once, so the pause may be short.
            await asyncio.sleep(random.uniform(0, 0.2))


def open_many_files():
    """Raise the limit of open files of this process."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
