"""Questions that do not stop an agent: it goes on, and the answer reaches it once."""

from __future__ import annotations

import json
import threading

import pytest
from tests.support.hook_session import until_it_waits
from tests.support.waiting import eventually

from gatebell.install import scripted_model
from gatebell.install.scripted_model import text, tool

QUESTION = {"question": "Which database?", "wait": False, "assume": "SQLite"}
ANSWER = "│ PostgreSQL"


def start(house, cli, steps, *words):
    """Start the agent with trusted hooks."""
    if cli == "claude":
        return house.run_claude(steps, *words)
    return house.run_codex(steps, "--dangerously-bypass-hook-trust", *words)


def shell(cli, command):
    if cli == "claude":
        return tool("Bash", command=command)
    return tool("exec_command", cmd=command)


def until(path):
    return f"until [ -e {path} ]; do :; done"


def told(house):
    """Return how often the answer was told to the model, by its last request."""
    return json.dumps(house.model.requests[-1], ensure_ascii=False).count(ANSWER)


@pytest.mark.proves("BACK-1", "BACK-3", "LAW-4")
@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_answer_comes_with_the_next_tool_call(house, cli):
    house.install(cli)
    go = house.folder / "go"
    steps = [tool("ask_human", **QUESTION), shell(cli, "touch worked"), shell(cli, until(go))]
    agent = start(house, cli, [*steps, shell(cli, "true"), text("done")])
    (ask,) = house.wait_for_asks()
    assert ask.assume == "SQLite" and ask.origin.session.startswith(f"{cli}/")
    eventually(lambda: house.ran("worked"))
    assert "It goes on with: SQLite" in house.ada.gate("show", ask.id).out
    house.answer(ask, "PostgreSQL")
    go.touch()
    agent.result()
    assert house.get(ask.id).delivered_at
    assert told(house) == 1


@pytest.mark.proves("BACK-1", "BACK-4", "LAW-4")
@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_answer_holds_the_end_of_the_turn_once(house, monkeypatch, cli):
    house.install(cli)
    is_ending, is_answered = threading.Event(), threading.Event()
    whole = scripted_model._answer

    def pause(request):
        words, calls = whole(request)
        if words == "done":
            is_ending.set()
            is_answered.wait(60)
        return words, calls

    monkeypatch.setattr(scripted_model, "_answer", pause)
    asks = shell(cli, f"{house.bin}/gate ask 'Which database?' --no-wait --assume SQLite")
    agent = start(house, cli, [asks, text("done"), text("corrected"), text("never said")])
    (ask,) = house.wait_for_asks()
    assert (ask.assume, ask.origin.agent) == ("SQLite", cli)
    assert is_ending.wait(60), "the last tool call is over"
    house.answer(ask, "PostgreSQL")
    is_answered.set()
    said = agent.result()
    assert "corrected" in str(said) and "never said" not in str(said)
    # Claude Code itself gives the model the reason of a held turn twice.
    assert house.get(ask.id).delivered_at and told(house) == {"claude": 2, "codex": 1}[cli]


@pytest.mark.proves("BACK-5", "LAW-4")
@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_answer_after_the_end_goes_to_the_next_session(house, cli):
    house.install(cli)
    agent = start(house, cli, [tool("ask_human", **QUESTION), text("done")])
    (ask,) = house.wait_for_asks()
    assert "done" in str(agent.result()), "without an answer nothing holds the turn"
    house.answer(ask, "PostgreSQL")
    assert not house.get(ask.id).delivered_at, "kept"
    for times in (1, 0):
        start(house, cli, [text("hello")]).result()
        assert told(house) == times
    assert house.get(ask.id).delivered_at


@pytest.mark.proves("BACK-11")
def test_idle_session_of_claude_wakes_and_reads_the_answer(house, terminal):
    house.install("claude")
    asked = tool("ask_human", **QUESTION)
    steps = [asked, text("I go on"), tool("inbox_status"), text("corrected")]
    terminal.claude_at_work(steps)
    (ask,) = house.wait_for_asks()
    terminal.until("· done")  # its turn has ended, with the other hook of its end
    (waiting,) = eventually(lambda: house.processes("hook", "--rewake"))
    until_it_waits(waiting)
    house.answer(ask, "PostgreSQL")
    assert eventually(lambda: told(house)) == 1 and house.get(ask.id).delivered_at
    notices = [one for one in map(json.dumps, house.model.requests) if "NOT USER INPUT" in one]
    assert notices, "it was woken"
    eventually(lambda: not house.processes("hook", "--rewake"))
