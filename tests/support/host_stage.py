"""A project where gemini, opencode and copilot run against a local model, and ada answers."""

from __future__ import annotations

import json
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

from tests.support.host_models import OneCallModel, build_prompt
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


class HostStage(World):
    """One host with its own home, in a network without other hosts."""

    def __init__(self, folder, cli, program, network):
        super().__init__(folder, kept=True)
        self.cli, self.host, self.network = cli, HOSTS[cli], network
        self.words = ["node", program] if program.endswith(".js") else [program]
        self.home, self.project = folder / "home", folder / "project"
        self.model = network.inside(OneCallModel)
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.gate = self.bin / "gate"
        self.gate.symlink_to(Path(sys.executable).parent / "gate")
        keep = {k: v for k, v in self.plain.environ.items() if k not in ("PATH", "PYTHONPATH")}
        keep.pop("XDG_CONFIG_HOME", None)
        self.environ = keep | self._build_environment()
        self.running = None
        subprocess.run(["git", "init", "-q", self.project], check=True)
        self._seed()

    def _build_environment(self):
        node = os.path.dirname(os.path.realpath("/usr/bin/env"))
        return {
            "PATH": f"{self.bin}:{os.environ.get('PATH', node)}",
            "TERM": "dumb",
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": self.model.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "npm_config_offline": "true",
            "npm_config_fetch_retries": "0",
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{self.model.url}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "script",
        }

    def _seed(self):
        """Write the settings that the host needs to find the model."""
        if self.cli == "gemini":
            self._write(
                ".gemini/settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}}
            )
        if self.cli == "opencode":
            options = {"baseURL": f"{self.model.url}/v1", "apiKey": "none"}
            provider = {
                "npm": "@ai-sdk/openai-compatible",
                "name": "script",
                "options": options,
                "models": {"m": {"name": "m"}},
            }
            settings = {"provider": {"script": provider}, "model": "script/m", "autoupdate": False}
            self._write(".config/opencode/opencode.json", settings)

    def _write(self, name, document):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document), encoding="utf-8")

    def install(self):
        """Run `gate install`, with a path that tests of faults can replace."""
        words = ["--gate", f"Bash({GATED}*)", "--yes", "--as", "ada"]
        ran = subprocess.run(
            [self.gate, "install", self.cli, *words],
            env=self.environ | {"GATE_TOKEN": self.tokens["ada"]}, cwd=self.project,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr

    def start(self, tool, tool_input):
        """Start the host with one call to make."""
        self.running = subprocess.Popen(
            [*self.network.prefix, *self.words, *self.host.words, build_prompt(tool, tool_input)],
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

    def run_shell(self, command):
        self.start(self.host.shell, {"command": command, "description": "make a file"})

    def run_write(self, path):
        text = {"copilot": "file_text"}.get(self.cli, "content")
        self.start(self.host.write, {self.host.path: str(path), text: "x"})

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
