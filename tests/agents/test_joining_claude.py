"""A person in claude's own screen, in the session of a flow's agent: the run then continues."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess

import pytest
from tests.support.agent_project import project, report
from tests.support.agent_terminal import press, trust

from gatebell.domain.runs.identities import parse_identity
from gatebell.install.scripted_model import script, text, tool

__all__ = ["project"]

FLOW = """
from gatebell import flow, run

@flow
def feature(prompt):
    done = run("coder", {words!r})
    return [done.status, done.summary]
"""
GATE = """
from gatebell import flow, pause, run

@flow
def feature(prompt):
    run("coder", {words!r})
    return bool(pause("Ship it?"))
"""
DONE = {"status": "DONE", "summary": "it listens on 8080"}


def join(project, terminal, reason="Which port?"):
    """Run `gate continue` in a terminal, until claude takes input."""
    token = f"GATE_TOKEN={project.house.tokens['ada']}"
    gate = project.house.bin / "gate"
    terminal._start(["/usr/bin/env", token, gate, "continue", "1", "--as", "ada"])
    terminal.until(f"Reason: {reason}")
    assert "whether you trust this folder" in terminal.screen()


def say(terminal, words, until):
    terminal.type(words)
    terminal.until(words[-20:])
    press(terminal, "Enter", lambda: until in terminal.screen())


def leave(terminal, until):
    terminal.type("/exit")
    terminal.until("/exit")
    press(terminal, "Enter", lambda: until in terminal.screen())


@pytest.mark.proves("S2-2", "S2-4", "S2-14", "S2-15", "S2-18", "S2-43", "S2-60", "S2-B21")
@pytest.mark.parametrize(
    "trusted",
    [pytest.param(True, id="known", marks=pytest.mark.matrix), pytest.param(False, id="new")],
)
def test_question_is_discussed_in_claudes_own_screen(project, terminal, trusted):
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
    asked = project.wait_for_ask("Which port?")
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


@pytest.mark.proves("RUN-380", "RUN-381", "S2-15", "S2-20")
@pytest.mark.parametrize("way", ["file", "words"])
def test_agent_reports_to_person_by_every_way(project, terminal, way):
    reply = text(f"Thank you, reported. {json.dumps(DONE)}")
    project.start(FLOW.format(words=script([report("NEEDS_HUMAN", question="Which port?"), reply])))
    asked = project.wait_for_ask("Which port?")
    join(project, terminal)
    terminal.until("Which port?", 40)
    words = "take 8080"
    if way == "file":
        (told,) = project.store.runs.turns(1)[:1]
        path = re.search(r"write it to the file (\S+) in one go", told.sent)[1]
        place = os.path.join(project.store.runs.get(1).folder, path)
        steps = [tool("Write", file_path=place, content=json.dumps(DONE)), text("Thank you,")]
        words = f"take 8080 {script(steps)}"
    say(terminal, words, "● Thank you,")
    assert project.store.asks.get(asked.id).pending, "they are still talking"
    leave(terminal, "ended 0")
    assert f"Recorded for {asked.id}: DONE: it listens on 8080" in terminal.screen()
    run, out = project.end()
    assert (run.state, run.result) == ("completed", ["DONE", "it listens on 8080"]), out


@pytest.mark.proves("RUN-382", "LAW-1")
def test_recorded_signal_outlives_killed_gate_continue(project, terminal):
    steps = [
        report("NEEDS_HUMAN", question="Which port?"),
        tool("signal", **DONE),
        text("Thank you, reported."),
    ]
    project.start(FLOW.format(words=script(steps)))
    asked = project.wait_for_ask("Which port?")
    join(project, terminal)
    terminal.until("Which port?", 40)
    say(terminal, "take 8080", "● Thank you, reported.")
    last = json.dumps(project.house.model.requests[-1]["messages"])
    assert "Recorded: DONE. It counts when the person leaves" in last
    (held,) = project.store.runs.list_joined_turns()
    os.kill(parse_identity(held.process).pid, signal.SIGKILL)
    run, out = project.end()
    assert (run.state, run.result) == ("completed", ["DONE", "it listens on 8080"]), out
    settled = project.store.asks.get(asked.id)
    assert (settled.settled_by, settled.settled_via) == ("person:ada", "session")


@pytest.mark.proves("RUN-383")
def test_signal_after_stop_is_refused_and_forgotten(project, terminal):
    steps = [
        report("NEEDS_HUMAN", question="Which port?"),
        tool("signal", **DONE),
        text("It was refused."),
        report("DONE", "taken up again"),
    ]
    project.start(FLOW.format(words=script(steps)))
    asked = project.wait_for_ask("Which port?")
    join(project, terminal)
    terminal.until("Which port?", 40)
    assert project.house.bob.gate("stop", "1", "--reason", "wrong port").code == 0
    project.end()
    say(terminal, "take 8080", "● It was refused.")
    last = json.dumps(project.house.model.requests[-1]["messages"])
    assert "run 1 has ended (stuck: wrong port)" in last and "Recorded" not in last
    leave(terminal, "ended 6")
    resumed = subprocess.run(
        [project.house.bin / "gate", "resume", "1"], env=project.house.environ, check=False,
        cwd=project.house.project, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert resumed.returncode == 0, resumed
    assert project.store.runs.get(1).result == ["DONE", "taken up again"]
    assert project.store.asks.get(asked.id).status == "cancelled"


@pytest.mark.proves("RUN-384", "RUN-385", "LAW-3")
def test_person_decides_gate_after_leaving_claude(project, terminal):
    steps = [
        report("DONE", "built"),
        tool("signal", status="CONTINUE", summary="ship it, it is small"),
        text("I have proposed it."),
    ]
    project.start(GATE.format(words=script(steps)))
    asked = project.wait_for_ask("Ship it?")
    join(project, terminal, "Ship it?")
    terminal.until("❯", 40)
    say(terminal, "what do you think?", "● I have proposed it.")
    last = json.dumps(project.house.model.requests[-1]["messages"])
    assert "Passed on as a proposal: CONTINUE. It decides nothing" in last
    leave(terminal, "yes or no (Enter: not yet): ")
    screen = terminal.screen()
    assert "The session proposes, in the agent's words: CONTINUE" in screen
    assert "ship it, it is small" in screen and "Only your input here counts." in screen
    assert project.store.asks.get(asked.id).pending
    terminal.type("no", "Enter")
    terminal.until("Reason (optional): ")
    terminal.type("not yet tested", "Enter")
    terminal.until("ended 0")
    run, out = project.end()
    assert (run.state, run.result) == ("completed", False), out
    settled = project.store.asks.get(asked.id)
    assert (settled.decision, settled.note) == ("rejected", "not yet tested")
    assert settled.settled_by == "person:ada"
