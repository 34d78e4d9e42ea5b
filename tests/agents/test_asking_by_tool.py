"""Agents ask by MCP and continue with the answer."""

from __future__ import annotations

import pytest
from tests.support.waiting import eventually

from gatebell.install.scripted_model import text, tool, tools


def start(house, cli, steps, *words):
    house.install(cli)
    return (house.run_claude if cli == "claude" else house.run_codex)(steps, *words)


@pytest.mark.proves("AGT-72")
@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_question_arrives_with_its_story_and_is_answered(house, cli):
    question = tool("ask_human", question="Which database?", options=["PostgreSQL", "SQLite"])
    agent = start(house, cli, [question, text("I take {{result}}.")])
    (ask,) = house.wait_for_asks()
    assert (ask.question.kind, ask.question.prompt) == ("choice", "Which database?")
    assert ask.question.options == ("PostgreSQL", "SQLite")
    assert (ask.origin.agent, ask.origin.project) == (cli, str(house.project))
    shown = house.ada.gate("show", ask.id).out
    assert "Please." in shown, "what the agent was told is part of the story"
    house.answer(ask, "SQLite", "--note", "it is a single file")
    result = agent.result()
    said = result["result"] if cli == "claude" else result
    assert "SQLite" in said and "it is a single file" in said
    session = result["session_id"] if cli == "claude" else house.get(ask.id).origin.session[6:]
    assert house.get(ask.id).origin.session == f"{cli}/{session}" and session
    assert house.get(ask.id).delivered_at, "taken, once it was handed over"


@pytest.mark.proves("AGT-83", "LAW-4")
@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_second_honest_continue_is_a_new_question(house, cli):
    question = tool("ask_human", question="Continue?", kind="approval")
    agent = start(house, cli, [question, question, text("done")])
    (first,) = house.wait_for_asks()
    house.answer(first, "yes", "--note", "the first time")
    house.wait_for_settled(first)
    (second,) = house.wait_for_asks()
    assert second.id != first.id and second.digest == first.digest
    house.answer(second, "no", "--note", "enough for today")
    agent.result()
    results = house.wait_for_results()
    assert "the first time" in results[0] and "enough for today" in results[1]


@pytest.mark.proves("AGT-79")
@pytest.mark.parametrize("order", [pytest.param((0, 1), marks=pytest.mark.matrix), (1, 0)])
def test_two_questions_of_one_turn_get_their_own_answers(house, order):
    calls = [("ask_human", {"question": f"{word}?"}) for word in ("First", "Second")]
    agent = start(house, "claude", [tools(*calls), text("done")])
    asks = {ask.question.prompt: ask for ask in house.wait_for_asks(2)}
    for number in order:
        house.answer(asks[("First?", "Second?")[number]], f"answer {number}")
    agent.result()
    assert sorted(house.wait_for_results()) == ["answer 0", "answer 1"]


@pytest.mark.proves("AGT-72", "ASK-21")
def test_asking_back_reaches_the_agent_and_shows_its_reply(house):
    reply = {"reply_to": "{{result:a-[a-z0-9]+}}", "reply": "There are 41 and 42."}
    steps = [tool("ask_human", question="Which build?"), tool("ask_human", **reply)]
    agent = start(house, "claude", [*steps, text("{{result}}")])
    (ask,) = house.wait_for_asks()
    assert house.ada.gate("ask-back", ask.id, "Which ones are there?").code == 0
    assert "Which ones are there?" in house.wait_for_results()[0]
    eventually(lambda: "There are 41 and 42." in house.ada.gate("show", ask.id).out)
    assert house.get(ask.id).pending, "asking back settles nothing"
    house.answer(ask, "42")
    assert agent.result()["result"] == "42"
