"""A project where gemini, opencode and copilot run against a local model, and ada answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import NamedTuple

import pytest

from gatebell.install.hold_test.hosts import HOSTS as STARTED
from gatebell.install.rehearsal import Stage
from gatebell.install.scripted_model import ScriptedModel, script, text, tool, tool_results
from tests.support.shells import World

HOST_PACKAGES = {
    "@google/gemini-cli": "0.61.0",
    "opencode-ai": "1.18.33",
    "@github/copilot": "1.0.102",
}
GATED = "touch gated"
_SECONDS = 240


class Host(NamedTuple):
    """How a host is started, and what its tools are called."""

    package: str
    program: str
    shell: str
    write: str
    path: str
    words: tuple[str, ...]


HOSTS = {
    "gemini": Host(
        "@google/gemini-cli", "@google/gemini-cli/bundle/gemini.js",
        "run_shell_command", "write_file", "file_path",
        ("-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p"),
    ),
    "opencode": Host(
        "opencode-ai", "opencode-ai/bin/opencode.exe", "bash", "write", "filePath", ("run",)
    ),
    "copilot": Host(
        "@github/copilot", "@github/copilot-*/copilot", "bash", "create", "path",
        ("--allow-all", "-p"),
    ),
}  # fmt: skip


def find_host(folder, cli):
    """Return the path of a host's program; empty if it is not installed."""
    found = glob(os.path.join(folder, "node_modules", HOSTS[cli].program))
    return found[0] if found else ""


def build_prompt(name, tool_input):
    """Return a prompt with one call to make."""
    return script([tool(name, **tool_input), text("done")])


class HostStage(World):
    """One host with its own home, in a network without other hosts."""

    def __init__(self, folder, cli, program, network):
        super().__init__(folder, kept=True)
        self.cli, self.host, self.network = cli, HOSTS[cli], network
        self.words = ["node", program] if program.endswith(".js") else [program]
        self.home, self.project = folder / "home", folder / "project"
        self.model = network.inside(ScriptedModel)
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.gate = self.bin / "gate"
        self.gate.symlink_to(Path(sys.executable).parent / "gate")
        keep = {k: v for k, v in self.plain.environ.items() if k not in ("PATH", "PYTHONPATH")}
        keep.pop("XDG_CONFIG_HOME", None)
        self.environ = keep | self._build_environment()
        self.running = None
        subprocess.run(["git", "init", "-q", self.project], check=True)
        STARTED[cli].seed(Stage(str(folder), program, self.model.url, {}))

    def _build_environment(self):
        node = os.path.dirname(os.path.realpath("/usr/bin/env"))
        return {
            "PATH": f"{self.bin}:{os.environ.get('PATH', node)}",
            "TERM": "dumb",
            **STARTED[self.cli].variables(self.model.url),
        }

    def install(self):
        """Run `gate install`, with a path that tests of faults can replace."""
        words = ["--gate", f"Bash({GATED}*)", "--yes", "--as", "ada"]
        ran = subprocess.run(
            [self.gate, "install", self.cli, *words],
            env=self.environ | {"GATE_TOKEN": self.tokens["ada"]}, cwd=self.project,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr

    def start(self, name, tool_input):
        """Start the host with one call to make."""
        prompt = build_prompt(name, tool_input)
        self.running = subprocess.Popen(
            [*self.network.prefix, *self.words, *self.host.words, prompt],
            cwd=self.project, env=self.environ, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return self.running

    def finish(self):
        """Wait for the end of the host, and return its output."""
        return self.running.communicate(timeout=_SECONDS)[0]

    def wait_for_ask(self):
        """Return the ask of the call; the host may need long to start."""
        until = time.monotonic() + _SECONDS
        while not (found := self.store.asks.pending(9)):
            # The process ends before it asks if the call was not held.
            with suppress(subprocess.TimeoutExpired):
                self.running.wait(0.1)
                pytest.fail(f"no ask came: {self.running.communicate()[0]}")
            assert time.monotonic() < until, "no ask came"
        return found[0]

    def list_results(self):
        """Return the results of calls in every request to the model."""
        return [words for request in self.model.requests for words in tool_results(request)]

    def run_shell(self, command):
        self.start(self.host.shell, {"command": command, "description": "make a file"})

    def run_write(self, path):
        content = {"copilot": "file_text"}.get(self.cli, "content")
        self.start(self.host.write, {self.host.path: str(path), content: "x"})

    def break_hook(self, line):
        """Let gate run this line of shell in place of a hook; its MCP server still works."""
        real = self.gate.resolve()
        self.gate.unlink()
        text = f'#!/bin/sh\n[ "$1" = hook ] || exec {real} "$@"\n{line}\n'
        self.gate.write_text(text, encoding="utf-8")
        self.gate.chmod(0o755)

    def close(self):
        if self.running and self.running.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.running.pid, signal.SIGKILL)
            self.running.communicate()
