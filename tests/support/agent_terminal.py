"""A terminal with an agent's own screen, and keys that are pressed until it reacts."""

from __future__ import annotations

import shlex
import threading
import time

from gatebell.install.scripted_model import script
from tests.support.terminals import Terminal
from tests.support.waiting import eventually

TRUST = "Yes, I trust this folder"


class AgentTerminal(Terminal):
    """A terminal in which an agent's own screen runs."""

    def __init__(self, house, name):
        super().__init__(name, house.project, house.environ)
        self.house = house

    def claude(self, steps, *words):
        self._start([self.house.programs.claude, f"Please. {script(steps)}", *words])

    def claude_at_work(self, steps):
        """Like `claude`, but the prompt is typed once claude has its MCP server.

        With a prompt on its command line, it may ask the model before it has the tools.
        """
        self._start([self.house.programs.claude, "--debug-file", self.house.folder / "debug"])
        connected = 'MCP server "gatebell": Successfully connected'
        log = self.house.folder / "debug"
        eventually(lambda: log.exists() and connected in log.read_text(encoding="utf-8"))
        self.type(f"Please. {script(steps)}")
        self.until(">>script")
        self.type("", "Enter")  # together with the text it would count as pasted

    def codex(self, steps, *words):
        self._start([self.house.programs.codex, *words, f"Please. {script(steps)}"])

    def _start(self, command):
        self.name += "+"
        line = shlex.join([*self.house.network.prefix, *map(str, command)])
        self.tmux("new-session", "-d", "-x", "120", "-y", "50", f"{line}; echo ended $?; exec cat")

    def until_gone(self, text):
        eventually(lambda: text not in self.screen())


def trust(terminal):
    """Its first choice is no."""
    terminal.until("❯ No, exit", 40)
    press(terminal, "Down", lambda: f"❯ {TRUST}" in terminal.screen())
    press(terminal, "Enter", lambda: TRUST not in terminal.screen())


def press(terminal, key, done):
    """Press a key until it has been heard: claude shows its screen before it listens.

    It may be slow to show what it has heard, and what is pressed once more reaches what it
    shows next: so only after a long silence. And it may draw its screen anew, as if nothing had
    been pressed: so that is waited for.
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
