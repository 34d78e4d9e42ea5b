"""Session asks and the run commands: opened where the run is driven, or given up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.people import a_person
from tests.support.session_desk import FLOW, Desk
from tests.support.sessions import Screen, pid_in

from gatebell.app import wiring
from gatebell.domain.sessions.visits import Terms
from gatebell.services.asks import create_ask


@pytest.fixture
def desk(world):
    made = Desk(world)
    (made.project / ".gate" / "flows" / "feature.py").write_text(FLOW, encoding="utf-8")
    return made


@pytest.mark.proves("SES-140", "S0-3", "S0-43")
def test_flow_at_a_terminal_opens_its_session_there(desk):
    ada = Screen(desk.world.ada, "run", "feature", "x", "--in-place", **desk.environ)
    try:
        asked = ada.until("gate continue a-")
        ada.until("Press Enter to open session a-", after=asked)
        ada.type("\n")
        pid_in(ada)
        ada.type("exit\n")
        # Not yet: it is offered again while the run still waits.
        left = ada.until("Your answer (Enter: not yet): ")
        ada.type("\n")
        again = ada.until("Press Enter to open session a-", after=left)
        ada.type("\n")
        ada.until("at your service", after=again)
        ada.type("exit\n")
        ada.until("Your answer (Enter: not yet): ", after=again)
        # Ctrl+C goes to the prompt on the screen, not to the run.
        ada.type("to the left")
        ada.until("to the left", after=again)
        ada.type("\x03")
        third = ada.until("Your text is kept as a draft", after=again)
        ada.until("Press Enter to open session a-", after=third)
        assert desk.store.runs.get(1).state == "waiting_human"
        ada.type("\n")
        ada.until("at your service", after=third)
        ada.type("exit\n")
        ada.until("to the left", after=third)
        ada.type("\n")
        assert ada.end() == 0, ada.seen
        assert desk.store.runs.get(1).result == "completed"
        (ask,) = desk.store.asks.of_run(1)
        assert (ask.value, len(desk.store.asks.visits(ask.id))) == ("to the left", 3)
    finally:
        ada.close()


@pytest.mark.proves("SES-131", "S0-B25", "CLI-3")
def test_impossible_session_is_closed_as_failed(desk):
    ask = desk.ask()
    gave_up = desk.world.ada.gate("cancel", ask.id, "--failed", "--reason", "no laptop", "--json")
    assert gave_up.code == 0 and json.loads(gave_up.out)["settled_via"] == "failed"
    assert (desk.outcome(ask).outcome, desk.outcome(ask).note) == ("failed", "no laptop")
    text = desk.world.ada.gate("ask", "Why?", "--no-wait").out.split()[0]
    refused = desk.world.ada.gate("cancel", text, "--failed")
    assert refused.code == 2 and "is not a session" in refused.err


@pytest.mark.proves("SES-139", "S0-19", "S0-103")
def test_session_opens_in_the_askers_folder(desk):
    (desk.project / "inner").mkdir()
    ask = desk.ask(Terms("text", cwd="inner"))
    bob = Screen(desk.world.bob, "continue", ask.id, "--as", "bob", **desk.environ)
    try:
        pid_in(bob)
        assert desk.around()["cwd"] == str(desk.project / "inner")
        bob.type("exit\n")
        bob.until("Your answer (Enter: not yet): ")
    finally:
        bob.close()


@pytest.mark.proves("SES-141", "CLI-3")
def test_session_is_asked_for_from_a_shell(desk):
    (desk.project / "part.md").write_text("You help a DBA.", encoding="utf-8")
    words = ("--session", "--kind", "approval", "--model", "opus", "--stay", "30m")
    asker = desk.world.ada.start("ask", "Drop it?", *words, "--system-prompt", "part.md")
    said = asker.stderr.readline()
    assert said.startswith("Waiting for a person: gate continue a-")
    ask = desk.store.asks.get(said.split()[-1])
    assert ask.question.session == Terms(
        "approval", "You help a DBA.", "opus", session_seconds=1800
    )
    assert desk.world.bob.gate("answer", ask.id, "no", "--as", "bob").code == 0
    out, _ = asker.communicate(timeout=60)
    assert (asker.returncode, out.splitlines()[0]) == (10, "rejected")
    refused = desk.world.ada.gate("ask", "Why?", "--stay", "5m")
    assert refused.code == 2 and "need --session" in refused.err


@pytest.mark.proves("SES-142")
def test_cleaning_removes_session_files_of_settled_sessions(desk):
    waiting, settled = desk.ask(), desk.ask(prompt="Another?")
    create_ask.cancel(desk.store, settled.id, a_person("ada"), "")
    folders = [Path(wiring.session_folder(desk.store.path, ask.id)) for ask in (waiting, settled)]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "prompt.md").write_text("Q", encoding="utf-8")
    assert "Would remove the session files" in desk.world.ada.gate("clean", "--dry-run").out
    assert all(folder.exists() for folder in folders)
    said = desk.world.ada.gate("clean").out
    assert f"Removed the session files of {settled.id}" in said and waiting.id not in said
    assert [folder.exists() for folder in folders] == [True, False]
