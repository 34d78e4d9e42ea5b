"""Try a gate with the host's own program, a scripted model and a temporary inbox."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gatebell.domain.enums import AgentCli
from gatebell.errors import GateError
from gatebell.install import json_entries, settings_files
from gatebell.install.checks import hooks_of, snake, trusted_hooks
from gatebell.install.hosts import codex_turn
from gatebell.install.scripted_model import ScriptedModel, script, text, tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gatebell.install.records import Installed

_MAX_SECONDS = 60
_START_SECONDS = 20
_FILE = "gatebell-rehearsal"
_VERSION = re.compile(rb"(\d+)\.(\d+)\.(\d+)")
# Seen with 2.1.197; 2.1.325 asks.
_LAST_SILENT_CLAUDE = (2, 1, 197)
_SILENT = (
    "version {version} asks no hook in -p, so the gate cannot be tried here. In a terminal it asks; "
    "in -p it denies gated calls. Update Claude Code, or add "
    "--permission-prompt-tool mcp__gatebell__approve to claude -p"
)
CLAUDE_ALONE = {
    "ANTHROPIC_API_KEY": "none-is-needed-by-a-scripted-model",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "DISABLE_AUTOUPDATER": "1",
}


class Person(Protocol):
    """A person who answers in the temporary inbox."""

    def answer(self, yes: bool, while_: Callable[[], bool]) -> bool:
        """Answer every question until the rehearsal ends; False if there was none."""


class Stage(NamedTuple):
    """A folder with everything for one rehearsal."""

    folder: str
    program: str
    model: str
    environ: dict[str, str]

    def path(self, *parts: str) -> str:
        return os.path.join(self.folder, *parts)


def _name_try(cli: str) -> str:
    tried = cli in (AgentCli.GEMINI, AgentCli.OPENCODE, AgentCli.COPILOT)
    return f"gate holdtest {cli} does" if tried else "try a gated command yourself"


def rehearse(
    installed: Installed, environ: Mapping[str, str], hire: Callable[[str], Person]
) -> Iterator[tuple[bool | None, str]]:
    """Let the host call a gated tool twice: a no must block it, a yes must let it run.

    `hire` returns a person who answers in the inbox at a path. None is for a host that cannot be
    tried although nothing is wrong with it.
    """
    cli = installed.cli
    if cli not in PLAYS:
        yield None, f"{cli}: doctor does not try its gate; {_name_try(cli)}"
        return
    program = shutil.which(cli, path=environ.get("PATH"))
    if program is None:
        yield False, f"{cli}: is not on the PATH, so the gate could not be tried"
        return
    for yes in (False, True):
        asked, ran = _perform(installed, environ, program, hire, yes)
        word, did = "yes" if yes else "no", "ran" if ran else "did not run"
        if asked:
            yield ran == yes, f"{cli}: in a real try the answer was {word} and the tool {did}"
        elif not ran and (version := _silent_version(cli, program, environ)):
            yield None, f"{cli}: {_SILENT.format(version=version)}"
            return
        else:
            again = f"gate install {cli} writes its rules and hooks again; then restart {cli}"
            yield False, f"{cli}: in a real try no person was asked and the tool {did}: {again}"


def _silent_version(cli: str, program: str, environ: Mapping[str, str]) -> str:
    """Return the version of a host that asks no hook in this mode; empty: it would ask."""
    if cli != AgentCli.CLAUDE:
        return ""
    try:
        ran = subprocess.run(
            [program, "--version"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _VERSION.match(ran.stdout)
    is_silent = found and tuple(map(int, found.groups())) <= _LAST_SILENT_CLAUDE
    return found[0].decode() if found and is_silent else ""


def _perform(
    installed: Installed,
    environ: Mapping[str, str],
    program: str,
    hire: Callable[[str], Person],
    yes: bool,
) -> tuple[bool, bool]:
    """Return whether a person was asked, and whether the tool ran."""
    with tempfile.TemporaryDirectory(prefix="gate-rehearsal-") as folder, ScriptedModel() as model:
        stage = Stage(folder, program, model.url, build_environment(environ, folder))
        for name in ("home", "work", "tmp", "inbox"):
            os.mkdir(stage.path(name), mode=0o700)
        person = hire(stage.environ["GATE_STORE"])
        play = Thread(target=_play, args=(installed, environ, stage), daemon=True)
        play.start()
        asked = person.answer(yes, play.is_alive)
        play.join(_MAX_SECONDS)
        return asked, os.path.exists(stage.path("work", _FILE))


def _play(installed: Installed, environ: Mapping[str, str], stage: Stage) -> None:
    # If a host cannot start or breaks off, no person was asked, and the result says so.
    with suppress(OSError, ValueError, subprocess.SubprocessError, GateError):
        PLAYS[installed.cli](installed, environ, stage)


def build_environment(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return an environment with only the variables that a program needs to start."""
    kept = {name: environ[name] for name in ("PATH", "LANG", "LC_ALL", "USER") if name in environ}
    return kept | {
        "HOME": os.path.join(folder, "home"),
        # Codex makes no helpers in a home below the folder for temporary files [seen].
        "TMPDIR": os.path.join(folder, "tmp"),
        "TERM": "dumb",
        "GATE_STORE": os.path.join(folder, "inbox", "gate.db"),
    }


def _claude(installed: Installed, _: Mapping[str, str], stage: Stage) -> None:
    path = installed.files[0].path
    document = json_entries.parse(settings_files.text_of(settings_files.read(path), path), path)
    settings_files.write(
        stage.path("home", ".claude", "settings.json"), json.dumps(_only_ours(document)).encode()
    )
    prompt = script([tool("Bash", command=f"touch {_FILE}", description="rehearse"), text("done")])
    subprocess.run(
        [stage.program, "-p", prompt],
        env=stage.environ | CLAUDE_ALONE | {"ANTHROPIC_BASE_URL": stage.model},
        cwd=stage.path("work"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_MAX_SECONDS,
        check=False,
    )


def _only_ours(document: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with our hooks only: other hooks may do anything."""
    permissions = document.get("permissions", {})
    asked = [*permissions.get("ask", []), f"Bash(touch {_FILE})"]
    hooks: dict[str, list[Any]] = {}
    for event, _, hook in hooks_of(document):
        hooks.setdefault(event, []).append({"matcher": "*", "hooks": [hook]})
    # With everything allowed, only the gate rule can have held the tool.
    return {
        "permissions": permissions | {"ask": asked, "allow": ["Bash"]},
        "hooks": hooks,
        "disableAllHooks": bool(document.get("disableAllHooks")),
    }


def _codex(installed: Installed, environ: Mapping[str, str], stage: Stage) -> None:
    block = installed.files[0].block
    home = stage.path("home", ".codex")
    path = os.path.join(home, "config.toml")
    settings = codex_turn.SETTINGS.format(url=stage.model) + (block.text if block else "")
    # The person's trust in exactly these hooks also applies to the copy.
    for event, digest in trusted_hooks(installed, environ).items():
        settings += f'\n[hooks.state."{path}:{snake(event)}:0:0"]\ntrusted_hash = "{digest}"\n'
    settings_files.write(path, settings.encode())
    rule = f'prefix_rule(pattern = ["touch", "{_FILE}"], decision = "prompt")\n'
    settings_files.write(os.path.join(home, "rules", "gatebell.rules"), rule.encode())
    words = script([tool("exec_command", cmd=f"touch {_FILE}"), text("done")])
    codex_turn.run(stage.program, stage.environ, stage.path("work"), words)


PLAYS: dict[str, Callable[[Installed, Mapping[str, str], Stage], None]] = {
    AgentCli.CLAUDE: _claude,
    AgentCli.CODEX: _codex,
}
