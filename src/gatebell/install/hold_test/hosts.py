"""How each host is started against a scripted model, and what its tools and modes are called."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.enums import AgentCli
from gatebell.install import settings_files
from gatebell.install.hold_test.rows import Row
from gatebell.install.hosts import codex_turn
from gatebell.install.rehearsal import CLAUDE_ALONE, Stage
from gatebell.install.scripted_model import script, text, tool, tools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_START_SECONDS = 30
_PROMPT = "PROMPT"
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


class Host(NamedTuple):
    """One host. `start` runs it until its end: stage, prompt, mode, row, seconds."""

    name: str
    seed: Callable[[Stage], None]
    """Writes the settings that the host needs to find the model."""
    start: Callable[[Stage, str, str, Row, float], None]
    variables: Callable[[str], dict[str, str]]
    """Returns the variables with which it reaches the model at an address."""
    tool: str
    argument: str = "command"
    modes: tuple[str, ...] = ()
    usual: str = ""
    """The mode of the other rows: the one that lets most calls run."""
    sub_agent: tuple[tuple[str, dict[str, Any]], ...] = ()
    """The calls with which it starts a sub-agent; _PROMPT stands for its prompt."""
    version: Sequence[str] = ()

    def build_prompt(self, row: Row, command: str) -> str:
        """Return the prompt that makes the model call the tool."""
        given = {self.argument: command, "description": "make a file"}
        if row == Row.PARALLEL:
            return script([tools((self.tool, given), (self.tool, given)), text("done")])
        inner = [tool(self.tool, **given), text("done")]
        if row == Row.SUB_AGENT:
            prompt = script(inner)
            inner = [_fill(name, words, prompt) for name, words in self.sub_agent] + [text("done")]
        return script(inner)


def _fill(name: str, words: Mapping[str, Any], prompt: str) -> dict[str, Any]:
    return tool(name, **{key: prompt if word == _PROMPT else word for key, word in words.items()})


def find_version(words: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the version that a program prints; empty if it cannot be started."""
    try:
        ran = subprocess.run(
            list(words), env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=_START_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _VERSION.search(ran.stdout)
    return found[0].rstrip(".") if found else ""


def find_installed(environ: Mapping[str, str]) -> list[str]:
    """Return the known hosts on the PATH."""
    return [name for name in HOSTS if shutil.which(name, path=environ.get("PATH"))]


def run_until_end(
    words: Sequence[str], environ: Mapping[str, str], folder: str, seconds: float
) -> None:
    """Run a program and all that it started; end them after so many seconds."""
    host = subprocess.Popen(
        list(words), env=dict(environ), cwd=folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        with suppress(subprocess.TimeoutExpired):
            host.wait(seconds)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(host.pid, signal.SIGKILL)
        host.wait()


def _write(stage: Stage, name: str, document: dict[str, Any]) -> None:
    settings_files.write(stage.path("home", *name.split("/")), json.dumps(document).encode())


def _seed_claude(stage: Stage) -> None:
    # Everything is allowed, so that only a gate can hold the tool.
    _write(stage, ".claude/settings.json", {"permissions": {"allow": ["Bash"]}})


def _connect_claude(model: str) -> dict[str, str]:
    # As root it refuses bypassPermissions, unless it is told that it is in a sandbox.
    return CLAUDE_ALONE | {"ANTHROPIC_BASE_URL": model, "IS_SANDBOX": "1"}


def _start_claude(stage: Stage, prompt: str, mode: str, _: Row, seconds: float) -> None:
    words = [stage.program, "-p", "--permission-mode", mode, prompt]
    run_until_end(words, stage.environ, stage.path("work"), seconds)


def _seed_codex(stage: Stage) -> None:
    path = stage.path("home", ".codex", "config.toml")
    settings_files.write(path, codex_turn.SETTINGS.format(url=stage.model).encode())


def _connect_codex(_: str) -> dict[str, str]:
    return {"SCRIPTED_KEY": "none"}


def _start_codex(stage: Stage, prompt: str, mode: str, row: Row, seconds: float) -> None:
    work, path = stage.path("work"), stage.path("home", ".codex", "config.toml")
    # The hooks are new in this home, and no person is here to trust them.
    trust = codex_turn.build_trust(stage.program, stage.environ, work)
    with open(path, "a", encoding="utf-8") as file:
        file.write(trust)
    if row == Row.HEADLESS:
        words = [stage.program, "exec", "--skip-git-repo-check", prompt]
        run_until_end(words, stage.environ, work, seconds)
    else:
        codex_turn.run(stage.program, stage.environ, work, prompt, policy=mode, seconds=seconds)


def _seed_gemini(stage: Stage) -> None:
    _write(
        stage, ".gemini/settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    )


def _connect_gemini(model: str) -> dict[str, str]:
    return {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": model,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def _start_gemini(stage: Stage, prompt: str, mode: str, _: Row, seconds: float) -> None:
    words = [stage.program, "-m", "gemini-2.5-flash", "--approval-mode", mode, "-p", prompt]
    run_until_end(words, stage.environ, stage.path("work"), seconds)


def _seed_opencode(stage: Stage) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "script",
        "options": {"baseURL": f"{stage.model}/v1", "apiKey": "none"},
        "models": {"m": {"name": "m"}},
    }
    settings = {"provider": {"script": provider}, "model": "script/m", "autoupdate": False}
    _write(stage, ".config/opencode/opencode.json", settings)


def _connect_opencode(_: str) -> dict[str, str]:
    return {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "npm_config_offline": "true",
        "npm_config_fetch_retries": "0",
    }


def _start_opencode(stage: Stage, prompt: str, mode: str, _: Row, seconds: float) -> None:
    more = {"auto": ["--auto"], "plan": ["--agent", "plan"]}.get(mode, [])
    words = [stage.program, "run", *more, prompt]
    run_until_end(words, stage.environ, stage.path("work"), seconds)


def _connect_copilot(model: str) -> dict[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{model}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": "script",
    }


def _start_copilot(stage: Stage, prompt: str, mode: str, _: Row, seconds: float) -> None:
    more = [f"--{mode}"] if mode != "default" else []
    words = [stage.program, *more, "-p", prompt]
    run_until_end(words, stage.environ, stage.path("work"), seconds)


def _seed_nothing(_: Stage) -> None:
    """Write nothing: the environment names the model."""


_HELPER = {"description": "make a file", "prompt": _PROMPT}
HOSTS: dict[str, Host] = {
    AgentCli.CLAUDE: Host(
        AgentCli.CLAUDE, _seed_claude, _start_claude, _connect_claude, "Bash",
        modes=("manual", "acceptEdits", "auto", "bypassPermissions", "dontAsk", "plan"),
        usual="bypassPermissions",
        sub_agent=(("Agent", _HELPER | {"subagent_type": "general-purpose"}),),
    ),
    AgentCli.CODEX: Host(
        AgentCli.CODEX, _seed_codex, _start_codex, _connect_codex, "exec_command", "cmd",
        modes=("on-request", "never"), usual="on-request",
        sub_agent=(
            ("spawn_agent", {"message": _PROMPT}),
            ("wait_agent", {"targets": ["{{result:[0-9a-f]+-[0-9a-f-]+}}"], "timeout_ms": 60_000}),
        ),
    ),
    AgentCli.GEMINI: Host(
        AgentCli.GEMINI, _seed_gemini, _start_gemini, _connect_gemini, "run_shell_command",
        modes=("default", "auto_edit", "yolo", "plan"), usual="yolo",
        sub_agent=(("invoke_agent", {"agent_name": "generalist", "prompt": _PROMPT}),),
    ),
    AgentCli.OPENCODE: Host(
        AgentCli.OPENCODE, _seed_opencode, _start_opencode, _connect_opencode, "bash",
        modes=("default", "auto", "plan"), usual="auto",
        sub_agent=(("task", _HELPER | {"subagent_type": "general"}),),
    ),
    AgentCli.COPILOT: Host(
        AgentCli.COPILOT, _seed_nothing, _start_copilot, _connect_copilot, "bash",
        modes=("default", "allow-all"), usual="allow-all",
        sub_agent=(("task", _HELPER | {"agent_type": "general-purpose", "name": "maker", "mode": "sync"}),),
    ),
}  # fmt: skip
