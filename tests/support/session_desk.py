"""Session asks of a scripted program, and the command that opens them."""

from __future__ import annotations

import json
import sys

from gatebell.app import wiring
from gatebell.domain.asks.asks import Origin
from gatebell.domain.sessions.visits import Terms
from gatebell.services.asks import create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from tests.support.people import a_person
from tests.support.sessions import Desk as RunDesk, Screen
from tests.support.talk_program import TALK

# A program with a readable talk that ends with these words.
TALKATIVE = """
import sys
from gatebell.app import wiring
from gatebell.cli import main
from gatebell.domain.sessions.proposals import Said
from gatebell.ports.agents import Talk
from gatebell.adapters.agents.hosts import CommandHost
said = [Said("person", "8080, please"), Said("agent", '```json\\n{"port": 8080}\\n```')]
CommandHost.talk = lambda *_: Talk(said)
sys.exit(main.program())
"""
SCHEMA = {"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}
FLOW = """
from gatebell import ask_interactive, flow
@flow
def feature(prompt):
    return ask_interactive("Which way?").outcome
"""


class Desk:
    """Session asks of a program, and the command that opens them."""

    def __init__(self, world):
        self.world, self.store = world, world.store
        self.project = world.ada.folder
        self.flows = RunDesk(world)
        (self.project / "talk.py").write_text(TALK, encoding="utf-8")
        command = f"{sys.executable} -u {self.project}/talk.py --read={{prompt_file}}"
        self.environ = {"GATE_SESSION_COMMAND": command, "GATE_SESSION_CLI": "command"}

    def ask(self, terms=None, prompt="Is the schema good?", origin=None, **more):
        request = Request(prompt, "session", session=terms or Terms("approval"), **more)
        origin = origin or Origin(cwd=str(self.project), project=str(self.project))
        return create_ask.ask(self.store, request, origin, a_person("root")).ask

    def open_session(self, ask, shell=None, *words, gate="", **environ):
        """Start `gate continue` in a terminal; `gate` may be another program."""
        shell = shell or self.world.ada
        words = ("continue", ask.id, "--as", shell.name, *words)
        (self.project / "gate.py").write_text(gate, encoding="utf-8")
        program = [sys.executable, str(self.project / "gate.py"), *words] if gate else None
        return Screen(shell, *words, program=program, **self.environ | environ)

    def caller_of(self, name):
        return wiring.caller(self.store, "cli", self.world.tokens[name], name)

    def around(self):
        return json.loads((self.project / "talk.json").read_text(encoding="utf-8"))

    def visits(self, ask):
        return [(one.by, one.end) for one in self.store.asks.visits(ask.id)]

    def outcome(self, ask):
        found = create_ask.get(self.store, ask.id)
        return wait_for_ask.outcome(self.store, found, found.value)
