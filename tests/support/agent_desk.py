"""Session asks that ada opens in an agent's own screen."""

from __future__ import annotations

import glob
import json
import shlex
import sys

from gatebell.domain.asks.asks import Origin
from gatebell.domain.sessions.visits import Terms
from gatebell.install.scripted_model import tool
from gatebell.services.asks import create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from tests.support.agent_terminal import press
from tests.support.people import a_person
from tests.support.waiting import eventually

# `gate` with shorter time limits.
HASTY = """
import sys
from gatebell.cli import main
from gatebell.cli.sessions import ask_visit
ask_visit.GRACE_SECONDS = 2
sys.exit(main.program())
"""
NO_SCRIPT = "● there is no script in this prompt"
PLAIN = ["0", "0", "0", "1", "0"]
FORM = "requests your input"


class Desk:
    """Session asks, and ada's terminal in which claude opens."""

    def __init__(self, house, terminal):
        self.house, self.terminal, self.store = house, terminal, house.store
        self.put(shlex.join([*house.network.prefix, house.programs.claude]))
        house.claude_settings.unlink()
        (house.folder / "hasty.py").write_text(HASTY, encoding="utf-8")

    def put(self, command):
        """Let the program `claude` run this command."""
        program = self.house.bin / "claude"
        program.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        program.chmod(0o755)

    def ask(self, terms=None, prompt="Is the schema good?", cwd="", **more):
        request = Request(prompt, "session", session=terms or Terms("approval"), **more)
        folder = str(cwd or self.house.project)
        origin = Origin(cwd=folder, project=folder)
        return create_ask.ask(self.store, request, origin, a_person("root")).ask

    def start(self, ask, *words, hasty=False):
        """Start `gate continue` in ada's terminal."""
        name = "hasty.py" if hasty else "bin/gate"
        token = f"GATE_TOKEN={self.house.tokens['ada']}"
        gate = [sys.executable, self.house.folder / name, "continue", ask.id, "--as", "ada"]
        self.terminal._start(["/usr/bin/env", *words, token, *gate])

    def open(self, ask, *words, hasty=False):
        """Start it, and wait until it names the opened program."""
        self.start(ask, *words, hasty=hasty)
        self.terminal.until(f"for: {ask.id}", 40)

    def harness(self):
        """Return the process of the open visit."""
        # A started process has the same name until it executes another program.
        words = ("continue", "--as", "ada")
        return eventually(lambda: len(found := self.house.processes(*words)) == 1 and found[0])

    def say(self, words, until):
        self.terminal.type(words)
        self.terminal.until(words[-20:])
        begin, requests = words[:15], self.house.model.requests
        sent = len(requests)
        # A second press would reach the next screen of claude.
        press(self.terminal, "Enter", lambda: begin in json.dumps(requests[sent:]))
        self.terminal.until(until, 40)

    def leave(self, then="not yet): "):
        """Leave claude or codex; extra key presses must not reach our prompt."""
        programs = self.house.programs
        self.terminal.type("/exit")
        self.terminal.until("/exit")
        press(self.terminal, "Enter", lambda: not any(map(self.house.processes, programs)))
        self.terminal.until(then)

    def wait_for_end(self, seconds=60):
        """Return the exit code of `gate continue`."""
        screen = self.terminal.until("\nended ", seconds)
        return int(screen.rpartition("\nended ")[2].split()[0])

    def flags(self):
        """Return the modes of the terminal: alternate screen, mouse, hidden cursor."""
        names = "alternate_on mouse_any_flag mouse_sgr_flag cursor_flag keypad_flag"
        told = " ".join(f"#{{{name}}}" for name in names.split())
        return self.terminal.tmux("display-message", "-p", told).split()

    def log(self, ask):
        """Return the words of user and agent from the log of claude."""
        session = self.store.asks.visits(ask.id)[0].session
        paths = glob.glob(f"{self.house.home}/.claude/projects/*/{session}.jsonl")
        if not paths:
            return []
        with open(paths[0], encoding="utf-8") as file:
            records = [json.loads(line) for line in file if line.endswith("\n")]
        kinds = ("user", "assistant")
        return [json.dumps(one["message"]) for one in records if one["type"] in kinds]

    def until_logged(self, ask, words):
        """Wait for the words in the log, which claude writes after it shows them."""
        said = f'"text": "{words}"'
        eventually(lambda: any(said in one for one in self.log(ask)))

    def ends(self, ask):
        return [one.end for one in self.store.asks.visits(ask.id)]

    def outcome(self, ask):
        found = create_ask.get(self.store, ask.id)
        return wait_for_ask.outcome(self.store, found, found.value)

    def keep(self, name):
        """Save the text of the pane as an artefact."""
        folder = self.house.folder / "artefacts"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.txt").write_text(self.terminal.screen(), encoding="utf-8")


def propose(ask):
    return tool("decide", id=ask.id, proposal="APPROVED", reason="it \x1b[2Jis small")
