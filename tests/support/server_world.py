"""A server of the inbox, and shells on other machines that know only its address and a token."""

from __future__ import annotations

import os

import pytest

from gatebell.services.people import manage_people
from tests.support.people import a_person
from tests.support.shells import Shell
from tests.support.web_server import WebServer


class ServerWorld:
    """One server with two people; an agent's machine has a token that may only ask."""

    def __init__(self, folder):
        self.folder = folder
        self.web = WebServer(folder).start()
        self.store = self.web.store
        root = a_person("root")
        self.tokens = {name: manage_people.add(self.store, root, name) for name in ("ada", "bob")}
        manage_people.add(self.store, root, "ci", ("read",))
        self.tokens["agent"] = manage_people.token(self.store, root, "ci", ("ask",), "a laptop")
        for name in ("home", "project", "tmp"):
            (folder / name).mkdir()
        keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "PYTHONPATH")}
        self.base = keep | {
            "HOME": str(folder / "home"),
            "GATE_SERVER": self.web.url,
            "TERM": "dumb",
            "TMPDIR": str(folder / "tmp"),
        }
        claude = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1"}
        self.ada = self.shell("ada", name="ada")
        self.bob = self.shell("bob", name="bob")
        self.agent = self.shell("agent", **claude)
        self.plain = self.shell("agent")

    def shell(self, token="", name="", **environ):
        given = {"GATE_TOKEN": self.tokens.get(token, token)} if token else {}
        return Shell(self.folder / "project", self.base | given | environ, name)

    def ask(self, *words, shell=None):
        ran = (shell or self.agent).gate("ask", "--no-wait", *words)
        assert ran.code == 0, ran.err
        return ran.out.strip()

    def get(self, ask_id):
        return self.store.asks.get(ask_id)

    def close(self):
        self.web.close()


@pytest.fixture(scope="module")
def server_world(tmp_path_factory):
    made = ServerWorld(tmp_path_factory.mktemp("server"))
    yield made
    made.close()
