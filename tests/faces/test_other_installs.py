"""`gate install` for gemini, opencode, copilot and cursor; their programs are not needed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.support.programs import find_program

from gatebell.hooks.host_calls import MARK
from gatebell.install.checks import check_hosts
from gatebell.install.default_gates import Rules
from gatebell.install.held_tools import build_hook, choose_tools
from gatebell.install.hosts.opencode import build_plugin

GATE = str(Path(sys.executable).parent / "gate")
TOOLS = {"Bash": ("shell",), "Edit": ("write", "edit")}


@pytest.fixture
def world(kept_world):
    return kept_world


@pytest.fixture
def home(world, monkeypatch):
    # For code that runs in the tests' own process.
    monkeypatch.setenv("HOME", str(world.folder / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    return world.folder / "home"


def install(world, *words, **environ):
    ran = world.ada.gate("install", *words, "--yes", "--as", "ada", **environ)
    assert ran.code == 0, ran
    return ran.out


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.proves("OTHER-5")
def test_gemini_gets_a_hook_and_a_rule(world, home):
    out = install(world, "gemini")
    (group,) = read(home / ".gemini" / "settings.json")["hooks"]["BeforeTool"]
    assert group["matcher"] == "^(run_shell_command|write_file|replace)$"
    assert group["hooks"][0]["command"] == build_hook(GATE, "gemini")
    assert group["hooks"][0]["timeout"] == 86_400_000
    (rule,) = tomllib.loads((home / ".gemini/policies/gatebell.toml").read_text())["rule"]
    assert (rule["decision"], rule["priority"]) == ("ask_user", 999)
    assert "If our hook fails, Gemini CLI itself asks" in out
    assert "a call runs if our hook is killed" in install(world, "gemini", "--project")
    assert not (world.folder / "project" / ".gemini" / "policies").exists()


@pytest.mark.proves("OTHER-3")
def test_only_our_mark_passes_the_rule(world, home):
    install(world, "gemini")
    (rule,) = tomllib.loads((home / ".gemini/policies/gatebell.toml").read_text())["rule"]
    asks = re.compile(rule["argsPattern"])
    marked = {"command": "ls", "description": f'{MARK} list "all"'}
    assert not asks.search(json.dumps(marked, separators=(",", ":")))
    for given in (
        {"command": "ls"},
        {"command": "ls", "description": "list"},
        {"command": f'echo "description":"{MARK}"', "description": "list"},
        {"command": f"ls # {MARK}"},
    ):
        assert asks.search(json.dumps(given, separators=(",", ":"))), given


@pytest.mark.proves("OTHER-5")
def test_opencode_gets_a_plugin_and_a_rule(world, home):
    install(world, "opencode")
    folder = home / ".config" / "opencode"
    plugin = (folder / "plugin" / "gatebell.js").read_text()
    assert f"const GATE = {json.dumps(GATE)}\n" in plugin
    assert "@" not in plugin
    rule = read(folder / "opencode.json")["permission"]
    assert rule == {"bash": {"*": "ask", "gatebell": "ask"}}


@pytest.mark.proves("OTHER-5")
@pytest.mark.parametrize(
    ("permission", "note"),
    [("allow", "one permission for all tools"), ({"bash": "deny"}, "already sets permission.bash")],
)
def test_persons_own_permission_of_opencode_stays(world, home, permission, note):
    path = home / ".config" / "opencode" / "opencode.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"permission": permission}))
    assert note in install(world, "opencode")
    assert read(path)["permission"] == permission


@pytest.mark.proves("OTHER-5")
@pytest.mark.parametrize("scope", ["--user", "--project"])
def test_copilot_gets_its_entries(world, home, scope):
    install(world, "copilot", scope)
    project = world.folder / "project" / ".github"
    hooks, servers = {
        "--user": (home / ".copilot/hooks/gatebell.json", home / ".copilot/mcp-config.json"),
        "--project": (project / "hooks/gatebell.json", project / "mcp.json"),
    }[scope]
    assert read(hooks)["version"] == 1
    (hook,) = read(hooks)["hooks"]["PreToolUse"]
    assert (hook["matcher"], hook["timeoutSec"]) == ("Bash|Edit|Write", 86_400)
    assert hook["bash"] == build_hook(GATE, "copilot")
    assert read(servers)["mcpServers"]["gatebell"]["command"] == GATE


@pytest.mark.proves("OTHER-5")
def test_cursor_is_marked_as_untried(world, home):
    assert "Untried: this follows Cursor's documentation" in install(world, "cursor")
    hooks = read(home / ".cursor" / "hooks.json")["hooks"]
    assert [one["failClosed"] for (one,) in hooks.values()] == [True, True]
    assert hooks.keys() == {"beforeShellExecution", "preToolUse"}


@pytest.mark.proves("OTHER-5")
def test_hook_sees_every_tool_that_a_gate_names():
    rules = Rules(("Bash(a)",))
    assert choose_tools(rules, TOOLS) == ("shell",)
    assert choose_tools(rules._replace(denials=("Write(b)",)), TOOLS) == ("shell", "write", "edit")
    assert choose_tools(rules._replace(gates=("Bash(a)", "WebFetch")), TOOLS) == ()


@pytest.mark.proves("OTHER-6")
@pytest.mark.parametrize(
    ("cli", "settings"),
    [
        ("gemini", {"hooksConfig": {"enabled": False}}),
        ("gemini", {"hooksConfig": {"disabled": ["gatebell"]}}),
        ("copilot", {"disableAllHooks": True}),
    ],
)
def test_doctor_finds_hooks_that_are_off(world, home, cli, settings):
    install(world, cli)
    path = home / f".{cli}" / "settings.json"
    found = read(path) if path.exists() else {}
    fine = dict.fromkeys(what for ok, what in check_hosts(os.environ, "/") if ok is False)
    path.write_text(json.dumps(found | settings))
    bad = [what for ok, what in check_hosts(os.environ, "/") if ok is False]
    (told,) = [what for what in bad if what not in fine]
    assert told.startswith(f"{cli}: {path} turns our hook off ({next(iter(settings))})")


@pytest.mark.proves("OTHER-6")
@pytest.mark.parametrize("cli", ["gemini", "opencode", "copilot", "cursor"])
def test_doctor_names_the_gaps_of_a_host(world, home, cli):
    install(world, cli)
    left = [what for ok, what in check_hosts(os.environ, "/") if ok is None]
    assert len(left) > 2
    assert all(what.startswith(f"{cli}: left open by the host") for what in left)
    assert any("untried" in what for what in left) == (cli == "cursor")


def run_plugin(folder, script):
    """Let the plugin ask a gate, which is this script, about one call; return its error."""
    node = find_program("node", "the plugin of opencode was not run")
    gate = folder / "gate"
    if script:
        gate.write_text(f"#!/bin/sh\n{script}\n")
        gate.chmod(0o755)
    text = build_plugin(str(gate), ("bash",)).text
    (folder / "plugin.mjs").write_text(text)
    (folder / "try.mjs").write_text("""
import { Gatebell } from "./plugin.mjs"
const hooks = await Gatebell({ directory: "/p" })
const input = { tool: process.argv[2], sessionID: "s", callID: "c" }
await hooks["tool.execute.before"](input, { args: { command: "ls" } }).catch((e) => console.log(e.message))
""")
    return lambda tool: (
        subprocess.run(
            [node, "try.mjs", tool], cwd=folder, capture_output=True, text=True, check=True
        ).stdout
    )


@pytest.mark.proves("OTHER-2")
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("""cat >seen; printf '{"decision": "allow"}\\t\\n'""", ""),
        ("""printf '{"decision": "deny", "reason": "open a PR"}\\t\\n'""", "open a PR"),
        ("", "ENOENT"),
        ("kill -9 $$", "exit code null"),
        ("echo broken >&2; exit 1", "broken"),
        ("""printf '{"decision": "allow"}\\t\\n'; exit 1""", "exit code 1"),
        ("true", "exit code 0"),
        ("""printf '{"decision": "allow"}\\n'""", "exit code 0"),
        ("""printf '{"decision": "allow"}{"decision": "allow"}\\t\\n'""", "JSON"),
        ("""printf '{"decision": "all\\t\\n'""", "exit code 0"),
        ("""printf '{}\\t\\n'""", "gatebell blocked this"),
    ],
)
def test_plugin_passes_only_a_whole_yes(tmp_path, script, said):
    run = run_plugin(tmp_path, script)
    out = run("bash")
    assert said in out
    assert bool(out) == bool(said)
    if not said:
        assert json.loads((tmp_path / "seen").read_text())["tool_use_id"] == "c"
        assert run("read") == ""


@pytest.mark.proves("OTHER-2")
@pytest.mark.parametrize("script", ["", "exit 1", "kill -9 $$", "true", "echo '{}'"])
def test_guard_blocks_for_every_fault(tmp_path, script):
    gate = tmp_path / "gate"
    if script:
        gate.write_text(f"#!/bin/sh\n{script}\n")
        gate.chmod(0o755)
    ran = subprocess.run(
        ["sh", "-c", build_hook(str(gate), "gemini")], input=b"", capture_output=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, b"")
