"""A run of a command agent that people can join from their terminals."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import shlex
import signal
import struct
import sys
import termios
import time
from pathlib import Path

import pytest

from gatebell.app import project_files, runtime, wiring
from gatebell.services.runs import manage_runs
from gatebell.services.runs.manage_runs import RunRequest
from tests.support.shells import World
from tests.support.talk_program import TALK

# It prints the n-th signal in the n-th turn.
AGENT = """
import json, os, sys
text = sys.stdin.read()
turns = os.path.join(os.getcwd(), "turns")
number = len(open(turns).read().split()) if os.path.exists(turns) else 0
open(turns, "a").write(os.environ["GATE_TURN"] + "\\n")
open(f"heard-{number}", "w").write(text)
said = json.load(open("signals.json"))[number]
json.dump(said, open(os.environ["GATE_SIGNAL_FILE"], "w"))
"""
FLOW = """
from gatebell import flow, run, pause
@flow
def feature(prompt):
    done = run("coder", "Do it.")
    return [done.status, done.summary]
"""


class Desk:
    """A project with one role; its runs are driven by hand."""

    def __init__(self, world, **role):
        self.world, self.store = world, world.store
        self.project = Path(world.ada.folder)
        for name, text in (("agent.py", AGENT), ("talk.py", TALK)):
            (self.project / name).write_text(text, encoding="utf-8")
        (self.project / ".gate" / "agents").mkdir(parents=True)
        (self.project / ".gate" / "flows").mkdir()
        known = {
            "command": [sys.executable, str(self.project / "agent.py")],
            "join": [sys.executable, "-u", str(self.project / "talk.py")],
        }
        keys = {name: value for name, value in (known | role).items() if value}
        front = "\n".join(f"{name}: {json.dumps(value)}" for name, value in keys.items())
        self.write_role("coder", front)
        self.driver = runtime.build_driver(self.store)

    def write_role(self, name, front):
        path = self.project / ".gate" / "agents" / f"{name}.md"
        path.write_text(f"---\n{front}\n---\nYou are the {name}.\n", encoding="utf-8")

    def run(self, *signals, flow=FLOW):
        """Start a run, and drive it until it waits for a person."""
        (self.project / "signals.json").write_text(json.dumps(signals), encoding="utf-8")
        path = self.project / ".gate" / "flows" / "feature.py"
        path.write_text(flow, encoding="utf-8")
        name, source, digest = project_files.find_flow(str(self.project), "feature")
        wish = RunRequest(name, source, digest, "Add login", str(self.project), in_place=True)
        caller = wiring.caller(self.store, "cli", self.world.tokens["ada"], "ada")
        run, _ = manage_runs.start(self.store, runtime.workspace(self.store), wish, caller)
        return self.drive(run)

    def drive(self, run):
        return self.driver.drive(self.store.runs.get(run.id))

    def caller(self, name="ada"):
        return wiring.caller(self.store, "cli", self.world.tokens[name], name)

    def read_heard(self, number):
        return (self.project / f"heard-{number}").read_text(encoding="utf-8")

    def around(self):
        """Return the environment variables of the session."""
        return json.loads((self.project / "talk.json").read_text(encoding="utf-8"))


@pytest.fixture
def desk(tmp_path):
    world = World(tmp_path)
    yield Desk(world)
    world.store.close()


class Screen:
    """A terminal with one program in it."""

    def __init__(self, shell, *words, program=None, **environ):
        command = program or [sys.executable, "-m", "gatebell", *words]
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(shell.folder)
            os.execve(command[0], command, shell.environ | environ)
        self.seen = ""
        self.code = None

    @classmethod
    def joining(cls, shell, number, *words, **environ):
        return cls(shell, "continue", str(number), "--as", shell.name, *words, **environ)

    @classmethod
    def shell(cls, shell, **environ):
        """Open an interactive shell with job control."""
        return cls(shell, program=["/bin/bash", "--norc", "--noprofile", "-i"], PS1="$ ", **environ)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def line(self, *words):
        """Type a command of gate into the shell."""
        self.type(shlex.join([sys.executable, "-m", "gatebell", *words]) + "\n")

    def read(self, seconds):
        if select.select([self.terminal], [], [], seconds)[0]:
            try:
                more = os.read(self.terminal, 65536)
            except OSError:  # its program has ended
                return False
            self.seen += more.decode("utf-8", "replace").replace("\r\n", "\n")
            return bool(more)
        return True

    def until(self, text, seconds=60, after=0):
        """Read until the text is there; return where it ends."""
        until = time.monotonic() + seconds
        while text not in self.seen[after:]:
            going = self.read(0.1)
            assert time.monotonic() < until and (going or text in self.seen[after:]), self.seen
        return self.seen.index(text, after) + len(text)

    def resize(self, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("4H", 30, columns, 0, 0))

    def modes(self):
        return termios.tcgetattr(self.terminal)

    def end(self, seconds=60):
        """Wait for its end, and return its exit code; negative for a signal."""
        until = time.monotonic() + seconds
        while self.code is None:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            assert self.code is not None or time.monotonic() < until, self.seen
        while self.read(0):
            if not select.select([self.terminal], [], [], 0)[0]:
                break
        return self.code

    def close(self):
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.terminal)


def pid_in(screen):
    """Wait for the program in the terminal, and return its process."""
    after = screen.until("at your service ")
    screen.until("\n", after=after)
    return int(screen.seen[after:].split()[0])
