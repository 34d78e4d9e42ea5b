"""`gate install` on an agent's machine that has only a server."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from tests.support.people import a_person
from tests.support.server_world import server_world
from tests.support.shells import Shell

from gatebell.app.wiring import open_store
from gatebell.domain.enums import RuleKind
from gatebell.services.people import manage_people
from gatebell.services.permissions import manage_rules

__all__ = ["server_world"]
GATE = "Bash(make release*)"


@pytest.fixture
def laptop(server_world, tmp_path):
    """A shell of an agent's machine, with a token that may only ask."""
    environ = server_world.base | {"GATE_TOKEN": server_world.tokens["agent"]}
    return Shell(tmp_path, environ | {"HOME": str(tmp_path)}, "")


def read_rules(laptop):
    settings = laptop.folder / ".claude" / "settings.json"
    return json.loads(settings.read_text())["permissions"]["ask"]


@pytest.mark.proves("REMOTE-41")
def test_hooks_are_installed_without_a_store(server_world, laptop):
    before = [rule.pattern for rule in manage_rules.gates(server_world.store)]
    ada = {"GATE_TOKEN": server_world.tokens["ada"]}
    ran = laptop.gate("install", "claude", "--yes", "--gate", GATE, "--as", "ada", **ada)
    assert ran.code == 0 and f"People at {server_world.web.url} decide" in ran.out, ran
    assert GATE in read_rules(laptop) and "Bash(*push*)" in read_rules(laptop)
    assert [rule.pattern for rule in manage_rules.gates(server_world.store)] == before
    assert not list(laptop.folder.rglob("gate.db"))
    assert laptop.gate("uninstall", "claude", "--yes", "--as", "ada", **ada).code == 0
    assert not (laptop.folder / ".claude").exists()


@pytest.mark.proves("REMOTE-41")
def test_token_that_may_read_brings_the_servers_gates(server_world, laptop):
    made = manage_rules.add(server_world.store, a_person("ada"), RuleKind.ASK, "", "Bash(fly *)")
    ada = {"GATE_TOKEN": server_world.tokens["ada"]}
    assert laptop.gate("install", "claude", "--yes", "--as", "ada", **ada).code == 0
    assert "Bash(fly *)" in read_rules(laptop)
    manage_rules.end_gate(server_world.store, a_person("ada"), made.id)


@pytest.mark.proves("REMOTE-41", "LAW-3")
def test_agent_with_its_own_token_changes_no_hooks(server_world, laptop, tmp_path):
    ada = {"GATE_TOKEN": server_world.tokens["ada"]}
    assert laptop.gate("install", "claude", "--yes", "--as", "ada", **ada).code == 0
    rules, agent = read_rules(laptop), {"CLAUDECODE": "1"}
    for words in (
        ["uninstall", "claude"],
        ["install", "claude", "--yes", "--no-gate", "Bash(rm -*)"],
    ):
        # The token of the agent's machine belongs to ci, so the name is no lie.
        for named in ([], ["--as", "ci"], ["--as", "ada"]):
            ran = laptop.gate(*words, *named, **agent)
            assert ran.code == 7, (words, named, ran)
    assert "only a person changes the gates" in laptop.gate(*words, "--as", "ci", **agent).err
    path = str(tmp_path / "own" / "gate.db")
    with closing(open_store(path)) as store:
        token = manage_people.add(store, a_person("root"), "eve")
    own = {"GATE_SERVER": "", "GATE_STORE": path, "GATE_TOKEN": token}
    ran = laptop.gate("uninstall", "claude", "--as", "eve", **own, **agent)
    assert ran.code == 7 and "another store or server does not count" in ran.err
    assert read_rules(laptop) == rules


@pytest.mark.proves("REMOTE-66")
def test_doctor_checks_hooks_without_a_store(server_world, laptop):
    ada = {"GATE_TOKEN": server_world.tokens["ada"]}
    assert laptop.gate("install", "claude", "--yes", "--gate", GATE, "--as", "ada", **ada).code == 0
    # A host that asks no hook: whether it is tried is what matters here.
    program = laptop.folder / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = {"PATH": f"{program.parent}:{laptop.environ['PATH']}"}
    ran = laptop.gate("doctor", **path)
    settings = laptop.folder / ".claude" / "settings.json"
    assert f"ok   claude: {settings} is complete" in ran.out, ran
    assert "claude: in a real try no person was asked" in ran.out
    assert "could not be compared with the agents' rules: this needs the scope read" in ran.out
    settings.write_text(settings.read_text().replace(GATE, "Bash(make *)"))
    made = manage_rules.add(server_world.store, a_person("ada"), RuleKind.ASK, "", "Bash(fly *)")
    hers = laptop.gate("doctor", **path, **ada)
    assert f"lacks 1 of our entries (permissions.ask {GATE}" in hers.out, hers
    assert "!!   claude: lacks the gate Bash(fly *); run: gate install claude" in hers.out
    assert "still has" not in hers.out and not list(laptop.folder.rglob("gate.db"))
    manage_rules.end_gate(server_world.store, a_person("ada"), made.id)
