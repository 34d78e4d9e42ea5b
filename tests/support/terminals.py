"""A real terminal: tmux on a server of its own."""

from __future__ import annotations

import shlex
import subprocess
import sys
import threading
import time


class Terminal:
    """A terminal that types and reads the screen, like a person."""

    def __init__(self, name, folder, environ):
        self.name = name
        self.folder = folder
        self.environ = environ

    def tmux(self, *words):
        command = ["tmux", "-L", self.name, "-f", "/dev/null", *words]
        return subprocess.run(
            command, env=self.environ, cwd=self.folder, capture_output=True, text=True, check=False
        ).stdout

    def run(self, *words):
        # A server that is ending may end the next session too, so each has its own name.
        self.kill()
        self.name += "+"
        if words[0] in ("answer", "inbox"):
            words = (*words, "--as", "ada")
        gate = shlex.join([sys.executable, "-m", "gatebell", *words])
        self.tmux(
            "new-session", "-d", "-x", "110", "-y", "60", f"{gate}; echo exit code $?; exec cat"
        )

    def type(self, text, *keys):
        self.tmux("send-keys", "-l", text) if text else None
        for key in keys:
            self.tmux("send-keys", key)

    def screen(self):
        return self.tmux("capture-pane", "-p", "-J", "-S", "-200")

    def until(self, text, seconds=60):
        """Look until the text is there; only the screen shows it."""
        until = time.monotonic() + seconds
        pause = threading.Event()
        while text not in (seen := self.screen()):
            assert time.monotonic() < until, f"{text!r} never appeared on:\n{seen}"
            pause.wait(0.05)
        return seen

    def prompt(self, after):
        """Wait for this number of answers, and return the last prompt on the screen."""
        until = time.monotonic() + 20
        pause = threading.Event()
        while True:
            lines = [line for line in self.screen().splitlines() if line.strip()]
            recorded = sum(line.startswith("Recorded") for line in lines)
            if recorded == after and lines and "(Enter: not yet" in lines[-1]:
                return lines[-1]
            assert time.monotonic() < until, "\n".join(lines)
            pause.wait(0.05)

    def kill(self):
        self.tmux("kill-server")
