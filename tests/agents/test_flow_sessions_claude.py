"""A flow's session in claude's own screen: returned after the visit, the same at each replay."""

from __future__ import annotations

import os
import signal

import pytest
from tests.support.agent_desk import FORM, NO_SCRIPT, Desk, propose
from tests.support.agent_project import project
from tests.support.agent_terminal import press
from tests.support.waiting import eventually

from gatebell.install.scripted_model import script, text

__all__ = ["project"]

FLOW = """
from gatebell import Approval, ask_interactive, flow, pause
from gatebell.api.flows import step

@flow
def feature(prompt):
    result = ask_interactive("Is it good?", returns=Approval, capture_transcript=True)
    seen = [result.response, result.transcript, result.duration_ms]
    step(list, seen, name="keep")
    pause("Go on?")
    return seen
"""


class Visitor(Desk):
    """Ada at her terminal, in the session that a flow asks for."""

    def __init__(self, project, terminal):
        self.project, self.house, self.terminal = project, project.house, terminal
        self.store = project.store

    def visit(self, *steps, until):
        """Open claude, with its instructions."""
        self.project.start(FLOW)
        ask = self.project.wait_for_ask("Is it good?")
        self.open(ask)
        assert "whether you trust" in self.terminal.screen()
        self.terminal.until(NO_SCRIPT, 40)
        self.say(
            f"Look. {script([step(ask) if callable(step) else step for step in steps])}", until
        )
        return ask

    def result(self):
        """The value before the flow's gate, and its result afterwards."""
        self.project.wait_for_ask("Go on?")
        seen = self.project.calls()["1"].value["visits"]
        self.project.answer("Go on?", "yes")
        run, out = self.project.end()
        assert run.state == "completed", out
        assert run.result[1:] == [seen["transcript"], seen["duration_ms"]]
        return run.result


@pytest.fixture
def visitor(project, terminal):
    return Visitor(project, terminal)


@pytest.mark.proves("SES-150", "SES-151", "LAW-5")
def test_flow_waits_until_person_leaves_claude(visitor, terminal):
    ask = visitor.visit(propose, text("so be it"), text("One more word."), until=FORM)
    press(terminal, "Right", lambda: "❯ ◯ not yet" in terminal.screen())
    press(terminal, "Down", lambda: "❯ ◯ reject" in terminal.screen())
    press(terminal, "Enter", lambda: "✔ Your decision: reject" in terminal.screen())
    press(
        terminal, "Down", lambda: "❯ Reason" in terminal.screen() or "❯ Accept" in terminal.screen()
    )
    press(terminal, "Down", lambda: "❯ Accept" in terminal.screen())
    press(terminal, "Enter", lambda: "● so be it" in terminal.screen())
    assert visitor.store.asks.get(ask.id).decision == "rejected"
    eventually(lambda: visitor.project.calls()["1"].state == "held")
    visitor.say("anything else?", "● One more word.")
    assert visitor.store.asks.get(ask.id).delivered_at is None
    visitor.leave(f"Recorded: {ask.id} is rejected")
    response, words, duration = visitor.result()
    assert response == "rejected" and duration > 0
    assert "so be it" in words and "anything else?" in words and "One more word." in words


@pytest.mark.proves("SES-153", "LAW-5")
@pytest.mark.parametrize("answered", ["before", "after"])
def test_flow_gets_transcript_of_killed_visit(visitor, answered):
    ask = visitor.visit(text("It is good."), until="● It is good.")
    visitor.until_logged(ask, "It is good.")
    harness = visitor.harness()
    if answered == "before":
        # The harness notices the settled ask only when it continues.
        os.kill(harness, signal.SIGSTOP)
        visitor.house.answer(ask, "yes")
        eventually(lambda: visitor.project.calls()["1"].state == "held")
    os.kill(harness, signal.SIGKILL)
    if answered == "after":
        visitor.house.answer(ask, "yes")
    response, words, _ = visitor.result()
    assert response == "approved" and "It is good." in words
    assert visitor.ends(ask) == ["lost"]
