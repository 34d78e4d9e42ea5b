"""The real claude in a slow tool while the driver of its run is killed."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path

import pytest
from tests.support.agent_project import Project, report
from tests.support.waiting import eventually

from gatebell.adapters.system import processes
from gatebell.install.scripted_model import script, tool

SLOW = "touch begun; sleep 120; echo slow >>ledger"
QUICK = "echo quick >>ledger"


class Onlooker:
    """Records which turns work at the same moment."""

    def __init__(self):
        self.seen = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self):
        while not self._over.is_set():
            found = [_turn(process) for process in Path("/proc").glob("[0-9]*")]
            self.seen.add(frozenset(turn for turn in found if turn))
            # So that the agents get processor time, too.
            self._over.wait(0.01)

    def close(self):
        self._over.set()
        self._thread.join()


def _turn(process):
    try:
        # Until its shell starts it, an agent's program does not exist.
        if b"IFS= read" in (process / "cmdline").read_bytes():
            return ""
        variables = (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    return next((one.decode() for one in variables if one.startswith(b"GATE_TURN=")), "")


def _calls(house):
    """Return the calls that claude's logs contain."""
    records = [
        json.loads(line)
        for log in house.home.glob(".claude/projects/*/*.jsonl")
        for line in log.read_text(encoding="utf-8").splitlines(keepends=True)
        if line.endswith("\n")
    ]
    return json.dumps([record for record in records if record["type"] == "assistant"])


@pytest.fixture
def onlooker():
    made = Onlooker()
    yield made
    made.close()


@pytest.mark.proves("RUN-506")
def test_claude_in_slow_tool_ends_before_its_session_continues(house, onlooker):
    project = Project(house)
    steps = [
        tool("Bash", command=SLOW, description="be slow"),
        tool("Bash", command=QUICK, description="be quick"),
        report("DONE", "both are done"),
    ]
    project.start(
        f"""
from gatebell import flow, run

@flow
def feature(prompt):
    return run("coder", {script(steps)!r}).summary
"""
    )
    folder = Path(eventually(lambda: (run := house.store.runs.get(1)) and run.folder))
    eventually((folder / "begun").exists)
    # Claude logs a call that needs no permission just after its start. If claude is killed in
    # between, its next turn cannot know of the call.
    eventually(lambda: "be slow" in _calls(house))
    project.process.kill()
    project.process.communicate()
    worker = subprocess.Popen(
        [house.bin / "gate", "worker"], env=house.environ, cwd=house.project,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        eventually(lambda: house.store.runs.get(1).has_ended, 100)
    finally:
        worker.terminate()
        said, _ = worker.communicate(timeout=60)
    run = house.store.runs.get(1)
    assert (run.state, run.result) == ("completed", "both are done"), (run, said)
    turns = house.store.runs.turns(1)
    assert len(turns) == 2 and turns[0].session == turns[1].session
    names = [f"GATE_TURN={turn.id}" for turn in turns]
    assert any(names[0] in seen for seen in onlooker.seen)
    assert any(names[1] in seen for seen in onlooker.seen)
    assert not any(set(names) <= seen for seen in onlooker.seen)
    assert processes.find_marked(("GATE_TURN", turns[0].id)) == []
    assert (folder / "ledger").read_text(encoding="utf-8") == "quick\n"
    assert "You were interrupted" in project.sent(1)
