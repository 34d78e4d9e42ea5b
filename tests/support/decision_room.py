"""A person in the session of an ask, and the MCP servers of the program there."""

from __future__ import annotations

import os
import time

import pytest

from gatebell.adapters.system import processes
from gatebell.app import wiring
from gatebell.domain.sessions.visits import Terms
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.sessions import ask_session
from tests.support.mcp_client import Client

FORMS = {"elicitation": {"form": {}, "url": {}}}
APPROVE = {"action": "accept", "content": {"decision": "approve"}}
AFTERWARDS = "decides {} when they have left this session"


class Room:
    """Ada visits the session of an ask; this process plays the opened program."""

    def __init__(self, world):
        self.world, self.store = world, world.store
        self.clients = []

    def caller(self, name="ada"):
        return wiring.caller(self.store, "cli", self.world.tokens[name], name)

    def open(self, answer="approval", program=None, cli="claude", **more):
        request = Request("Is the schema good?", "session", session=Terms(answer), **more)
        who = self.caller()
        self.ask = create_ask.ask(self.store, request, wiring.origin(who), who).ask
        seated = ask_session.open_visit(self.store, self.ask.id, who, cli, "s1")
        here = str(processes.me()) if program is None else program
        self.visit = ask_session.note_program(self.store, seated.visit, here)
        return self

    @property
    def environ(self):
        return {"GATE_TURN": self.visit.id, "CLAUDE_CODE_SESSION_ID": "s1", "CLAUDECODE": "1"}

    def client(self, capabilities=FORMS, **environ):
        """Start a server, and do the older handshake."""
        made = Client(self.world, **self.environ | environ)
        self.clients.append(made)
        opening = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "claude-code"}}
        made.result(made.ask("initialize", **opening, capabilities=capabilities))
        return made

    def propose(self, client, **more):
        return client.call(
            "decide", **{"id": self.ask.id, "proposal": "APPROVED", "reason": "it is small"} | more
        )

    def now(self):
        return self.world.get(self.ask.id)

    def rise(self, end="left"):
        return ask_session.close_visit(self.store, self.visit, self.caller(), end)


def wait_for_line(path):
    """Wait for a whole line in a file, and return it."""
    until = time.monotonic() + 30
    while not (path.exists() and (line := path.read_text(encoding="utf-8")).endswith("\n")):
        assert time.monotonic() < until, f"nobody wrote {path}"
        os.sched_yield()
    return line


@pytest.fixture
def room(world):
    made = Room(world)
    yield made
    for client in made.clients:
        if client.server.poll() is None:
            client.close()
