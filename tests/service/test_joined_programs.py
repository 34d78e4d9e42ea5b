"""Sessions of a run that a program drives: reports in them count too."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest
from tests.support.sessions import desk
from tests.support.waiting import eventually

from gatebell import Phase, Workflow
from gatebell.adapters.system import processes
from gatebell.app.runtime import build_dependencies
from gatebell.domain.runs.runs import RunChange
from gatebell.services.runs import manage_runs
from gatebell.services.sessions import lost_visits, run_session

__all__ = ["desk"]

PATIENCE_SECONDS = 30
NEEDS = {"status": "NEEDS_HUMAN", "question": "Which way?"}
DONE = {"status": "DONE", "summary": "to the left"}

coding = Workflow("coding", phases=[Phase("code", agent="coder", prompt="Do it.", terminal=True)])


@pytest.fixture
def program(desk, monkeypatch):
    """A program that drives a run whose agent needs a person, and prints its result."""
    monkeypatch.chdir(desk.project)
    (desk.project / "signals.json").write_text(json.dumps([NEEDS]), encoding="utf-8")
    came = []
    words = {"store": desk.store.path, "in_place": True}
    thread = threading.Thread(target=lambda: came.append(coding.run("go", **words)), daemon=True)
    thread.start()
    yield lambda: thread.join(PATIENCE_SECONDS) or came[0]
    if thread.is_alive():
        manage_runs.stop(desk.store, 1, desk.caller(), "the test is over")
        thread.join(PATIENCE_SECONDS)


def report(joined, signal):
    with open(joined.environ["GATE_SIGNAL_FILE"], "w", encoding="utf-8") as file:
        json.dump(signal, file)


@pytest.mark.proves("RUN-462")
def test_report_of_killed_session_reaches_the_program(desk, program, monkeypatch):
    """The death of the process that holds the session sends no notice."""
    (ask,) = eventually(lambda: desk.store.asks.pending_of_run(1))
    eventually(lambda: manage_runs.get(desk.store, 1).state == "waiting_human")
    joined = run_session.open_visit(
        desk.store, build_dependencies(desk.store), ask.id, desk.caller()
    )
    report(joined, DONE)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as holder:
        looks = holder_is_seen(monkeypatch, str(processes.identify(holder.pid)))
        now = manage_runs.get(desk.store, 1)
        held = joined.turn._replace(process=str(processes.identify(holder.pid)))
        assert desk.store.runs.change(RunChange(now, turns=(held,)), now)
        assert looks.wait(PATIENCE_SECONDS)
        holder.kill()
    assert program().output["summary"] == "to the left"
    settled = desk.store.asks.get(ask.id)
    assert (settled.settled_by, settled.settled_via) == ("person:ada", "session")


def holder_is_seen(monkeypatch, process):
    """It is set after the program found this holder alive."""
    take_back, seen = lost_visits.take_back_lost, threading.Event()

    def taking_back(store, turns):
        take_back(store, turns)
        if process in [turn.process for turn in turns]:
            seen.set()

    monkeypatch.setattr(lost_visits, "take_back_lost", taking_back)
    return seen
