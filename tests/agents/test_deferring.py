"""`defer`: claude ends its turn while a call is being decided, and runs it when it is resumed."""

from __future__ import annotations

import pytest

from gatebell.install.scripted_model import text, tool, tools


def touch(number):
    return ("Bash", {"command": f"touch gated{number}"})


@pytest.mark.proves("AGT-80")
@pytest.mark.parametrize("answer", ["yes", pytest.param("no", marks=pytest.mark.matrix)])
def test_deferred_call_is_decided_while_nothing_runs(house, answer):
    house.guard_before_use(" --defer", "Bash")
    steps = [tool("Bash", command="touch gated"), text("done: {{result}}")]
    result = house.run_claude(steps).result()
    assert result["terminal_reason"] == "tool_deferred" and not house.ran()
    (ask,) = house.wait_for_asks()
    assert house.processes("hook") == [], "nothing has to live for a wait"
    house.answer(ask, answer, "--note", "looked at it")
    resumed = house.run_claude([], "--resume", result["session_id"]).result()
    assert resumed["result"].startswith("done") and house.ran() == (answer == "yes")
    if answer == "no":
        assert "looked at it" in resumed["result"]


@pytest.mark.proves("AGT-80", "AGT-79")
@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.matrix)])
def test_one_of_several_calls_is_deferred_and_none_lost(house, count):
    house.guard_before_use(" --defer", "Bash")
    turns = [tools(*[touch(number) for number in range(first, count)]) for first in range(count)]
    result = house.run_claude([*turns, text("done")]).result()
    (ask,) = house.wait_for_asks()
    assert ask.question.call.input["command"] == "touch gated0"
    house.answer(ask, "yes")
    for number in range(1, count):
        result = house.run_claude([], "--resume", result["session_id"]).result()
        if number == 1:
            held = f"held: {ask.id} is being decided"
            assert sum(held in told for told in house.wait_for_results()) == count - 1
        (ask,) = house.wait_for_asks()
        house.answer(ask, "yes")
    house.run_claude([], "--resume", result["session_id"]).result()
    assert [house.ran(f"gated{number}") for number in range(count)] == [True] * count
