"""Gates of gemini, opencode and copilot, with the real programs: `make hosts`."""

from __future__ import annotations

import pytest
from tests.support.host_stage import GATED

# Each says yes as far as it says anything: the whole part of it must not count.
FAULTS = {
    "killed": "kill -9 $$",
    "exit 1": "exit 1",
    "empty": "cat >/dev/null",
    "torn JSON": """cat >/dev/null; printf '{"decision": "allow", "permissionDecision": "allow\\t\\n'""",
    "two JSON": """cat >/dev/null; printf '{"decision": "allow"}{"decision": "allow"}\\t\\n'""",
}


# Kills the shell of the guard: the child of the host, whose number is the fourth word.
KILL_GUARD = """p=$$
while q=$(ps -o ppid= -p $p | tr -d ' ') && [ "$q" != "$4" ] && [ "$q" -gt 1 ]; do p=$q; done
kill -9 $p"""


def gated(stage):
    return (stage.project / "gated").exists()


@pytest.mark.proves("OTHER-1")
@pytest.mark.parametrize("answer", ["no", "yes"])
def test_persons_answer_decides_about_a_command(stage, answer):
    stage.install()
    stage.run_shell(GATED)
    ask = stage.wait_for_ask()
    assert ask.question.call.command == GATED
    assert ask.origin.session.startswith(f"{stage.cli}/")
    stage.ada.gate("answer", ask.id, answer, "--note", "open a PR", "--as", "ada")
    out = stage.finish()
    assert gated(stage) == (answer == "yes"), out
    if answer == "no":
        assert "open a PR" in "".join(stage.model.results)


@pytest.mark.proves("OTHER-1")
def test_other_commands_run_without_a_question(stage):
    stage.install()
    stage.run_shell("touch free")
    out = stage.finish()
    assert (stage.project / "free").exists(), out
    assert stage.store.asks.pending(9) == []


@pytest.mark.proves("OTHER-1")
def test_write_outside_the_project_is_held(stage):
    stage.install()
    outside = stage.folder / "outside.txt"
    stage.run_write(outside)
    if stage.cli != "gemini":
        # Gemini CLI refuses it by itself.
        ask = stage.wait_for_ask()
        assert ask.question.call.real_path == str(outside)
        stage.ada.gate("answer", ask.id, "no", "--as", "ada")
    out = stage.finish()
    assert not outside.exists(), out


@pytest.mark.proves("OTHER-2")
@pytest.mark.parametrize("fault", [*FAULTS, "missing", "no exec bit"])
def test_broken_gate_holds_a_command(stage, fault):
    stage.install()
    if fault == "missing":
        stage.gate.unlink()
    else:
        stage.break_hook(FAULTS.get(fault, "exit 0"))
    if fault == "no exec bit":
        stage.gate.chmod(0o644)
    stage.run_shell(GATED)
    out = stage.finish()
    assert not gated(stage), out


@pytest.mark.proves("OTHER-3")
def test_host_holds_a_command_without_our_hook(stage):
    """Only copilot has no rule for this case; docs/agents.md says so."""
    stage.install()
    if stage.cli == "gemini":
        stage.break_hook(KILL_GUARD)
    elif stage.cli == "opencode":
        (stage.home / ".config" / "opencode" / "plugin" / "gatebell.js").unlink()
    else:
        (stage.home / ".copilot" / "hooks" / "gatebell.json").unlink()
    stage.run_shell(GATED)
    out = stage.finish()
    assert gated(stage) == (stage.cli == "copilot"), out
