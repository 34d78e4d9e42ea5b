"""A shell in a project that runs the command lines of a page."""

from __future__ import annotations

import subprocess
import sys

from tests.support.git_project import git
from tests.support.sessions import Screen
from tests.support.waiting import eventually

# A person answers with their token, so that the tests also pass in an agent's shell.
_GATE = """#!/bin/sh
case $1 in
answer|ask-back|respond|install|uninstall) case "$*" in *--as*) ;; *) export GATE_TOKEN={token}; set -- "$@" --as ada ;; esac ;;
esac
exec {python} -m gatebell "$@"
"""

AGENT = """#!/bin/sh
case $GATE_SIGNAL_FILE in *reviewer*) status=APPROVED ;; *) status=DONE ;; esac
echo "{\\"status\\": \\"$status\\", \\"summary\\": \\"done\\"}"
"""
# It reports the second task as done at once.
ASKING_AGENT = """#!/bin/sh
case $(cat) in
*"Human's answer"*|*"Write integration tests"*) echo '{"status": "completed", "summary": "It is done"}' ;;
*) echo '{"status": "needs_input", "question": "Should the API use JWT tokens or session cookies?"}' ;;
esac
"""


class BlockShell:
    """A shell with `gate` on its path.

    Lasting commands start in the background, and are waited for at the end.
    """

    def __init__(self, world):
        self.world = world
        self.folder = world.plain.folder
        self.stays = []
        programs = world.folder / "bin"
        programs.mkdir()
        script = _GATE.format(token=world.tokens["ada"], python=sys.executable)
        (programs / "gate").write_text(script, encoding="utf-8")
        (programs / "gate").chmod(0o755)
        path = f"{programs}:{world.plain.environ['PATH']}"
        self.environ = world.plain.environ | {"PATH": path}

    def write_project(self, agents):
        """Make a git repository with a role for each agent, and a test command that succeeds."""
        roles = self.folder / ".gate" / "agents"
        roles.mkdir(parents=True)
        for role, script in agents.items():
            program = self.folder / f"{role}.sh"
            program.write_text(script, encoding="utf-8")
            program.chmod(0o755)
            text = f'---\ncommand: ["{program}"]\n---\nYou are the {role}.\n'
            (roles / f"{role}.md").write_text(text, encoding="utf-8")
        (self.folder / "Makefile").write_text("test:\n\ttrue\n", encoding="utf-8")
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "begin")):
            git(self.folder, *words)

    def agree(self, line):
        """Run a line in a terminal, answer yes, and return the output."""
        screen = Screen(self, program=["/bin/bash", "-c", line])
        try:
            while screen.read(0.1):
                if screen.seen.endswith("[y/N] "):
                    screen.type("y\n")
            assert screen.end() == 0, screen.seen
        finally:
            screen.close()
        return screen.seen

    def start(self, line):
        """Start a line that waits for a person."""
        self.stays.append(
            subprocess.Popen(
                ["bash", "-c", line], env=self.environ, cwd=self.folder, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
        )  # fmt: skip

    def type(self, line):
        """Run a line to its end, and return its output."""
        ran = subprocess.run(
            ["bash", "-c", line], env=self.environ, cwd=self.folder, text=True, check=False,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
        )  # fmt: skip
        assert ran.returncode == 0, (line, ran.stdout, ran.stderr)
        return ran.stdout

    def pending(self):
        """Wait for the only open ask, and return it."""
        (ask,) = eventually(lambda: self.world.store.asks.pending(2) or self._check())
        return ask

    def _check(self):
        """Check that the last started line has not ended before a person is asked."""
        process = self.stays[-1]
        assert process.poll() is None, process.communicate()[0]

    def kill(self):
        for process in self.stays:
            process.kill()
            process.wait()
            process.stdout.close()

    def end(self):
        """Wait for the started lines, and return the exit codes and the last output."""
        said = [process.communicate(timeout=60)[0] for process in self.stays]
        codes = [process.returncode for process in self.stays]
        self.stays.clear()
        return codes, said
