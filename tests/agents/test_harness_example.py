"""The example harness with the real claude."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.support.agent_desk import NO_SCRIPT, Desk

from gatebell.domain.sessions.visits import Terms

HARNESS = Path(__file__).parents[2] / "examples" / "session_harness.py"


@pytest.fixture
def desk(house, terminal):
    return Desk(house, terminal)


def begin(desk):
    token = f"GATE_TOKEN={desk.house.tokens['ada']}"
    desk.terminal._start(["/usr/bin/env", token, sys.executable, str(HARNESS), "--once"])


@pytest.mark.proves("SES-43", "S0-59", "S0-60", "S0-68", "S0-85", "S0-102", "S0-B27")
def test_example_harness_opens_claude_and_returns_to_its_conversation(desk, terminal):
    ask = desk.ask(Terms("approval", system_prompt="Be a careful reviewer."), "- good schema?")
    begin(desk)
    terminal.until(NO_SCRIPT, 40)
    desk.leave()
    terminal.type("", "Enter")
    terminal.until("keeps waiting")
    assert desk.wait_for_end() == 0
    begin(desk)
    terminal.until("● the script is at its end", 40)
    desk.leave()
    terminal.type("approved", "Enter")
    terminal.until(f"{ask.id} is answered")
    assert desk.wait_for_end() == 0
    came = desk.outcome(ask)
    assert (came.outcome, came.response, came.attempts) == ("completed", "approved", 2)
    first, second = desk.store.asks.visits(ask.id)
    assert first.session == second.session and desk.log(ask)
    sent = [str(one) for one in desk.house.model.requests if "messages" in one]
    assert any("Be a careful reviewer." in one for one in sent)
