"""The real command line, in separate processes, on a throwaway store."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import NamedTuple

import pytest

from gatebell.app.wiring import open_store, open_throwaway_store
from gatebell.services.people import manage_people
from tests.support.gate_forks import FORKS
from tests.support.people import a_person

THROUGH_SERVER = os.environ.get("GATE_TESTS_THROUGH") == "server"
"""`make server` runs tests of faces a second time, with a server between them and the store."""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Shell:
    """A shell of one user: `gate(...)` runs a command in it."""

    def __init__(self, folder, environ, name=""):
        self.folder = folder
        self.environ = environ
        self.name = name

    def start(self, *words, stdin=subprocess.DEVNULL, **environ):
        """Start a command in an interpreter of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "gatebell", *self._add_name(words)],
            env=self.environ | environ, cwd=self.folder, stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, encoding="utf-8", errors="surrogateescape",
        )  # fmt: skip

    def gate(self, *words, text=None, **environ):
        """Run a command to its end.

        In a fork of a loaded interpreter, unless variables of Python want one of their own.
        """
        wanted = self.environ | environ
        if all(os.environ.get(one) == wanted[one] for one in wanted if one.startswith("PYTHON")):
            words = [os.fsdecode(word) for word in self._add_name(words)]
            return Ran(*FORKS.run(words, wanted, self.folder, text))
        process = self.start(
            *words, stdin=subprocess.DEVNULL if text is None else subprocess.PIPE, **environ
        )
        out, err = process.communicate(text, timeout=60)
        return Ran(process.returncode, out, err)

    def _add_name(self, words):
        """Add the name: in an agent's shell a token counts only with one."""
        first = words[0] if words else ""
        if self.name and first in ("answer", "cancel", "ask-back") and "--as" not in words:
            return (*words, "--as", self.name)
        return words


class World:
    """A store with two people, their shells and the shell of an agent.

    It is a throwaway one unless it is `kept`, which tests of effects outside the store need.
    """

    def __init__(self, folder, *, kept=False, place=""):
        self.folder = folder
        self.path = place or str(folder / "store" / "gate.db")
        os.makedirs(folder / "store", mode=0o700)
        self.store = (open_store if kept else open_throwaway_store)(self.path)
        self.tokens = {
            name: manage_people.add(self.store, a_person("root"), name) for name in ("ada", "bob")
        }
        keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "PYTHONPATH")}
        home = folder / "home"
        home.mkdir()
        project = folder / "project"
        project.mkdir()
        (folder / "tmp").mkdir()
        # With a personal token the tests also pass inside an agent's shell.
        base = keep | {
            "HOME": str(home),
            "GATE_STORE": self.path,
            "TERM": "dumb",
            "TMPDIR": str(folder / "tmp"),
        }
        self.web, plain, agent = None, {}, {}
        if THROUGH_SERVER:
            # Imported here: most runs of the tests need no server.
            from tests.support.web_server import WebServer

            self.web = WebServer(folder, store=self.store).start()
            base |= {"GATE_SERVER": self.web.url}
            root = a_person("root")
            plain = {"GATE_TOKEN": manage_people.add(self.store, root, "sue")}
            agent = {"GATE_TOKEN": manage_people.add(self.store, root, "agents", ("ask", "read"))}
        self.ada = Shell(project, base | {"GATE_TOKEN": self.tokens["ada"]}, "ada")
        self.bob = Shell(project, base | {"GATE_TOKEN": self.tokens["bob"]}, "bob")
        self.plain = Shell(project, base | plain)
        claude = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1"}
        self.claude = Shell(project, base | agent | claude)

    def ask(self, *words, shell=None):
        ran = (shell or self.plain).gate("ask", "--no-wait", *words)
        assert ran.code == 0, ran.err
        return ran.out.strip()

    def get(self, ask_id):
        return self.store.asks.get(ask_id)

    def close(self):
        if self.web:
            self.web.stop()
        self.store.close()

    def complete(self, tries):
        """Return the completions of a real bash, a line for each `try gate …`."""
        gate = f'gate() {{ {sys.executable} -m gatebell "$@"; }}'
        script = self.plain.gate("completion", "bash").out
        words = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gate; echo "${COMPREPLY[*]}"'
        out = subprocess.run(
            ["bash", "-c", f"{gate}\n{script}\ntry() {{ {words}; }}\n{tries}"],
            env=self.plain.environ, cwd=self.plain.folder, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        return out.splitlines()


def said_in(terminal):
    """Return the output of a terminal until its last program ends."""
    said = b""
    # The end of a terminal is an error.
    with suppress(OSError):
        while part := os.read(terminal, 4096):
            said += part
    os.close(terminal)
    return said


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.close()
