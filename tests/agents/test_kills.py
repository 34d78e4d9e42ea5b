"""kill -9 of agent, hook and server at each stage: nothing runs without a yes, no answer is lost."""

from __future__ import annotations

import os
import signal
import uuid

import pytest
from tests.support.waiting import eventually

from gatebell.install.scripted_model import text, tool

TOUCH = [tool("Bash", command="touch gated", description="make a file"), text("done")]
ASK = [tool("ask_human", question="Which database?"), text("I take {{result}}")]


@pytest.fixture
def session(house):
    house.install("claude")
    return str(uuid.uuid4())


def only(found):
    """Return the one process; its name is known as soon as it has asked."""
    (pid,) = found
    return pid


def decide_again(house, agent, ask):
    """Make the same call again: it finds its own unused yes, or asks again."""
    eventually(lambda: house.ran() or house.store.asks.pending(1))
    for again in house.store.asks.pending(2):
        assert again.id != ask.id and not house.ran()
        house.answer(again, "yes")
    agent.result()
    assert house.ran()


@pytest.mark.proves("AGT-81", "LAW-3")
def test_killed_agent_leaves_no_ask_and_asks_again_resumed(house, session):
    house.run_claude(TOUCH, "--session-id", session)
    (ask,) = house.wait_for_asks()
    house.kill_logged_agents()
    after = house.wait_for_settled(ask)
    assert after.status == "cancelled" and "gone" in after.note and not house.ran()
    resumed = house.run_claude(TOUCH, "--resume", session)
    (again,) = house.wait_for_asks()
    assert again.id != ask.id and not house.ran()
    house.answer(again, "yes")
    resumed.result()
    assert house.ran()


@pytest.mark.proves("AGT-81", "LAW-3", "LAW-4")
def test_yes_without_a_living_agent_runs_nothing(house, session):
    house.run_claude(TOUCH, "--session-id", session)
    (ask,) = house.wait_for_asks()
    hook = only(house.processes("hook"))
    os.kill(hook, signal.SIGSTOP)
    house.kill_logged_agents()
    house.answer(ask, "yes")
    os.kill(hook, signal.SIGKILL)
    assert not house.ran(), "nobody was there to run it"
    decide_again(house, house.run_claude(TOUCH, "--resume", session), ask)


@pytest.mark.proves("AGT-81", "LAW-3")
def test_killed_hook_denies_and_leaves_nothing_open(house, session):
    agent = house.run_claude(TOUCH, "--session-id", session)
    (ask,) = house.wait_for_asks()
    os.kill(only(house.processes("hook")), signal.SIGKILL)
    agent.result()
    assert not house.ran()
    assert house.wait_for_settled(ask).status == "cancelled", "its session is over"


@pytest.mark.proves("AGT-81", "LAW-4")
def test_yes_that_a_killed_hook_lost_is_a_denial(house, session):
    agent = house.run_claude([TOUCH[0], *TOUCH], "--session-id", session)
    (ask,) = house.wait_for_asks()
    hook = only(house.processes("hook"))
    os.kill(hook, signal.SIGSTOP)
    house.answer(ask, "yes")
    os.kill(hook, signal.SIGKILL)
    assert "no output" not in house.wait_for_results()[0]
    decide_again(house, agent, ask)


@pytest.mark.proves("AGT-81", "LAW-3", "LAW-4")
def test_yes_is_used_once_even_when_lost(house, session):
    """The hook has taken the yes and dies before it tells the host."""
    house.replace_gate('test "$1" = hook && {real} "$@" >/dev/null && kill -9 $$; exec {real} "$@"')
    agent = house.run_claude([TOUCH[0], *TOUCH], "--session-id", session)
    (ask,) = house.wait_for_asks()
    house.answer(ask, "yes")
    house.wait_for_settled(ask)
    (again,) = house.wait_for_asks()
    assert again.id != ask.id and not house.ran()
    house.answer(again, "no")
    agent.result()
    assert not house.ran()


@pytest.mark.proves("AGT-81", "LAW-4")
@pytest.mark.parametrize("stage", [pytest.param("open", marks=pytest.mark.matrix), "answered"])
def test_killed_server_loses_no_answer(house, session, stage):
    agent = house.run_claude([ASK[0], text("the server is gone")], "--session-id", session)
    (ask,) = house.wait_for_asks()
    server = only(house.processes("mcp"))
    if stage == "answered":
        os.kill(server, signal.SIGSTOP)
        house.answer(ask, "SQLite")
    os.kill(server, signal.SIGKILL)
    agent.result()
    assert "SQLite" not in house.wait_for_results()[0]
    resumed = house.run_claude(ASK, "--resume", session)
    if stage == "open":
        (same,) = house.wait_for_asks()
        assert same.id == ask.id
        house.answer(same, "SQLite")
    assert "SQLite" in resumed.result()["result"]
    assert house.store.asks.count() == 1


@pytest.mark.proves("AGT-81", "LAW-3")
@pytest.mark.parametrize("stage", [pytest.param("open", marks=pytest.mark.matrix), "answered"])
def test_killed_permission_server_runs_nothing(house, stage):
    agent = house.run_claude(TOUCH, *house.only_permission_tool())
    (ask,) = house.wait_for_asks()
    server = only(house.processes("mcp"))
    if stage == "answered":
        os.kill(server, signal.SIGSTOP)
        house.answer(ask, "yes")
    os.kill(server, signal.SIGKILL)
    agent.result()
    assert not house.ran() and not house.get(ask.id).delivered_at


@pytest.mark.proves("AGT-81", "LAW-4")
@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_agent_killed_while_its_question_waits_finds_it_again(house, cli):
    house.install(cli)
    run = house.run_claude if cli == "claude" else house.run_codex
    run(ASK)
    (ask,) = house.wait_for_asks()
    house.kill_logged_agents()
    eventually(lambda: not house.processes("mcp"))
    session = ask.origin.session.removeprefix(f"{cli}/")
    resumed = run(ASK, "--resume" if cli == "claude" else "resume", session)
    eventually(lambda: house.processes("mcp"))
    house.answer(ask, "SQLite")
    result = resumed.result()
    assert "SQLite" in (result["result"] if cli == "claude" else result)
    assert house.store.asks.count() == 1
