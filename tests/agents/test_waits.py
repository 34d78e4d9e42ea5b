"""Late answers reach the model as the tool's result, by every way of asking."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
from tests.support.waiting import eventually

from gatebell.install.scripted_model import text, tool, tool_results

SHORT = 5
ASK = "gate ask 'By shell?'"
AS_TOLD = "until {{result:gate wait a-[a-z0-9]+}}; do :; done"


def pytest_generate_tests(metafunc):
    if "seconds" in metafunc.fixturenames:
        # Claude's shell times out after 120 s, its hooks and codex's tools after 300 or 600 s.
        late = [150, 620] if metafunc.config.option.whole else [SHORT]
        metafunc.parametrize("seconds", late)


@pytest.mark.proves("AGT-82", "LAW-1")
def test_late_answer_is_the_tools_result(house, terminal, seconds):
    house.install("claude")
    house.install("codex")
    patience = 540
    if seconds == SHORT:
        patience = SHORT - 1
        house.change_settings(lambda words: words.replace('"540"', f'"{patience}"'))
    shell = [tool("Bash", command=ASK)]
    shell += [tool("Bash", command=AS_TOLD)] if seconds > patience else []
    agents = {
        "By shell?": house.run_claude([*shell, text("{{result}}")]),
        "By claude's MCP?": house.run_claude(
            [tool("ask_human", question="By claude's MCP?"), text("{{result}}")]
        ),
        "By codex's MCP?": house.run_codex(
            [tool("ask_human", question="By codex's MCP?"), text("{{result}}")]
        ),
        "gated": house.run_claude([tool("Bash", command="touch gated"), text("{{result}}")]),
    }
    terminal.claude_at_work([tool("ask_human", question="On its screen?"), text("the end")])
    asks = house.wait_for_asks(len(agents) + 1)
    answer_at = time.monotonic() + seconds
    with closing(house.store.bell()) as bell:
        while time.monotonic() < answer_at:
            assert [agent.process.poll() for agent in agents.values()] == [None] * len(agents)
            bell.wait(1)
    assert all(house.get(ask.id).pending for ask in asks)
    for ask in asks:
        house.answer(ask, *(["yes"] if ask.question.call else ["late, but here"]))
    results = {question: agent.result() for question, agent in agents.items()}
    assert "late, but here" in results["By shell?"]["result"]
    assert "late, but here" in results["By claude's MCP?"]["result"]
    assert "late, but here" in results["By codex's MCP?"]
    assert house.ran()
    eventually(
        lambda: any(
            tool_results(request) == ["late, but here"]
            for request in house.model.requests
            if "On its screen?" in str(request)
        )
    )
    told = [str(request["messages"]) for request in house.model.requests if "messages" in request]
    assert not any("NOT USER INPUT" in words for words in told), "nothing went to the background"
