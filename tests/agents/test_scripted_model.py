"""The scripted model, used by the real CLIs."""

from __future__ import annotations

import pytest

from gatebell.install.scripted_model import text, tool, tool_results, tools

TWO = [("echo one", "one"), ("echo two", "two")]


@pytest.mark.proves("AGT-70")
def test_claude_plays_a_script_and_continues_when_resumed(house):
    steps = [
        tools(*[("Bash", {"command": command}) for command, _ in TWO]),
        text("last: {{result}}"),
    ]
    first = house.run_claude(steps).result()
    assert first["result"] == f"last: {house.wait_for_results()[-1]}"
    assert sorted(house.wait_for_results()) == ["one", "two"]
    again = [tool("Bash", command="echo three"), text("then {{result}}")]
    second = house.run_claude(again, "--resume", first["session_id"]).result()
    assert second["result"] == "then three" and second["session_id"] == first["session_id"]


@pytest.mark.proves("AGT-70")
def test_codex_plays_a_script(house):
    steps = [
        tools(*[("exec_command", {"cmd": command}) for command, _ in TWO]),
        text("{{result}}."),
    ]
    assert house.run_codex(steps).result().strip().endswith("two\n.")
    assert [result.splitlines()[-1] for result in house.wait_for_results()] == ["one", "two"]


@pytest.mark.proves("AGT-70")
def test_tool_that_is_not_offered_is_named(house):
    assert (
        house.run_claude([tool("Teleport")]).result()["result"]
        == "the tool Teleport is not offered"
    )
    assert len(house.model.requests) == 1 and tool_results(house.model.requests[0]) == []


@pytest.mark.proves("AGT-71")
def test_agents_reach_nothing_but_the_model(house):
    if not house.network.prefix:
        pytest.skip("this kernel refuses a network namespace: the reach of agents was not tried")
    devices = [tool("exec_command", cmd="cut -d: -f1 /proc/net/dev"), text("{{result}}")]
    printed = house.run_codex(devices).result().split()
    assert printed[-1] == "lo" and printed[-2] == "compressed"  # the end of the headline
