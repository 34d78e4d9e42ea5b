"""Gates of gemini, opencode and copilot, with the real programs: `make hosts`."""

from __future__ import annotations

import pytest
from tests.support.host_house import GATED

# Each says yes as far as it says anything: the whole part of it must not count.
FAULTS = {
    "killed": "kill -9 $$",
    "exit 1": "exit 1",
    "empty": "cat >/dev/null",
    "torn JSON": """cat >/dev/null; printf '{"decision": "allow", "permissionDecision": "allow\\t\\n'""",
    "two JSON": """cat >/dev/null; printf '{"decision": "allow"}{"decision": "allow"}\\t\\n'""",
}


def gated(house):
    return (house.project / "gated").exists()


@pytest.mark.proves("OTHER-1")
@pytest.mark.parametrize("answer", ["no", "yes"])
def test_persons_answer_decides_about_a_command(house, answer):
    house.install()
    house.run_shell(GATED)
    ask = house.wait_for_ask()
    assert ask.question.call.command == GATED
    assert ask.origin.session.startswith(f"{house.cli}/")
    house.ada.gate("answer", ask.id, answer, "--note", "open a PR", "--as", "ada")
    out = house.finish()
    assert gated(house) == (answer == "yes"), out
    if answer == "no":
        assert "open a PR" in "".join(house.model.results)


@pytest.mark.proves("OTHER-1")
def test_other_commands_run_without_a_question(house):
    house.install()
    house.run_shell("touch free")
    out = house.finish()
    assert (house.project / "free").exists(), out
    assert house.store.asks.pending(9) == []


@pytest.mark.proves("OTHER-1")
def test_write_outside_the_project_is_held(house):
    house.install()
    outside = house.folder / "outside.txt"
    house.run_write(outside)
    if house.cli != "gemini":
        # Gemini CLI refuses it by itself.
        ask = house.wait_for_ask()
        assert ask.question.call.real_path == str(outside)
        house.ada.gate("answer", ask.id, "no", "--as", "ada")
    out = house.finish()
    assert not outside.exists(), out


@pytest.mark.proves("OTHER-2")
@pytest.mark.parametrize("fault", [*FAULTS, "missing", "no exec bit"])
def test_broken_gate_holds_a_command(house, fault):
    house.install()
    if fault == "missing":
        house.gate.unlink()
    else:
        house.replace_gate(FAULTS.get(fault, "exit 0"))
    if fault == "no exec bit":
        house.gate.chmod(0o644)
    house.run_shell(GATED)
    out = house.finish()
    assert not gated(house), out


@pytest.mark.proves("OTHER-3")
def test_host_holds_a_command_without_our_hook(house):
    """Only copilot has no rule for this case; docs/agents.md says so."""
    house.install()
    if house.cli == "gemini":
        house.replace_gate("kill -9 $PPID; kill -9 $(ps -o ppid= -p $PPID)")
    elif house.cli == "opencode":
        (house.home / ".config" / "opencode" / "plugin" / "gatebell.js").unlink()
    else:
        (house.home / ".copilot" / "hooks" / "gatebell.json").unlink()
    house.run_shell(GATED)
    out = house.finish()
    assert gated(house) == (house.cli == "copilot"), out
