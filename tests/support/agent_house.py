"""A project where real agent CLIs run against a scripted model, and ada answers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from glob import glob
from pathlib import Path

import apsw

from gatebell.install.hosts.claude import guard_hook
from gatebell.install.scripted_model import ScriptedModel, script, tool_results
from tests.support.shells import World
from tests.support.waiting import eventually

GATED = ("Bash(touch gated*)", "Bash(cat gated*)", "Bash(touch gated:*)")
"""Gated patterns of these tests besides the defaults; codex understands only the last."""
PERMISSION_TOOL = ("--permission-prompt-tool", "mcp__gatebell__approve")
OWN_QUESTIONS = [
    {
        "question": f"Which {word}?",
        "header": word,
        "multiSelect": word == "colours",
        "options": [{"label": label, "description": f"{label}, of course"} for label in labels],
    }
    for word, labels in (("database", ("PostgreSQL", "SQLite")), ("colours", ("Red", "Blue")))
]
"""The questions of claude's own AskUserQuestion here."""
_KEY = "a-key-that-no-service-knows"


class House(World):
    """A project where agents run against a scripted model, and ada answers."""

    def __init__(self, folder, programs, network):
        super().__init__(folder, kept=True)
        self.programs = programs
        self.network = network
        self.home = folder / "home"
        self.project = folder / "project"
        self.model = network.inside(ScriptedModel)
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.bin / "gate").symlink_to(Path(sys.executable).parent / "gate")
        keep = {k: v for k, v in self.plain.environ.items() if k not in ("PATH", "PYTHONPATH")}
        self.environ = keep | {
            "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": _KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            "SCRIPT_KEY": _KEY,
        }
        self.agents = []
        self.rival = None
        _git(self.project)
        self._seed_claude()
        self._seed_codex()

    def _seed_claude(self):
        """Write the settings that claude has after its first start by a person."""
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        seen = {
            "hasCompletedOnboarding": True,
            "projects": {str(self.project): trusted},
            "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
        }
        (self.home / ".claude.json").write_text(json.dumps(seen), encoding="utf-8")
        self.claude_settings.parent.mkdir()
        # Only a gate may hold a call.
        allowed = {"permissions": {"allow": ["Bash", "Write"]}}
        self.claude_settings.write_text(json.dumps(allowed), encoding="utf-8")

    def _seed_codex(self):
        (self.home / ".codex").mkdir()
        (self.home / ".codex" / "config.toml").write_text(
            f"""model = "script"
model_provider = "script"
check_for_update_on_startup = false
sandbox_mode = "danger-full-access"
analytics.enabled = false
[features]
apps = false
plugins = false
daemon_auto_start = false
[model_providers.script]
name = "script"
base_url = "{self.model.url}/v1"
wire_api = "responses"
env_key = "SCRIPT_KEY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[projects."{self.project}"]
trust_level = "trusted"
""",
            encoding="utf-8",
        )

    def install(self, cli):
        """Run `gate install`, with a path that tests of faults can replace."""
        words = [word for pattern in GATED for word in ("--gate", pattern)]
        ran = subprocess.run(
            [self.bin / "gate", "install", cli, "--yes", "--as", "ada", *words],
            env=self.environ | {"GATE_TOKEN": self.tokens["ada"]}, cwd=self.project,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr

    def replace_gate(self, line):
        """Put a shell line at the path of gate in the settings; {real} is the real one."""
        gate = self.bin / "gate"
        real = gate.resolve()
        gate.unlink()
        gate.write_text(f"#!/bin/sh\n{line.format(real=real)}\n", encoding="utf-8")
        gate.chmod(0o755)

    def lock_store(self):
        """Hold a write lock, as another process that does not end."""
        self.rival = apsw.Connection(self.path)
        self.rival.execute("BEGIN IMMEDIATE")

    @property
    def claude_settings(self):
        return self.home / ".claude" / "settings.json"

    def change_settings(self, change):
        """Change the text of the installed settings."""
        before = self.claude_settings.read_text(encoding="utf-8")
        assert change(before) != before, "there was nothing to change"
        self.claude_settings.write_text(change(before), encoding="utf-8")

    def shorten_limits(self, seconds):
        """Set the time limits of the host for hooks and tools."""
        servers = self.home / ".claude.json"
        for file in (self.claude_settings, servers):
            words = file.read_text(encoding="utf-8").replace("86400000", str(seconds * 1000))
            words = re.sub(r'"timeout": (60|86400)\b', f'"timeout": {seconds}', words)
            # The installed guard waits four fifths of it.
            words = words.replace('\\"$t\\" 48', f'\\"$t\\" {seconds * 0.8}')
            file.write_text(words, encoding="utf-8")

    def write_settings(self, **settings):
        """Use these settings of claude instead of the installed ones; keep the MCP server."""
        self.install("claude")
        self.claude_settings.write_text(json.dumps(settings), encoding="utf-8")

    def only_permission_tool(self):
        """Answer gates through the MCP server only; return claude's options for it."""
        self.write_settings(permissions={"allow": ["Bash"], "ask": list(GATED)})
        return PERMISSION_TOOL

    def guard_before_use(self, options, matcher, **more):
        """Install a PreToolUse hook behind the guard, for tools that claude allows."""
        command = guard_hook(f"{self.bin / 'gate'} hook claude{options}")
        hook = {"type": "command", "command": command, "timeout": 60}
        hooks = {"PreToolUse": [{"matcher": matcher, "hooks": [hook]}]}
        self.write_settings(permissions={"allow": ["Bash", "Write"]}, hooks=hooks | more)

    def run_claude(self, steps, *words, **environ):
        """Start claude in print mode, with a prompt if there are steps."""
        command = [self.programs.claude, "-p", *words, "--output-format", "json"]
        return self._start([*command, f"Please. {script(steps)}"] if steps else command, environ)

    def run_codex(self, steps, *words, **environ):
        command = [self.programs.codex, "exec", "--skip-git-repo-check", *words]
        return self._start([*command, f"Please. {script(steps)}"], environ)

    def _start(self, command, environ):
        agent = Agent(
            subprocess.Popen(
                [*self.network.prefix, *command],
                env=self.environ | environ, cwd=self.project, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
        )  # fmt: skip
        self.agents.append(agent)
        return agent

    def wait_for_asks(self, count=1, seconds=60):
        """Wait for this number of pending asks, and return them, oldest first."""
        until = time.monotonic() + seconds
        with closing(self.store.bell()) as bell:
            while len(found := self.store.asks.pending(100)) < count:
                told = f"{len(found)} of {count} asks came"
                assert time.monotonic() < until, f"{told}\n{self.problem()}"
                bell.wait(0.1)
        return sorted(found, key=lambda ask: ask.opened_at)

    def problem(self):
        """Return the words of the agents, for a failed test."""
        told = [agent.kill() for agent in self.agents if agent.process.poll() is None]
        results = [tool_results(request) for request in self.model.requests[-1:]]
        return f"agents: {told}\nlast tool results: {results}"

    def answer(self, ask, *words):
        ran = self.ada.gate("answer", ask.id, *words)
        assert ran.code in (0, 10), ran.err
        return ran

    def answer_own_questions(self):
        """SQLite, and both colours; the other question first."""
        asks = {ask.question.prompt: ask for ask in self.wait_for_asks(2)}
        database, colours = asks["Which database?"], asks["Which colours?"]
        assert database.question.options[:2] == ("PostgreSQL", "SQLite")
        assert colours.question.multiple
        self.answer(colours, "Red", "Blue")
        self.answer(database, "SQLite")

    def wait_for_settled(self, ask, seconds=60):
        """Wait until the ask is settled, and return it."""
        eventually(lambda: not self.get(ask.id).pending, seconds)
        return self.get(ask.id)

    def wait_for_results(self, seconds=60):
        """Wait for tool results, and return those of the last request to the model."""
        return eventually(
            lambda: next(filter(None, map(tool_results, reversed(self.model.requests))), None),
            seconds,
        )

    def ran(self, name="gated"):
        """Return whether the gated command had its effect."""
        return (self.project / name).exists()

    def forget(self):
        """Undo the effect of the command, for another round."""
        self.model.requests.clear()
        (self.project / "gated").unlink(missing_ok=True)

    def kill_logged_agents(self):
        """Kill the agents once they wrote their logs; without a log nothing can be resumed."""
        logs = (".claude/projects/*/*.jsonl", ".codex/sessions/*/*/*/*.jsonl")
        eventually(
            lambda: any(
                '"tool_use"' in text or '"function_call"' in text
                for pattern in logs
                for text in (log.read_text(encoding="utf-8") for log in self.home.glob(pattern))
            )
        )
        self.kill_agents()

    def kill_agents(self):
        for agent in self.agents:
            agent.kill()

    def processes(self, *words):
        """Return the pids of this house's programs with these words in their command line."""
        mark = f"GATE_STORE={self.path}\0".encode()
        found = []
        for folder in glob("/proc/[0-9]*"):
            try:
                command = Path(folder, "cmdline").read_bytes().decode(errors="replace").split("\0")
                ours = mark in Path(folder, "environ").read_bytes()
            except OSError:
                continue
            if ours and all(word in command for word in words):
                found.append(int(folder.rpartition("/")[2]))
        return found

    def close(self):
        if self.rival:
            self.rival.close()
        self.kill_agents()
        for pid in self.processes():
            with suppress(ProcessLookupError):  # it may just end by itself
                os.kill(pid, signal.SIGKILL)
        self.store.close()


class Agent:
    """An agent in a process of its own."""

    def __init__(self, process):
        self.process = process

    def result(self, seconds=60):
        """Return its last output: claude's result object, or codex's last message."""
        out, err = self.process.communicate(timeout=seconds)
        assert out, err
        return json.loads(out) if out.startswith("{") else out

    def kill(self):
        self.process.kill()
        return self.process.communicate()


def _git(folder):
    for words in (["init", "-q", "-b", "main"], ["config", "user.email", "a@b"]):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
