"""`gate gates test`, and the hook that lets harmless commands pass."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.support.people import a_person

from gatebell.domain.permissions.acts import GATED_ACTS
from gatebell.services.permissions import manage_rules


@pytest.fixture
def gates(world):
    manage_rules.set_gates(world.store, a_person(verified=True), "", list(GATED_ACTS))
    return world


@pytest.mark.proves("HOOK-53")
@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("sudo -u me git push", 11, "asked by Bash(any push): `git push` is a push"),
        ("npx wrangler deploy", 11, "asked by Bash(any deploy): `wrangler deploy` is a deploy"),
        ("make release", 11, "asked by Bash(any publish): it runs something that names 'release'"),
        ("git commit -m 'push it'", 0, "passes: its text matches *push*, but no command in it"),
        ("ls", 0, "passes: its text matches no gate, so the host does not ask about it"),
    ],
)
def test_line_is_shown_with_its_reason(gates, line, code, words):
    ran = gates.plain.gate("gates", "test", line)
    assert ran.code == code and words in ran.out and ran.err == ""


@pytest.mark.proves("HOOK-57")
@pytest.mark.parametrize(
    ("line", "claude", "codex"),
    [
        ("git push", "asked", "asked"),
        ("git -C . push", "asked", "passes"),
        ("python3 - <<'EOF'\nos.system('git push')\nEOF", "passes", "passes"),
    ],
)
def test_host_that_does_not_notice_a_line_is_named(gates, line, claude, codex):
    asked = json.loads(gates.plain.gate("gates", "test", line, "--json").out)
    assert asked["outcome"] == "asked" and asked["hosts"] == {"claude": claude, "codex": codex}
    out = gates.plain.gate("gates", "test", line).out
    assert ("Claude Code does not notice it" in out) == (claude == "passes")
    assert ("Codex does not notice it" in out) == (codex == "passes")


@pytest.mark.proves("CLI-37")
def test_command_without_its_tool_is_noticed_in_a_gate(gates):
    ran = gates.ada.gate("gates", "add", "terraform")
    assert ran.code == 0 and "For a command, add 'Bash(terraform *)'" in ran.err
    for pattern in ("WebSearch", "mcp__db__query", "Bash(terraform *)"):
        assert gates.ada.gate("gates", "add", pattern).err == ""


@pytest.mark.proves("HOOK-58")
def test_history_is_counted_by_cause(world, tmp_path):
    shell = tmp_path / "history"
    shell.write_text(
        "#1700000000\ngit status\n: 1700000000:0;git push\nrm -rf a\nrm -rf a\nls push\n"
    )
    told = world.plain.gate("gates", "test", "--history", str(shell)).out
    assert told == (
        "5 commands: 4 match a wide rule, and of those 3 are asked about.\n"
        "    2  recursive delete: rm -rf a\n    1  push: git push\n"
    )
    log = tmp_path / "session.jsonl"
    calls = [
        {"name": "Bash", "input": {"command": "cd a &&\ngit push"}},
        {"name": "Read", "input": {}},
    ]
    log.write_text(f"not JSON\n{json.dumps({'message': {'content': calls}})}\n[]\n")
    counted = json.loads(world.plain.gate("gates", "test", "--history", str(log), "--json").out)
    assert counted == {"commands": 1, "noticed": 1, "asked": 1, "causes": {"push": 1}}


@pytest.mark.proves("HOOK-58")
def test_history_hides_secrets_and_names_a_missing_file(world, tmp_path):
    shell = tmp_path / "history"
    shell.write_text("twine upload -p hunter2hunter2 dist/a --password=hunter2hunter2\n")
    told = world.plain.gate("gates", "test", "--history", str(shell)).out
    assert "publish: twine upload -p" in told and "hunter2" not in told
    missing = world.plain.gate("gates", "test", "--history", str(tmp_path / "none"))
    assert missing.code == 2 and "name a file of commands" in missing.err
    mixed = world.plain.gate("gates", "add", "--history", str(shell))
    assert mixed.code == 2 and "gate gates test --history FILE" in mixed.err


@pytest.mark.proves("HOOK-53")
def test_own_rules_are_shown_too(gates):
    gates.ada.gate("gates", "add", "Bash(ls secret*)")
    gates.ada.gate("gates", "deny", "Bash(curl *)")
    asked = json.loads(gates.plain.gate("gates", "test", "ls secrets", "--json").out)
    assert asked == {
        "command": "ls secrets",
        "outcome": "asked",
        "rule": "Bash(ls secret*)",
        "why": "its text matches this pattern",
        "hosts": {},
    }
    denied = gates.plain.gate("gates", "test", "curl x && git push")
    assert denied.code == 10 and "denied by Bash(curl *)" in denied.out
    assert gates.plain.gate("gates", "test").code == 2


@pytest.mark.proves("HOOK-53")
def test_missing_default_gate_is_named(world):
    ran = world.plain.gate("gates", "test", "git push")
    assert ran.code == 0 and "is not in force: gate install claude adds it" in ran.out


def run_hook(world, command, **more):
    """Return the decision of the real hook about a command, and the modules that it loaded."""
    event = {
        "hook_event_name": "PermissionRequest", "tool_name": "Bash", "session_id": "s1",
        "tool_input": {"command": command}, "cwd": str(world.plain.folder), **more,
    }  # fmt: skip
    code = (
        "import sys; from gatebell.cli.main import main; main(['hook', 'claude', '--limit', '60']);"
        "print(*sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env=world.plain.environ, cwd=world.plain.folder,
        input=json.dumps(event), capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    return json.loads(ran.stdout), set(ran.stderr.split())


@pytest.mark.proves("HOOK-51", "AGT-29")
def test_harmless_command_passes_without_an_ask(gates):
    said, modules = run_hook(gates, "git commit -m 'push'", permission_mode="bypassPermissions")
    assert said["hookSpecificOutput"]["decision"] == {"behavior": "allow"}
    assert gates.store.asks.pending(9) == [] and "tree_sitter" in modules


@pytest.mark.proves("AGT-29")
def test_unmatched_command_loads_no_parser(gates):
    gates.ada.gate("gates", "deny", "Bash(touch *)")
    said, modules = run_hook(gates, "touch x", permission_mode="bypassPermissions")
    assert said["hookSpecificOutput"]["decision"]["behavior"] == "deny"
    slow = {"tree_sitter", "gatebell.domain.permissions.judgement", "gatebell.hooks.host_rules"}
    assert slow & modules == set()
