"""A person in claude's own screen, in the session of a flow's agent: the run goes on after it."""

from __future__ import annotations

import json
import threading
import time

import pytest
from tests.agents.test_flows import project, report

from humangate.integrations.scripted_model import script, text, tool

__all__ = ["project"]

FLOW = """
from humangate import flow, run

@flow
def feature(prompt):
    done = run("coder", {words!r})
    return [done.status, done.summary]
"""
TRUST = "Yes, I trust this folder"


def join(project, terminal):
    """`gate continue` in a terminal, until claude listens."""
    token = f"GATE_TOKEN={project.house.tokens['ada']}"
    gate = project.house.bin / "gate"
    terminal._start(["/usr/bin/env", token, gate, "continue", "1", "--as", "ada"])
    terminal.until("Reason: Which port?")
    assert "whether you trust this folder" in terminal.screen()


def trust(terminal):
    """Its first choice is no."""
    terminal.until("❯ No, exit", 40)
    press(terminal, "Down", lambda: f"❯ {TRUST}" in terminal.screen())
    press(terminal, "Enter", lambda: TRUST not in terminal.screen())


def press(terminal, key, done):
    """Press a key until it has been heard: claude shows its screen before it listens.

    It may be slow to show what it has heard, and what is pressed once more reaches what it
    shows next: so only after a long silence. And it may draw its screen anew, as if nothing had
    been pressed: so that is waited for.
    """
    until, again, pause = time.monotonic() + 60, 0.0, threading.Event()
    while True:
        while not done():
            assert time.monotonic() < until, terminal.screen()
            if time.monotonic() >= again:
                terminal.type("", key)
                again = time.monotonic() + 8
            pause.wait(0.1)
        pause.wait(1)
        if done():
            return
        again = 0.0


@pytest.mark.proves("S2-2", "S2-4", "S2-14", "S2-15", "S2-18", "S2-43", "S2-60", "S2-B21")
@pytest.mark.parametrize("trusted", [True, False], ids=["known", "new"])
def test_it_is_talked_over_in_claudes_own_screen(project, terminal, trusted):
    if not trusted:
        known = project.house.home / ".claude.json"
        words = known.read_text(encoding="utf-8")
        known.write_text(words.replace("hasTrustDialogAccepted", "unknown"), encoding="utf-8")
    steps = [
        report("NEEDS_HUMAN", question="Which port?"),
        tool("signal", status="DONE", summary="it listens on 8080"),
        text("Thank you, reported."),
    ]
    project.start(FLOW.format(words=script(steps)))
    asked = project.asked("Which port?")
    join(project, terminal)
    if not trusted:
        trust(terminal)
    terminal.until("Which port?", 40)
    terminal.type("take 8080")
    terminal.until("take 8080")
    press(terminal, "Enter", lambda: "● Thank you, reported." in terminal.screen())
    assert project.store.asks.get(asked.id).pending, "they are still talking"
    terminal.type("/exit")
    terminal.until("/exit")
    press(terminal, "Enter", lambda: "ended 0" in terminal.screen())
    screen = terminal.screen()
    assert f"Recorded for {asked.id}: DONE: it listens on 8080" in screen
    assert "Opening Claude session for: coder" in screen
    run, out = project.end()
    assert (run.state, run.result) == ("completed", ["DONE", "it listens on 8080"]), out
    settled = project.store.asks.get(asked.id)
    assert (settled.settled_by, settled.settled_via) == ("person:ada", "session")
    first, joined = project.store.runs.turns(1)
    assert first.session == joined.session and joined.by == "person:ada"
    last = json.dumps(project.house.model.requests[-1]["messages"])
    assert "take 8080" in last and first.id in last, "one conversation of agent and person"
    assert not project.house.processes(project.house.programs.claude)
