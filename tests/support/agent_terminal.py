"""A terminal with an agent's screen; keys are pressed until it reacts."""

from __future__ import annotations

import shlex
import threading
import time

from gatebell.install.scripted_model import script
from tests.support.terminals import Terminal
from tests.support.waiting import eventually

TRUST = "Yes, I trust this folder"


class AgentTerminal(Terminal):
    """A terminal with an agent's screen."""

    def __init__(self, house, name):
        super().__init__(name, house.project, house.environ)
        self.house = house

    def claude(self, steps, *words):
        self._start([self.house.programs.claude, f"Please. {script(steps)}", *words])

    def claude_at_work(self, steps):
        """Start claude, and type the prompt once it has its MCP server.

        With a prompt on its command line, it may ask the model before it has the tools.
        """
        self._start([self.house.programs.claude, "--debug-file", self.house.folder / "debug"])
        connected = 'MCP server "gatebell": Successfully connected'
        log = self.house.folder / "debug"
        eventually(lambda: log.exists() and connected in log.read_text(encoding="utf-8"))
        self.type(f"Please. {script(steps)}")
        self.until(">>script")
        self.type("", "Enter")  # sent with the text, it would count as pasted

    def codex(self, steps, *words):
        self._start([self.house.programs.codex, *words, f"Please. {script(steps)}"])

    def _start(self, command):
        self.name += "+"
        line = shlex.join([*self.house.network.prefix, *map(str, command)])
        self.tmux("new-session", "-d", "-x", "120", "-y", "50", f"{line}; echo ended $?; exec cat")

    def until_gone(self, text):
        eventually(lambda: text not in self.screen())


def trust(terminal):
    """Trust the folder, which is the second choice."""
    terminal.until("❯ No, exit", 40)
    press(terminal, "Down", lambda: f"❯ {TRUST}" in terminal.screen())
    press(terminal, "Enter", lambda: TRUST not in terminal.screen())


def press(terminal, key, done):
    """Press a key until claude reacts, since claude shows its screen before it reads keys.

    Claude may react late, and a second press would reach its next screen, so the second press
    comes only after a long wait. Claude may draw its screen again without the effect of the key,
    so the effect is checked again after a pause.
    """
    until, again, pause = time.monotonic() + 60, 0.0, threading.Event()
    while True:
        while not done():
            assert time.monotonic() < until, terminal.screen()
            if time.monotonic() >= again:
                terminal.type("", key)
                again = time.monotonic() + 8
            pause.wait(0.1)
        pause.wait(1)
        if done():
            return
        again = 0.0
