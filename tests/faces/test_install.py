"""`gate install`, `gate uninstall`, and the doctor's findings; no agent CLI is needed."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.support.people import a_person

from gatebell.cli.main import main
from gatebell.cli.setup import doctor, old_installations
from gatebell.cli.setup.install import find_gate_program
from gatebell.cli.setup.rehearsal import ScriptedPerson
from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.acts import TRIGGERS
from gatebell.domain.permissions.rules import OUTSIDE
from gatebell.errors import UsageError
from gatebell.install.checks import check_hosts, installations
from gatebell.install.default_gates import DEFAULT_GATES, choose
from gatebell.install.hosts.claude import guard_hook
from gatebell.install.hosts.codex import list_prefixes
from gatebell.install.plans import HOSTS
from gatebell.install.rehearsal import rehearse
from gatebell.services.permissions import manage_rules

GATE = str(Path(sys.executable).parent / "gate")
SETTINGS = """{
    "model": "opus",
    "permissions": {"ask": ["Bash(sudo *)"], "deny": []},
    "env": {"BASH_MAX_TIMEOUT_MS": "5"},
    "note": "caf\\u00e9"
}
"""


@pytest.fixture
def world(kept_world):
    return kept_world


@pytest.fixture
def home(world, monkeypatch):
    # For code that runs in the tests' own process.
    monkeypatch.setenv("HOME", str(world.folder / "home"))
    return world.folder / "home"


def install(world, *words, code=0, verb="install", **environ):
    ran = world.ada.gate(verb, *words, "--yes", "--as", "ada", **environ)
    assert ran.code == code, ran
    return ran


def uninstall(world, *words, **environ):
    return install(world, *words, verb="uninstall", **environ)


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def tree(folder):
    """Return every file and folder with its mode and bytes, except our own data."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.is_file() and path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if not {".local", "store"} & set(path.parts)
    }


def settings(home):
    return json.loads((home / ".claude" / "settings.json").read_text(encoding="utf-8"))


@pytest.mark.proves("AGT-40")
def test_changes_are_shown_and_a_dry_run_writes_nothing(world, home):
    put(home / ".claude" / "settings.json", SETTINGS)
    before = tree(world.folder)
    ran = world.plain.gate("install", "claude", "--dry-run")
    assert ran.code == 0
    path = home / ".claude" / "settings.json"
    assert f"--- {path}\n+++ {path}\n" in ran.out
    assert f"--- /dev/null\n+++ {home}/.claude.json\n" in ran.out
    assert '+            "Bash(*push*)",' in ran.out
    assert f"would be changed: {path}" in ran.out
    assert "\x1b" not in ran.out
    assert tree(world.folder) == before
    assert not (home / ".local").exists()


@pytest.mark.proves("AGT-40")
def test_install_without_a_terminal_needs_yes(world, home):
    ran = world.ada.gate("install", "claude", "--as", "ada")
    assert ran.code == 2
    assert "--dry-run, then add --yes" in ran.err
    assert tree(home) == {}
    told = json.loads(install(world, "claude", "--json").out)
    assert {"path": str(home / ".claude.json"), "change": "made"} in told["files"]
    assert told["gates"] == [gate.pattern for gate in DEFAULT_GATES]
    again = json.loads(install(world, "claude", "--json").out)
    assert {file["change"] for file in again["files"]} == {"same"}


@pytest.mark.proves("AGT-40", "SETUP-2")
@pytest.mark.parametrize(("typed", "code"), [("y", 0), ("", 4), ("n", 4), ("dy", 0), ("dn", 4)])
def test_install_at_a_terminal_asks_first(world, home, typed, code):
    above, below = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gatebell", "install", "gemini", "--as", "ada"],
        env=world.ada.environ, cwd=world.ada.folder, stdin=below, stdout=below, stderr=below,
    )  # fmt: skip
    os.close(below)
    for key in typed or [""]:
        seen = b""
        while b"[y/N]" not in seen:
            seen += os.read(above, 4096)
        assert (b"+++ " in seen) == (key != typed[:1]), "only d shows the diff"
        assert b".gemini/settings.json" in seen
        os.write(above, f"{key}\n".encode())
    assert process.wait(30) == code
    os.close(above)
    assert (home / ".gemini" / "settings.json").exists() == (code == 0)


@pytest.mark.proves("AGT-41")
def test_second_install_changes_nothing(world, home):
    put(home / ".claude" / "settings.json", SETTINGS)
    for cli in ("claude", "codex", "gemini", "opencode"):
        install(world, cli)
        before = tree(world.folder / "home")
        assert "nothing was changed" in install(world, cli).out
        assert tree(world.folder / "home") == before


@pytest.mark.proves("AGT-89")
def test_older_installation_is_named(world, home, monkeypatch):
    def find():
        return list(old_installations.find_old(str(world.folder)))

    monkeypatch.setenv("GATE_STORE", world.ada.environ["GATE_STORE"])
    put(home / ".claude" / "settings.json", SETTINGS)
    for cli in ("claude", "codex", "gemini", "opencode", "copilot"):
        install(world, cli)
    assert find() == []
    # As an older version wrote it: without the hook after tools.
    path = home / ".claude" / "settings.json"
    written = settings(home)
    del written["hooks"]["PostToolUse"]
    path.write_text(json.dumps(written, indent=4))
    (sentence,) = find()
    assert sentence.startswith("claude: it was installed by an older version")
    assert sentence.endswith("run: gate install claude")
    install(world, "claude")
    assert find() == []
    # Other gates are named as such.
    manage_rules.add(world.store, a_person(), RuleKind.ASK, "", "Bash(make *)")
    assert find() == []
    path.write_text("{")
    assert find() == []


@pytest.mark.proves("AGT-41", "AGT-47")
def test_gates_are_chosen_and_stay_chosen(world, home):
    ran = install(
        world, "claude", "--gate", "Bash(make release:*)", "--no-gate", "Bash(any deploy)"
    )
    assert "Bash(make release:*)" in ran.out
    install(world, "claude", "--no-gate", OUTSIDE)
    asked = settings(home)["permissions"]["ask"]
    assert asked[-1] == "Bash(make release:*)" and "Bash(*deploy*)" not in asked
    assert "PreToolUse" not in settings(home)["hooks"]
    stored = {rule.pattern for rule in manage_rules.gates(world.store) if not rule.project}
    usual = {gate.pattern for gate in DEFAULT_GATES} - {"Bash(any deploy)", OUTSIDE}
    assert stored == {*usual, "Bash(make release:*)"}
    assert "Bash(make release:*)" in world.ada.gate("gates", "list").out
    uninstall(world, "claude")
    assert manage_rules.gates(world.store) == []


@pytest.mark.proves("AGT-47")
def test_gates_that_make_no_sense_are_refused(world, home):
    for words, sentence in (
        (("claude", "--gate", "git push"), "expected a pattern Tool or Tool(words)"),
        (("claude", "--no-gate", "Bash(nothing)"), "is not gated"),
        (("gemini", "--gate", "Bash("), "expected a pattern Tool or Tool(words)"),
    ):
        assert sentence in install(world, *words, code=2).err
        assert sentence in install(world, *words, "--dry-run", code=2).err
    assert tree(home) == {}


@pytest.mark.proves("AGT-47")
def test_gates_of_one_cli_stay_while_another_needs_them(world):
    install(world, "claude")
    install(world, "codex")
    uninstall(world, "claude")
    assert len(manage_rules.gates(world.store)) == len(DEFAULT_GATES)
    uninstall(world, "codex")
    assert manage_rules.gates(world.store) == []


@pytest.mark.proves("AGT-42", "OTHER-5")
@pytest.mark.parametrize("scope", ["--user", "--project"])
@pytest.mark.parametrize("cli", [cli.value for cli in HOSTS])
def test_uninstalling_restores_every_byte(world, home, cli, scope):
    project = world.folder / "project"
    for folder in (home, project):
        put(folder / ".claude" / "settings.json", SETTINGS.replace("\n", "\n\n"))
        # Half a character, as a program that cuts texts to a length leaves it.
        put(folder / ".claude.json", '{"a":"\\ud83d"}')
        put(folder / ".mcp.json", "")
        put(folder / "AGENTS.md", "# Mine\r\nno end")
        put(folder / ".codex" / "config.toml", b'model = "x" # \xc3\xa9\n[features]\na = 1')
        put(folder / ".gemini" / "settings.json", "{}")
        put(folder / ".copilot" / "mcp-config.json", '{"mcpServers": {}}')
        put(folder / ".cursor" / "hooks.json", '{"version": 1}')
    before = tree(world.folder)
    install(world, cli, scope)
    install(world, cli, scope)
    assert tree(world.folder) != before
    uninstall(world, cli, scope)
    assert tree(world.folder) == before
    ran = install(world, cli, scope, verb="uninstall", code=5)
    assert f"gate is not installed for {cli}" in ran.err


@pytest.mark.proves("SETUP-19", "LAW-10")
def test_program_in_a_cache_is_not_installed(tmp_path, monkeypatch):
    def place(*folders):
        program = tmp_path.joinpath(*folders, "bin", "gate")
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
        # As uv does: in its cache, and in the environment of an installed tool.
        program.parents[1].joinpath("CACHEDIR.TAG").touch()
        monkeypatch.setattr(sys, "argv", [str(program)])
        return str(program)

    installed = place("tools", "gatebell")
    assert find_gate_program() == installed
    place("cache", "archive-v0", "x1")
    (tmp_path / "cache" / "CACHEDIR.TAG").touch()
    with pytest.raises(UsageError, match="Install gate first: uv tool install gatebell"):
        find_gate_program()


@pytest.mark.proves("AGT-42")
def test_new_files_are_removed_by_uninstall(world, home):
    for cli in ("claude", "codex", "gemini", "opencode"):
        before = tree(home)
        install(world, cli)
        assert tree(home) != before
        uninstall(world, cli)
        assert tree(home) == before


@pytest.mark.proves("AGT-43", "AGT-52")
def test_changes_of_others_stay(world, home):
    put(home / ".claude" / "settings.json", SETTINGS)
    install(world, "claude")
    document = settings(home)
    document["permissions"]["ask"].append("Bash(mine *)")
    document["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "chime"}]})
    document["theme"] = "dark"
    put(home / ".claude" / "settings.json", json.dumps(document, indent=4))
    put(
        home / ".claude.json",
        json.dumps(json.loads((home / ".claude.json").read_text()) | {"id": 7}),
    )
    assert "nothing was changed" in install(world, "claude").out
    put(home / ".claude.json", (home / ".claude.json").read_text().replace("7", "8"))
    ran = uninstall(world, "claude")
    assert f"{home}/.claude.json was changed since then, so only gate's part is removed" in ran.out
    assert settings(home) == json.loads(SETTINGS) | {
        "permissions": {"ask": ["Bash(sudo *)", "Bash(mine *)"], "deny": []},
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "chime"}]}]},
        "theme": "dark",
    }
    assert json.loads((home / ".claude.json").read_text()) == {"id": 8}


@pytest.mark.proves("AGT-43")
def test_existing_entries_stay_the_persons(world, home):
    mine = {"permissions": {"ask": ["Bash(git push:*)"], "allow": []}, "hooks": {}, "env": {}}
    path = put(home / ".claude" / "settings.json", json.dumps(mine))
    install(world, "claude")
    put(path, path.read_text() + "\n")
    uninstall(world, "claude")
    assert settings(home) == mine


@pytest.mark.proves("AGT-43")
def test_lines_around_ours_stay(world, home):
    path = put(home / ".claude" / "CLAUDE.md", "Mine.\n")
    install(world, "claude")
    put(path, path.read_text() + "Later.\n")
    put(home / ".claude.json", (home / ".claude.json").read_text().replace("\n", "\n\n"))
    uninstall(world, "claude")
    assert path.read_text() == "Mine.\nLater.\n"
    assert not (home / ".claude.json").exists()


@pytest.mark.proves("AGT-43")
def test_missing_file_is_not_an_error(world, home):
    install(world, "claude")
    (home / ".claude" / "CLAUDE.md").unlink()
    assert "CLAUDE.md is gone already" in uninstall(world, "claude").out
    assert tree(home) == {}


@pytest.mark.proves("AGT-44")
@pytest.mark.parametrize(
    ("cli", "name", "content"),
    [
        ("claude", ".claude/settings.json", '{"a": 1, // mine\n}'),
        ("claude", ".claude/settings.json", '{"a": 1, "a": 2}'),
        ("claude", ".claude/settings.json", "[]"),
        ("claude", ".claude/settings.json", '{"hooks": []}'),
        ("claude", ".claude/settings.json", '{"permissions": {"ask": "all"}}'),
        ("claude", ".claude.json", b'{"a": "\xff"}'),
        ("claude", ".claude.json", '{"a": NaN}'),
        ("claude", ".claude/CLAUDE.md", "<!-- gatebell -->\nno end\n"),
        ("codex", ".codex/config.toml", "a = \n"),
        ("codex", ".codex/config.toml", "hooks = {}\n"),
        ("gemini", ".gemini/settings.json", "{"),
        ("opencode", ".config/opencode/opencode.json", "{}//"),
        ("opencode", ".config/opencode/opencode.jsonc", "{}"),
    ],
)
def test_unparsable_file_is_left_alone(world, home, cli, name, content):
    path = put(home / name, content)
    before = tree(home)
    ran = install(world, cli, code=2)
    assert str(path) in ran.err
    assert tree(home) == before
    assert manage_rules.gates(world.store) == []


@pytest.mark.proves("AGT-44")
@pytest.mark.parametrize(
    ("cli", "name", "broken"),
    [("claude", ".claude/settings.json", "{"), ("codex", ".codex/config.toml", "a = \n")],
)
def test_settings_that_broke_since_are_left_alone(world, home, cli, name, broken):
    install(world, cli)
    path = put(home / name, broken)
    before = tree(home)
    ran = install(world, cli, verb="uninstall", code=2)
    assert str(path) in ran.err
    assert tree(home) == before


@pytest.mark.proves("AGT-45")
def test_modes_and_links_stay_and_the_backup_is_private(world, home):
    real = put(world.folder / "dotfiles" / "settings.json", SETTINGS)
    real.chmod(0o640)
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").symlink_to(real)
    install(world, "claude")
    assert (home / ".claude" / "settings.json").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert stat.S_IMODE((home / ".claude.json").stat().st_mode) == 0o600
    assert [path.name for path in real.parent.iterdir()] == ["settings.json"]
    backup = home / ".local" / "share" / "gatebell" / "installed"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o700
    assert stat.S_IMODE((backup / "claude-user.json").stat().st_mode) == 0o600
    uninstall(world, "claude")
    assert real.read_text() == SETTINGS
    assert not backup.exists()


@pytest.mark.proves("CLI-30", "CLI-5")
def test_uninstall_asks_before_it_removes(world, home, monkeypatch, capsys):
    install(world, "claude")
    before = tree(home)
    ran = world.ada.gate("uninstall", "claude", "--as", "ada")
    assert ran.code == 2 and "add --yes" in ran.err
    monkeypatch.setattr("os.environ", world.ada.environ)
    monkeypatch.setattr("gatebell.cli.setup.uninstall.can_prompt", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "")
    assert main(["uninstall", "claude", "--as", "ada"]) == 4 and tree(home) == before
    assert "--- " in capsys.readouterr().out
    monkeypatch.setattr("builtins.input", lambda _: "yes")
    assert main(["uninstall", "claude", "--as", "ada"]) == 0 and tree(home) != before


@pytest.mark.proves("AGT-46")
def test_agent_may_only_look(world, home):
    install(world, "claude")
    before = tree(home)
    for words in (
        ("install", "codex", "--yes"),
        ("install", "claude", "--yes", "--no-gate", OUTSIDE),
        ("uninstall", "claude"),
    ):
        ran = world.claude.gate(*words)
        assert ran.code == 7
        assert "only a person changes the gates" in ran.err
        assert world.claude.gate(*words, "--dry-run").code == 0 or words[0] == "uninstall"
    assert tree(home) == before


@pytest.mark.proves("AGT-48")
def test_persons_settings_are_kept(world, home):
    put(home / ".claude" / "settings.json", SETTINGS)
    ran = install(world, "claude")
    assert "already sets env.BASH_MAX_TIMEOUT_MS: it stays" in ran.out
    assert settings(home)["env"]["BASH_MAX_TIMEOUT_MS"] == "5"
    assert settings(home)["env"]["BASH_DEFAULT_TIMEOUT_MS"] == "600000"
    assert settings(home)["permissions"]["ask"][0] == "Bash(sudo *)"
    assert "caf\u00e9" in (home / ".claude" / "settings.json").read_text(encoding="utf-8")


@pytest.mark.proves("AGT-48")
@pytest.mark.parametrize(
    ("cli", "name", "content"),
    [
        ("claude", ".claude.json", '{"mcpServers": {"gatebell": {"command": "other"}}}'),
        ("codex", ".codex/config.toml", '[mcp_servers.gatebell]\ncommand = "other"\n'),
        ("codex", ".codex/config.toml", '[mcp_servers.gatebell]\nurl = "http://127.0.0.1/"\n'),
        ("codex", ".codex/config.toml", "[mcp_servers]\ngatebell = 1\n"),
    ],
)
def test_server_of_our_name_is_not_replaced(world, home, cli, name, content):
    put(home / name, content)
    before = tree(home)
    assert "gate did not write it" in install(world, cli, code=2).err
    assert tree(home) == before


@pytest.mark.proves("AGT-48")
def test_persons_own_store_is_mentioned(world):
    assert "GATE_STORE is set here" in install(world, "claude").out


@pytest.mark.proves("AGT-87")
def test_folder_that_belongs_on_the_path_is_named(world):
    ran = install(world, "claude", PATH="/usr/bin:/bin")
    assert f"put {os.path.dirname(sys.executable)} at the front of your PATH" in ran.out


@pytest.mark.proves("AGT-49", "AGT-54")
def test_claude_code_gets_its_entries(world, home):
    install(world, "claude")
    written = settings(home)
    rules = [f"Bash({one})" for triggers in TRIGGERS.values() for one in triggers]
    assert written["permissions"]["ask"] == rules
    assert "mcp__gatebell__ask_human" in written["permissions"]["allow"]
    assert "mcp__gatebell__approve" not in written["permissions"]["allow"]
    hooks = {event: groups[0] for event, groups in written["hooks"].items()}
    (request,) = hooks["PermissionRequest"]["hooks"]
    assert request["command"] == f"exec {GATE} hook claude --limit 86400"
    assert request["timeout"] == 86400
    assert hooks["PreToolUse"]["matcher"] == "Edit|Write|MultiEdit|NotebookEdit"
    assert hooks["PreToolUse"]["hooks"][0]["command"] == guard_hook(f"{GATE} hook claude")
    assert "--limit 60)" in guard_hook("x") and hooks["PreToolUse"]["hooks"][0]["timeout"] == 60
    for event in ("Stop", "UserPromptSubmit", "SessionEnd"):
        assert hooks[event]["hooks"][0]["command"] == f"exec {GATE} hook claude"
    seconds = float(written["env"]["GATE_AGENT_WAIT_SECONDS"])
    assert seconds * 1000 == 0.9 * float(written["env"]["BASH_MAX_TIMEOUT_MS"])
    server = json.loads((home / ".claude.json").read_text())["mcpServers"]["gatebell"]
    assert server == {"command": GATE, "args": ["mcp"], "alwaysLoad": True, "timeout": 86400000}
    told = (home / ".claude" / "CLAUDE.md").read_text()
    assert told.startswith("<!-- gatebell -->\n") and told.endswith("\n<!-- /gatebell -->\n")
    assert len(told.splitlines()) <= 18 and "`assume`" in told


@pytest.mark.proves("AGT-54")
def test_settings_are_where_the_cli_looks_for_them(world, home):
    moved = world.folder / "moved"
    for cli, variable, names in (
        ("claude", "CLAUDE_CONFIG_DIR", ("settings.json", ".claude.json", "CLAUDE.md")),
        ("codex", "CODEX_HOME", ("config.toml", "rules/gatebell.rules", "AGENTS.md")),
        ("opencode", "XDG_CONFIG_HOME", ("opencode/opencode.json", "opencode/AGENTS.md")),
    ):
        install(world, cli, **{variable: str(moved / cli)})
        assert all((moved / cli / name).is_file() for name in names)
        assert tree(home) == {}
        install(world, cli)
        uninstall(world, cli, **{variable: str(moved / cli)})
        assert tree(moved) == {}
        uninstall(world, cli)
    project = world.folder / "project"
    (project / ".git").mkdir()
    (project / "deep").mkdir()
    world.ada.folder = project / "deep"
    ran = install(world, "claude", "--project")
    assert f"These files name {GATE}" in ran.out
    assert (project / ".claude" / "settings.json").is_file()
    assert (project / ".mcp.json").is_file() and (project / "CLAUDE.md").is_file()
    assert tree(home) == {}
    assert {rule.project for rule in manage_rules.gates(world.store)} == {str(project)}
    install(world, "codex", "--project")
    assert (project / ".codex" / "rules" / "gatebell.rules").is_file()


@pytest.mark.proves("AGT-54", "AGT-42")
def test_every_project_is_on_its_own(world):
    first, second = world.folder / "project", world.folder / "second"
    second.mkdir()
    install(world, "gemini", "--project")
    world.ada.folder = second
    install(world, "gemini", "--project")
    uninstall(world, "gemini", "--project")
    assert tree(second) == {} and tree(first) != {}


NO_OBJECTS = [
    "{}{}", "{} {}", '{"a": 1}{"b": 2}', "{},{}", "{}\t", "{}\t{}", "{}\tok", "{} ok}", "{x}", "{{}}",
    '{"a"}', '{"a":}', '{"a" 1}', '{"a": 1,}', "{,}", '{"a": 1 2}', '{"a": b}', '{"a": 01}',
    '{"a": 1.}', '{"a": NaN}', '{"a": "b}', '{"a": "\\"}', '{"a": "\\x"}', '{"a": "\\u12"}',
    '{"a": [1,]}', '{"a": [}', '{"a": {}', '{"a": "\x01"}', '{"a": \'b\'}', "{'a': 1}", "{\\n}",
    '{"a": 1}}', '{{"a": 1}', "[]", "[{}]", '"{}"', "0", "", "{}\n", "\n{}", "{}\n{}", '{"a": 1}\r',
]  # fmt: skip
"""Claude Code drops each of these and runs the call."""
OBJECTS = [
    "{}", "{ }", '{"a": "{}{}"}', '{"a": "b\\"}{\\"", "c": "\\\\"}', '{"": [], "b": [[], {}, [1, "x"]]}',
    '{"a": -1.5e+3, "b": 0, "c": true, "d": false, "e": null}', '{"a": {"b": {"c": [{}]}}}',
    '{"a": "\\u00e9\\/\\b\\f\\n\\r\\t"}',
]  # fmt: skip


@pytest.mark.proves("AGT-50")
@pytest.mark.parametrize(
    ("hook", "code", "out"),
    [
        (r"""printf '%s\t\n' '{"a": "b\n c"}'""", 0, '{"a": "b\\n c"}\n'),
        (r"printf '{}\t\n'", 0, "{}\n"),
        (r"printf '{}\t'", 0, "{}\n"),
        (r"cat >/dev/null; printf '{}\t\n'", 0, "{}\n"),
        ("echo {}", 2, ""),
        ("echo {}; echo ok 2", 2, ""),
        (r"printf '{}\t\t\n'", 2, ""),
        (r"printf '{}\t{}\t\n'", 2, ""),
        (r"printf '{}\t{}\n'", 2, ""),
        (r"printf '{}\t\n{}\t\n'", 2, ""),
        (r"printf '{}\n\t\n'", 2, ""),
        (r"printf '{\t\n'", 2, ""),
        (r"printf '\t\n'", 2, ""),
        (":", 2, ""),
        ("""echo '{"a": {}'""", 2, ""),
        (r"printf '{}\t\n'; exit 1", 2, ""),
        (r"printf '{}\t\n'; exit 2", 2, ""),
        (r"printf '{}\t\n'; kill -9 $$", 2, ""),
        ("no-such-program", 2, ""),
    ],
)
def test_guard_lets_nothing_else_pass(tmp_path, hook, code, out):
    program = put(tmp_path / "hook", f"#!/bin/sh\n{hook}\n")
    program.chmod(0o755)
    ran = subprocess.run(
        ["/bin/sh", "-c", guard_hook(str(program))], input="{}", capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (code, out)
    assert ("is blocked: gate doctor says why" in ran.stderr) == (code == 2)


@pytest.mark.proves("HOOK-16")
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_guard_blocks_output_that_is_not_one_object(tmp_path, shell):
    for line in NO_OBJECTS:
        ran = run_guard(tmp_path, shell, line)
        assert (ran.returncode, ran.stdout) == (2, b""), line


@pytest.mark.proves("HOOK-16")
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_guard_passes_every_single_object(tmp_path, shell):
    objects = [*OBJECTS, json.dumps({"a": 'x\n"é\\' * 300_000, "b": [[{}, 1]] * 10_000})]
    for line in objects:
        ran = run_guard(tmp_path, shell, line)
        assert (ran.returncode, ran.stdout.decode()) == (0, f"{line}\n"), line[:80]


@pytest.mark.proves("HOOK-16")
def test_guard_without_sed_blocks(tmp_path):
    ran = run_guard(tmp_path, "/bin/sh", "{}", PATH="/nowhere")
    assert (ran.returncode, ran.stdout) == (2, b"")


def run_guard(folder, shell, line, **environ):
    """Return the guard around a program that prints the line and the tab that ends it."""
    (folder / "said").write_bytes(line.encode() + b"\t\n")
    command = guard_hook(f"/bin/cat {folder}/said; :")
    return subprocess.run(
        [shell, "-c", command], capture_output=True, check=False, env=os.environ | environ
    )


@pytest.mark.proves("AGT-51")
def test_codex_gets_its_entries(world, home):
    put(home / ".codex" / "config.toml", 'model = "x"\n')
    ran = install(world, "codex", "--gate", "Bash(make release *)", "--gate", "Write")
    document = tomllib.loads((home / ".codex" / "config.toml").read_text())
    assert document["model"] == "x"
    server = document["mcp_servers"]["gatebell"]
    assert (server["command"], server["args"], server["required"]) == (GATE, ["mcp"], True)
    assert server["env_vars"][0] == "GATE_STORE"
    (request,) = document["hooks"]["PermissionRequest"][0]["hooks"]
    assert request["command"] == f"exec {GATE} hook codex --limit 86400"
    assert request["timeout"] == 86400
    assert set(document["hooks"]) == {
        "PermissionRequest", "Stop", "UserPromptSubmit", "SessionEnd", "PostToolUse",
    }  # fmt: skip
    assert 'choose "Trust"' in ran.out and "trusted_hash" not in ran.out
    rules = (home / ".codex" / "rules" / "gatebell.rules").read_text()
    assert 'pattern = ["git", "push"], decision = "prompt"' in rules
    assert 'pattern = ["make", "release"], decision = "prompt"' in rules
    (unsaid,) = [line for line in ran.out.splitlines() if "rules cannot express" in line]
    assert unsaid.endswith(f"{OUTSIDE}, Write") and "Bash(any" not in unsaid


@pytest.mark.proves("AGT-51")
@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("Bash(git push:*)", ["git", "push"]),
        ("Bash(git push *)", ["git", "push"]),
        ("Bash(git push)", ["git", "push"]),
        ("Bash(a 'b c':*)", ["a", "b c"]),
        ("Bash(a 'b)", None),
        ("Bash(rm -x*)", None),
        ("Bash(git * push*)", None),
        ("Bash", None),
        ("Write(x)", None),
    ],
)
def test_which_patterns_are_prefixes(pattern, words):
    assert list_prefixes(pattern) == ([words] if words else [])


@pytest.mark.proves("AGT-52", "AGT-43")
def test_lines_codex_writes_between_ours_survive(world, home):
    path = put(home / ".codex" / "config.toml", 'model = "x"\n')
    install(world, "codex")
    state = '\n[hooks.state."a:stop:0:0"]\ntrusted_hash = "sha256:1"\n'
    text = path.read_text()
    # A comment alone at the end would move behind the lines that codex adds.
    assert text.endswith("timeout = 3  # gatebell: end\n")
    stop = text.index("\n[[hooks.UserPromptSubmit]]")
    put(path, text[:stop] + state + text[stop:])
    assert "nothing was changed" in install(world, "codex").out
    put(
        path,
        text[:stop] + state + text[stop:].replace("timeout = 30", "timeout = 31") + "\n[tui]\n",
    )
    install(world, "codex", "--gate", "Bash(x)")
    assert tomllib.loads(path.read_text())["hooks"]["state"]["a:stop:0:0"]
    ran = install(world, "codex")
    assert "nothing was changed" in ran.out
    put(path, path.read_text() + "a = 1\n")
    uninstall(world, "codex")
    left = tomllib.loads(path.read_text())
    assert left.pop("hooks") == {"state": {"a:stop:0:0": {"trusted_hash": "sha256:1"}}}
    assert left == {"model": "x", "tui": {"a": 1}}


@pytest.mark.proves("AGT-85", "AGT-52")
def test_tables_below_our_server_are_removed_too(world, home):
    path = put(home / ".codex" / "config.toml", 'model = "x"\n')
    install(world, "codex")
    tool = '\n[mcp_servers.gatebell.tools.signal]\napproval_mode = "approve"\n'
    put(path, path.read_text() + tool + "\n[tui]\na = 1\n")
    assert "nothing was changed" in install(world, "codex").out
    install(world, "codex", "--gate", "Bash(x)")
    assert tool in path.read_text()
    uninstall(world, "codex")
    assert path.read_text() == 'model = "x"\n\n[tui]\na = 1\n'


@pytest.mark.proves("AGT-53")
def test_gemini_and_opencode_get_their_entries(world, home):
    install(world, "gemini")
    install(world, "opencode")
    gemini = json.loads((home / ".gemini" / "settings.json").read_text())
    assert gemini["mcpServers"]["gatebell"] == {
        "command": GATE, "args": ["mcp"], "trust": True, "timeout": 86400000,
    }  # fmt: skip
    assert "ask_human" in (home / ".gemini" / "GEMINI.md").read_text()
    folder = home / ".config" / "opencode"
    server = json.loads((folder / "opencode.json").read_text())["mcp"]["gatebell"]
    assert (server["type"], server["command"], server["enabled"]) == ("local", [GATE, "mcp"], True)
    assert "ask_human" in (folder / "AGENTS.md").read_text()


@pytest.mark.proves("AGT-53")
def test_two_clis_share_one_file_of_instructions(world):
    project = world.folder / "project"
    path = put(project / "AGENTS.md", "Mine.\n")
    install(world, "codex", "--project")
    install(world, "opencode", "--project")
    assert path.read_text().count("<!-- gatebell -->") == 1
    uninstall(world, "opencode", "--project")
    uninstall(world, "codex", "--project")
    assert path.read_text() == "Mine.\n"


def complaints(world, home):
    environ = world.ada.environ | {"HOME": str(home)}
    return [what for ok, what in check_hosts(environ, str(world.folder / "project")) if ok is False]


@pytest.mark.proves("AGT-55")
def test_doctor_finds_faults_in_claudes_setup(world, home):
    assert list(check_hosts(world.ada.environ, "/")) == []
    install(world, "claude")
    assert complaints(world, home) == []
    said = [what for _, what in check_hosts(world.ada.environ, "/")]
    assert any("left open by the host: a PreToolUse hook" in what for what in said)
    whole = settings(home)
    for change, sentence in (
        ({"permissions": {"ask": []}}, "of our entries (permissions.ask Bash(*push*)"),
        ({"disableAllHooks": True}, "sets disableAllHooks"),
        (
            {"permissions": whole["permissions"] | {"defaultMode": "dontAsk"}},
            "denied without a question",
        ),
    ):
        put(home / ".claude" / "settings.json", json.dumps(whole | change))
        assert sentence in " ".join(complaints(world, home))
    whole["hooks"]["PermissionRequest"][0]["hooks"][0]["timeout"] = 600
    put(home / ".claude" / "settings.json", json.dumps(whole))
    assert "the PermissionRequest hook has 600 s, but --limit says 86400" in " ".join(
        complaints(world, home)
    )
    whole["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = f"{GATE} hook claude --guarded"
    put(home / ".claude" / "settings.json", json.dumps(whole))
    assert "the PreToolUse hook lacks the guard" in " ".join(complaints(world, home))
    put(home / ".claude" / "settings.json", "{")
    assert "is not plain JSON" in complaints(world, home)[0]


@pytest.mark.proves("AGT-55")
def test_doctor_sees_a_program_that_is_gone_or_broken(world, home):
    install(world, "gemini")
    record = home / ".local" / "share" / "gatebell" / "installed" / "gemini-user.json"
    text = record.read_text()
    put(record, text.replace(GATE, "/nowhere/gate"))
    assert "/nowhere/gate cannot be started" in complaints(world, home)[0]
    put(record, text.replace(GATE, "/bin/false"))
    assert "/bin/false ends with exit code 1" in complaints(world, home)[0]
    put(record, "{}")
    assert "is damaged" in complaints(world, home)[0]


@pytest.mark.proves("AGT-55", "AGT-51")
def test_doctor_finds_hooks_that_codex_does_not_trust(world, home):
    install(world, "codex")
    path = home / ".codex" / "config.toml"
    (said,) = complaints(world, home)
    assert "PermissionRequest, PostToolUse, Stop, UserPromptSubmit, SessionEnd" in said
    events = ("permission_request", "stop", "user_prompt_submit", "session_end", "post_tool_use")
    trust = "".join(
        f'\n[hooks.state."{path}:{event}:0:0"]\ntrusted_hash = "sha256:1"\n' for event in events
    )
    put(path, path.read_text() + trust)
    assert complaints(world, home) == []
    put(path, 'approval_policy = "never"\n' + path.read_text() + "\n[features]\nhooks = false\n")
    assert [sentence[:6] for sentence in complaints(world, home)] == ["codex:"] * 2


# A host in twenty lines: it asks its hook about the calls of its rules, and obeys.
HOST = f"""#!{sys.executable}
import json, os, subprocess, sys, urllib.request
settings = json.load(open(os.path.expanduser("~/.claude/settings.json")))
command = json.loads(sys.argv[-1].partition("script<<")[2].partition(">>script")[0])
command = command[0]["calls"][0]["input"]["command"]
assert f"Bash({{command}})" in settings["permissions"]["ask"]
event = {{"hook_event_name": "PermissionRequest", "session_id": "s", "cwd": os.getcwd(),
         "tool_name": "Bash", "tool_input": {{"command": command}}}}
allowed = os.environ.get("PATH").startswith("/careless")
for group in settings["hooks"].get("PermissionRequest", []):
    ran = subprocess.run(group["hooks"][0]["command"], shell=True, input=json.dumps(event),
                         capture_output=True, text=True, env=os.environ | {{"CLAUDECODE": "1"}})
    decision = json.loads(ran.stdout)["hookSpecificOutput"]["decision"]
    allowed = allowed or decision["behavior"] == "allow"
if allowed:
    subprocess.run(command, shell=True)
"""


@pytest.mark.proves("AGT-56")
def test_rehearsal_tells_whether_the_gate_holds(world, home):
    install(world, "claude")
    (installed,) = installations(world.ada.environ, "/")
    environ = world.ada.environ | {"PATH": f"{world.folder}:{os.environ['PATH']}"}
    nowhere = dict(environ, PATH="/nowhere")
    assert list(rehearse(installed, nowhere, ScriptedPerson)) == [
        (False, "claude: is not on the PATH, so the gate could not be tried")
    ]
    put(world.folder / "claude", HOST).chmod(0o755)
    assert list(rehearse(installed, environ, ScriptedPerson)) == [
        (True, "claude: in a real try the answer was no and the tool did not run"),
        (True, "claude: in a real try the answer was yes and the tool ran"),
    ]
    careless = dict(environ, PATH=f"/careless:{environ['PATH']}")
    assert [ok for ok, _ in rehearse(installed, careless, ScriptedPerson)] == [False, True]
    put(home / ".claude" / "settings.json", "{}")
    again = "gate install claude writes its rules and hooks again; then restart claude"
    assert set(rehearse(installed, environ, ScriptedPerson)) == {
        (False, f"claude: in a real try no person was asked and the tool did not run: {again}")
    }
    assert world.store.asks.pending(1) == []


SILENT_HOST = """#!/bin/sh
if [ "$1" = --version ]; then echo "{version} (Claude Code)"; exit; fi
{then}
"""


@pytest.mark.proves("FLT-20", "LAW-10")
@pytest.mark.parametrize(
    ("version", "then", "ok", "told"),
    [
        ("2.1.197", "", None, "--permission-prompt-tool mcp__gatebell__approve"),
        ("2.0.300", "", None, "version 2.0.300 asks no hook in -p"),
        ("2.1.197", "touch gatebell-rehearsal", False, "and the tool ran: gate install claude"),
        ("2.1.325", "", False, "and the tool did not run: gate install claude"),
        ("unknown", "", False, "and the tool did not run: gate install claude"),
    ],
)
def test_host_that_asks_no_hook_is_not_a_fault(world, home, version, then, ok, told):
    install(world, "claude")
    (installed,) = installations(world.ada.environ, "/")
    environ = world.ada.environ | {"PATH": f"{world.folder}:{os.environ['PATH']}"}
    put(world.folder / "claude", SILENT_HOST.format(version=version, then=then)).chmod(0o755)
    found = list(rehearse(installed, environ, ScriptedPerson))
    assert {one for one, _ in found} == {ok}
    assert all(told in sentence for _, sentence in found)
    if ok is None:
        assert len(found) == 1
        ran = world.ada.gate("doctor", PATH=environ["PATH"])
        assert ran.code == 0 and told in ran.out


@pytest.mark.proves("AGT-9")
def test_denial_reaches_the_hosts_and_outlives_every_install(world, home):
    world.plain.gate("gates", "deny", "Bash(rm -rf *)")
    install(world, "claude")
    install(world, "codex")
    assert settings(home)["permissions"]["deny"] == ["Bash(rm -rf *)"]
    rules = (home / ".codex" / "rules" / "gatebell.rules").read_text(encoding="utf-8")
    assert '["rm", "-rf"], decision = "forbidden"' in rules
    for cli in ("claude", "codex"):
        assert world.ada.gate("uninstall", cli, "--yes", "--as", "ada").code == 0
    assert "deny  Bash(rm -rf *)" in world.plain.gate("gates").out


@pytest.mark.proves("AGT-57")
def test_persons_own_gates_are_kept_beside_the_defaults(world, home):
    own = "Bash(make release *)"
    world.plain.gate("gates", "add", own)
    install(world, "claude")
    asked = settings(home)["permissions"]["ask"]
    assert own in asked and "Bash(*push*)" in asked
    install(world, "codex")
    assert world.ada.gate("uninstall", "claude", "--yes", "--as", "ada").code == 0
    assert len(manage_rules.gates(world.store)) == len(DEFAULT_GATES) + 1, "codex still holds them"
    assert world.ada.gate("uninstall", "codex", "--yes", "--as", "ada").code == 0
    assert [rule.pattern for rule in manage_rules.gates(world.store)] == [own]


@pytest.mark.proves("AGT-55", "AGT-57")
def test_doctor_sees_rules_that_a_host_does_not_know(world, home):
    install(world, "claude")
    world.plain.gate("gates", "add", "Bash(foo *)")
    world.plain.gate("gates", "remove", "Bash(any deploy)")
    said = [what for _, what in untold(str(world.plain.folder), world, home)]
    assert said == [
        "claude: lacks the gate Bash(foo *); run: gate install claude",
        "claude: still has the gate Bash(any deploy); run: gate install claude",
    ]


@pytest.mark.proves("HOOK-57")
def test_rule_that_a_host_lacks_is_named(world, home):
    def judge():
        return world.ada.gate("gates", "test", "foo x").out.splitlines()

    install(world, "claude")
    world.plain.gate("gates", "add", "Bash(foo *)")
    assert judge()[1:] == ["Claude Code does not have this rule yet; run: gate install claude"]
    install(world, "claude")
    assert judge()[1:] == []


def untold(folder, world, home):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (world.ada.environ | {"HOME": str(home)}).items():
            patch.setenv(name, value)
        return list(doctor._find_outdated_rules(folder))


@pytest.mark.proves("FLT-18")
def test_codex_note_says_that_it_needs_gate(world, home):
    ran = world.ada.gate("install", "codex", "--dry-run")
    note = "Codex does not start without gate: run gate uninstall codex before you remove it."
    assert note in ran.out + ran.err
    docs = (Path(__file__).parents[2] / "docs" / "install.md").read_text(encoding="utf-8")
    assert "Codex does not start when `gate` is gone" in docs


@pytest.mark.proves("HOOK-54")
def test_gates_of_older_versions_are_replaced():
    older = ["Bash(git push:*)", "Bash(rm -*)", "Bash(my own *)", OUTSIDE]
    assert choose(older, [], []) == (
        "Bash(any push)", "Bash(any recursive delete)", OUTSIDE, "Bash(my own *)"
    )  # fmt: skip
    assert choose(["Bash(my own *)"], [], []) == (
        *(gate.pattern for gate in DEFAULT_GATES), "Bash(my own *)"
    )  # fmt: skip


@pytest.mark.proves("HOOK-54", "AGT-42")
def test_older_rules_leave_the_settings_of_claude(world, home):
    (home / ".claude").mkdir(exist_ok=True)
    path = home / ".claude" / "settings.json"
    before = '{"model": "opus"}'
    path.write_text(before)
    old = ("Bash(git push:*)", "Bash(rm -*)")
    everything = [word for gate in DEFAULT_GATES for word in ("--no-gate", gate.pattern)]
    install(world, "claude", *everything, *(word for one in old for word in ("--gate", one)))
    assert settings(home)["permissions"]["ask"] == list(old)
    install(world, "claude")
    asked = settings(home)["permissions"]["ask"]
    assert "Bash(*push*)" in asked and "Bash(*deploy*)" not in asked
    assert not set(old) & set(asked)
    assert world.ada.gate("uninstall", "claude", "--yes").code == 0
    assert path.read_text() == before
