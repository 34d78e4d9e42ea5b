"""Session asks in codex's own screen: its conversation is found again after any kill."""

from __future__ import annotations

import os
import shlex
import signal

import pytest
from tests.support.agent_desk import PLAIN, Desk
from tests.support.agent_terminal import press
from tests.support.waiting import eventually

from gatebell.domain.sessions.visits import Terms
from gatebell.install.scripted_model import script, text

NO_SCRIPT = "• there is no script in this prompt"


@pytest.fixture
def desk(house, terminal):
    made = Desk(house, terminal)
    program = shlex.join([*house.network.prefix, house.programs.codex])
    (house.bin / "codex").write_text(f'#!/bin/sh\nexec {program} "$@"\n', encoding="utf-8")
    (house.bin / "codex").chmod(0o755)
    return made


def logs(desk):
    return list(desk.house.home.glob(".codex/sessions/*/*/*/*.jsonl"))


@pytest.mark.proves("SES-75", "S0-100", "S0-107", "S0-117")
def test_question_is_worked_out_in_codexs_own_screen(desk, terminal):
    terms = Terms("choice", system_prompt="Be brief.", capture_transcript=True)
    ask = desk.ask(terms, "-x or -y?", options=("-x", "-y"))
    with_codex = "GATE_SESSION_CLI=codex"
    desk.open(ask, with_codex)
    terminal.until(NO_SCRIPT, 40)
    eventually(lambda: logs(desk) and NO_SCRIPT[2:] in logs(desk)[0].read_text("utf-8"))
    os.kill(desk.harness(), signal.SIGKILL)
    eventually(lambda: not desk.house.processes(desk.house.programs.codex))
    assert [one.session for one in desk.store.asks.visits(ask.id)] == [""], "nobody could say it"
    desk.open(ask, with_codex)
    assert ", continued" in terminal.screen()
    terminal.until(NO_SCRIPT, 40)
    terminal.type(f"Say it. {script([text('One.'), text('Two.')])}")
    terminal.until(">>script")
    press(terminal, "Enter", lambda: "• One." in terminal.screen())
    desk.keep("codex")
    eventually(lambda: '"text":"One."' in logs(desk)[0].read_text("utf-8"))
    (program,) = desk.house.processes(desk.house.programs.codex)
    os.kill(program, signal.SIGTERM)
    assert desk.wait_for_end() == 1 and "codex was ended by signal 15" in terminal.screen()
    assert desk.flags() == PLAIN, "it does not put the screen back itself"
    desk.open(ask)
    terminal.until("• One.", 40)
    desk.leave()
    terminal.type("2", "Enter")
    assert desk.wait_for_end() == 0
    came = desk.outcome(ask)
    assert (came.outcome, came.response, came.attempts) == ("completed", "-y", 3)
    assert came.session_id.startswith("codex/") and "agent: One." in came.transcript
    assert len(logs(desk)) == 1, "one conversation"
    said = [one for one in desk.house.model.requests if "input" in one]
    files_folder = f"{desk.house.path}-sessions/{ask.id}"
    assert f"Follow {files_folder}/system.md: read" in str(said[0]["input"])
    assert f"Please read {files_folder}/prompt.md first" in str(said[0]["input"])
