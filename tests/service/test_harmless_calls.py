"""Harmless calls that a wide default gate holds: when they pass at once."""

from __future__ import annotations

import json

import pytest
from tests.support.held_calls import hold
from tests.support.people import a_person, an_agent

from gatebell.adapters.shell.bash_parser import parse
from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.acts import GATED_ACTS
from gatebell.hooks.host_rules import runs_ungated
from gatebell.services import freezes
from gatebell.services.permissions import manage_rules, permit_call
from gatebell.services.permissions.judge_line import judge_line
from gatebell.services.permissions.permit_call import Permission
from gatebell.testing import MemoryStore

ADA = a_person(verified=True)
COMMIT = "git commit -m 'push it'"


@pytest.fixture
def store():
    made = MemoryStore()
    manage_rules.set_gates(made, ADA, "", list(GATED_ACTS))
    return made


def decide(store, command=COMMIT, *, harmless=True, runs=True):
    held = hold(command)._replace(is_harmless=harmless, runs_ungated=runs)
    return permit_call.by_rule_of(store, held)


@pytest.mark.proves("HOOK-51")
def test_only_proven_call_passes_where_it_would_run(store):
    assert decide(store) == Permission(allow=True)
    assert decide(store, harmless=False) is None
    assert decide(store, runs=False) is None
    assert store.asks.pending(10) == []


@pytest.mark.proves("HOOK-51", "AGT-9")
def test_own_gate_and_denial_still_count(store):
    manage_rules.add(store, ADA, RuleKind.ASK, "", "Bash(git commit *)")
    assert decide(store) is None
    manage_rules.add(store, ADA, RuleKind.DENY, "", "Bash(git commit *)")
    assert decide(store).allow is False


@pytest.mark.proves("HOOK-51", "FREEZE-3")
def test_harmless_call_waits_while_everything_is_frozen(store):
    freezes.begin(store, ADA, "stop")
    held = hold(COMMIT, reasons=["gone"])._replace(is_harmless=True, runs_ungated=True)
    assert permit_call.decide(store, held, an_agent()).allow is None


@pytest.mark.proves("HOOK-50", "HOOK-17")
def test_proven_call_is_not_gated(store):
    held = hold(COMMIT)
    assert permit_call.is_gated(store, held.call, held.origin)
    assert not permit_call.is_gated(store, held.call, held.origin, is_harmless=True)
    manage_rules.add(store, ADA, RuleKind.ASK, "", "Bash(git commit *)")
    assert permit_call.is_gated(store, held.call, held.origin, is_harmless=True)


@pytest.fixture
def settings(tmp_path):
    """Write settings of the user or of the project, and return whether a line runs ungated."""
    home, project = tmp_path / "home", tmp_path / "project" / ".claude"
    home.mkdir()
    project.mkdir(parents=True)

    def write(where, settings):
        path = {"user": home / "settings.json", "project": project / "settings.local.json"}[where]
        path.write_text(settings if isinstance(settings, str) else json.dumps(settings))

    def runs(mode, line=COMMIT):
        environ = {"CLAUDE_CONFIG_DIR": str(home)}
        return runs_ungated(environ, str(project.parent), mode, judge_line(line, parse))

    return write, runs


@pytest.mark.proves("HOOK-51")
def test_mode_of_the_host_decides_about_harmless_calls(settings):
    write, runs = settings
    write("user", {"permissions": {"ask": ["Bash(*push*)"]}})
    modes = ("bypassPermissions", "default", "acceptEdits", "auto", "plan")
    assert [runs(mode) for mode in modes] == [True, False, False, False, False]
    assert all(runs(mode, "grep -r push src") for mode in modes)


@pytest.mark.proves("HOOK-51")
@pytest.mark.parametrize(
    ("allowed", "line", "runs_it"),
    [
        ("Bash", COMMIT, True),
        ("Bash(git commit:*)", COMMIT, True),
        ("Bash(git commit:*)", f"{COMMIT} && touch push", False),
        ("Bash(git log *)", COMMIT, False),
        ("Write", COMMIT, False),
    ],
)
def test_allowed_commands_of_the_host_pass(settings, allowed, line, runs_it):
    write, runs = settings
    write("project", {"permissions": {"allow": [allowed]}})
    assert runs("default", line) is runs_it and not runs("auto", line)


@pytest.mark.proves("HOOK-51")
@pytest.mark.parametrize(
    "line",
    [
        f"{COMMIT} > ~/.profile",
        f"PATH=./bin; {COMMIT}",
        f"export PATH=./bin; {COMMIT}",
        "> push",
        "PUSH=1",
    ],
)
def test_rule_for_a_command_covers_only_commands(settings, line):
    write, runs = settings
    write("user", {"permissions": {"allow": ["Bash(git commit:*)"]}})
    assert runs("default", COMMIT) and not runs("default", line)
    write("user", {"permissions": {"allow": ["Bash"]}})
    assert runs("default", line)


@pytest.mark.proves("HOOK-55")
def test_link_that_leads_out_is_not_read_unasked(settings, tmp_path):
    _, runs = settings
    project = tmp_path / "project"
    (tmp_path / "secret").write_text("x")
    (project / "push").write_text("x")
    assert runs("default", "cat push") and runs("default", "cat pus*")
    (project / "inner").symlink_to("push")
    assert runs("default", "cat inner pus*")
    (project / "out").symlink_to(tmp_path)
    for line in ("cat out/secret push", "grep -r push out", "cat ou*/secret push", "cat o*t push"):
        assert not runs("default", line), line


@pytest.mark.proves("HOOK-55")
def test_folder_outside_of_the_project_is_not_read_unasked(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    environ, verdict = {"CLAUDE_CONFIG_DIR": str(tmp_path / "none")}, judge_line("cat push", parse)
    assert runs_ungated(environ, str(project), "default", verdict, str(project))
    assert not runs_ungated(environ, str(project), "default", verdict, str(tmp_path))
    assert not runs_ungated(environ, "", "default", verdict, str(tmp_path))


@pytest.mark.proves("HOOK-51")
@pytest.mark.parametrize(
    "others",
    [
        {"permissions": {"ask": ["Bash(git commit:*)"]}},
        {"permissions": {"ask": ["Bash"]}},
        {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"command": "/x/check"}]}]}},
        "{",
        "[]",
    ],
)
def test_rule_or_hook_of_others_still_asks(settings, others):
    write, runs = settings
    assert runs("bypassPermissions")
    write("project", others)
    assert not runs("bypassPermissions")


@pytest.mark.proves("HOOK-51")
def test_own_hook_and_odd_settings_change_nothing(settings):
    write, runs = settings
    ours = {"hooks": [{"type": "command", "command": "t=1; '/x/gate' hook claude --guarded"}]}
    write("user", {"hooks": {"PreToolUse": [ours]}, "permissions": {"ask": 7, "allow": [7]}})
    write("project", {"permissions": 7, "hooks": 7})
    assert runs("bypassPermissions") and not runs("default")
