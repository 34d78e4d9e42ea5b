"""The examples of docs/sessions.md, the example harness, and sessions at the asker's terminal."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from tests.support.answering_person import AnsweringPerson
from tests.support.sessions import Screen

from gatebell import Approval, Gate, Selection
from gatebell.api import human
from gatebell.app import environment
from gatebell.app.wiring import open_throwaway_store
from gatebell.services.asks import create_ask

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sessions.md").read_text(encoding="utf-8")
HARNESS = ROOT / "examples" / "session_harness.py"

# Reads the session file that it is given, and obeys one word a line.
PROGRAM = """#!{python}
import os, re, sys
from pathlib import Path
words = sys.argv[-1]
paper = os.environ.get("GATE_PROMPT_FILE") or re.search(r"Read (.*?): ", words)[1]
print("read:", Path(paper).read_text(), flush=True)
print("options:", sys.argv[1:-1], "in", os.getcwd(), "marked", os.environ["GATE_TURN"][:2], flush=True)
for line in sys.stdin:
    if line.strip() == "exit":
        sys.exit(0)
    if line.strip() == "fail":
        sys.exit(3)
"""
ASKER = """
import sys
from gatebell import Gate, Structured
from typing import NamedTuple

class Verdict(NamedTuple):
    ready: bool

gate = Gate(token=sys.argv[1])
try:
    for prompt in sys.argv[2:]:
        result = gate.human.ask_interactive(prompt, returns=Verdict)
        print("ASKER GOT", result.response, result.settled_by, result.settled_via, result.attempts)
except KeyboardInterrupt:
    print("ASKER LEFT", gate.human.status)
"""


@pytest.mark.proves(
    *("SES-42", "S0-31", "S0-32", "S0-33", "S0-86", "S0-87", "S0-88", "S0-B17", "S0-B32"),
)
def test_examples_of_the_page_work_as_described(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GATE_STORE", str(tmp_path / "gate.db"))
    monkeypatch.setattr(environment, "ancestors", list)
    values = {
        "Please": "yes",
        "Is": {"approved": False, "severity": "high", "notes": "it is real"},
        "Deploy": "No",
        "Merge": "no",
    }
    page = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", page)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    with AnsweringPerson(str(tmp_path / "gate.db"), values):
        for block in blocks:
            exec(compile(block, "docs/sessions.md", "exec", dont_inherit=True), vars(page))
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == ["migrate", "it is real says person:ada", "No"]
    assert said[3].startswith("sonnet") and len(blocks) == 6
    store = open_throwaway_store(str(tmp_path / "gate.db"))
    assert store.asks.pending(10) == []
    prompts = {one.question.prompt: one.value for one in store.asks.list_settled(10)}
    assert prompts["Why does the build fail?"] == "the cache was stale"
    store.close()


def program(folder, name="my-agent"):
    path = folder / name
    path.write_text(PROGRAM.format(python=sys.executable), encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def screens():
    made = []
    yield made
    for one in made:
        one.close()


def harness(world, screens, *words):
    command = [sys.executable, str(HARNESS), "--once", *map(str, words)]
    screens.append(Screen(world.ada, program=command, GATE_TOKEN=world.tokens["ada"]))
    return screens[-1]


@pytest.mark.proves("SES-43", "S0-85", "S0-58", "S0-61", "S0-62", "S0-66", "S0-106", "S0-B27")
def test_example_harness_opens_what_waits_and_completes_it(world, tmp_path, screens):
    bob = Gate(world.store, token=world.tokens["bob"]).human
    plain = Gate(world.store).open("Not for it?")
    config = {"returns": Approval, "context": {"files": ["a.sql"]}, "cwd": str(tmp_path)}
    ask_id = bob.request_interactive("- Is the schema good?", config)
    screen = harness(world, screens, program(tmp_path), "--fast")
    screen.until("Opening my-agent for")
    screen.until("marked t-")
    shown = screen.seen
    assert "read: - Is the schema good?" in shown and '"a.sql"' in shown
    assert f"options: ['--fast'] in {tmp_path}" in shown
    screen.type("exit\n")
    screen.until("approved or rejected (Enter: not yet): ")
    screen.type("perhaps\n")
    after = screen.until("Not taken: expected yes or no")
    screen.until("not yet): ", after=after)
    screen.type("rejected\n")
    assert screen.end() == 0
    result = bob.wait(ask_id)
    assert (result.outcome, result.response, result.settled_by) == (
        "completed",
        "rejected",
        "person:ada",
    )
    assert result.duration_ms > 0 and create_ask.get(world.store, plain).pending


@pytest.mark.proves("SES-43", "S0-B25", "S0-21", "S0-27")
def test_example_harness_reports_the_outcome(world, tmp_path, screens):
    bob = Gate(world.store, token=world.tokens["bob"]).human
    ask_id = bob.request_interactive("Q?", {"returns": Selection(["A", "B"])})
    gone = harness(world, screens, tmp_path / "nothing-here")
    gone.until("failed")
    assert gone.end() == 0
    screen = harness(world, screens, program(tmp_path))
    screen.until("marked t-")
    screen.type("fail\n")
    screen.until("failed exit code 3")
    screen = harness(world, screens, program(tmp_path))
    screen.until("marked t-")
    screen.type("exit\n")
    screen.until("'A' or 'B' (Enter: not yet): ")
    screen.type("\n")
    screen.until("keeps waiting")
    assert [one.end for one in world.store.asks.visits(ask_id)] == ["failed", "failed", "left"]
    assert create_ask.get(world.store, ask_id).pending
    held = bob.claim(ask_id)
    assert held.visit.number == 4
    harness(world, screens, program(tmp_path)).until(
        "is left alone: person:bob has had this session"
    )
    bob.complete_interactive(ask_id, "cancelled")
    short = bob.request_interactive("Q?", {"session_timeout": 0.5})
    harness(world, screens, program(tmp_path)).until("timeout its time is up")
    assert bob.wait(short).outcome == "timeout"


def asker(world, tmp_path, screens, *prompts, **around):
    """Start a program that asks, at a person's terminal."""
    (tmp_path / "asker.py").write_text(ASKER, encoding="utf-8")
    prompts = prompts or ["Is it ready?"]
    command = [sys.executable, str(tmp_path / "asker.py"), world.tokens["ada"], *prompts]
    told = {"GATE_SESSION_CLI": "command", "GATE_SESSION_COMMAND": str(program(tmp_path))}
    screens.append(Screen(world.plain, program=command, **told | around))
    return screens[-1]


def the_ask(world):
    (ask,) = world.store.asks.pending(10)
    return ask


@pytest.mark.proves("SES-44", "S0-90", "S0-107", "S0-B18")
def test_asker_at_a_terminal_opens_the_session_there(world, tmp_path, screens):
    screen = asker(world, tmp_path, screens, "Is it ready?", "And now?")
    after = 0
    for prompt, word, answer in (("Is it ready?", "yes", True), ("And now?", "no", False)):
        after = screen.until(f"read: {prompt}", after=after)
        after = screen.until("marked t-", after=after)
        screen.type("exit\n")
        after = screen.until("ready (yes or no):", after=after)
        screen.type(f"{word}\n")
        got = f"ASKER GOT Verdict(ready={answer}) person:ada session 1"
        after = screen.until(got, after=after)
    assert screen.end() == 0


@pytest.mark.proves("SES-44", "LAW-1")
def test_undecided_session_can_be_answered_anywhere(world, tmp_path, screens):
    screen = asker(world, tmp_path, screens)
    screen.until("marked t-")
    screen.type("exit\n")
    screen.until("ready (yes or no):")
    screen.type("\x04")
    screen.until("still waiting")
    assert world.bob.gate("answer", the_ask(world).id, '{"ready": false}').code == 0
    screen.until("ASKER GOT Verdict(ready=False) person:bob cli 1")
    assert screen.end() == 0


@pytest.mark.proves("SES-44", "LAW-3")
def test_no_session_opens_in_an_agents_terminal(world, tmp_path, screens):
    screen = asker(world, tmp_path, screens, CLAUDECODE="1")
    until = time.monotonic() + 20
    while not world.store.asks.pending(10):
        assert time.monotonic() < until, screen.seen
        screen.read(0.02)
    assert world.bob.gate("answer", the_ask(world).id, '{"ready": false}').code == 0
    screen.until("ASKER GOT Verdict(ready=False) person:bob cli 0")
    # It is not even tried: no text of `gate continue` appears.
    assert screen.end() == 0 and screen.seen.startswith("ASKER GOT")


@pytest.mark.proves("SES-44", "S0-112")
def test_terminal_has_one_session_at_a_time(world, monkeypatch):
    handle = Gate(world.store).human
    monkeypatch.setattr(handle, "_is_attended", lambda: True)
    # A process that has the terminal would keep it for ever if it were taken again.
    with human._terminal:
        handle.open_here("a-222")


@pytest.mark.proves("SES-44", "LAW-1")
def test_ctrl_c_at_the_decision_stops_the_asker_only(world, tmp_path, screens):
    screen = asker(world, tmp_path, screens)
    screen.until("marked t-")
    screen.type("exit\n")
    screen.until("ready (yes or no):")
    # CPython notices a Ctrl+C just before readline waits only with the next key.
    screen.type("\x03")
    until = time.monotonic() + 2
    while "Not answered" not in screen.seen and time.monotonic() < until:
        screen.read(0.1)
    if "Not answered" not in screen.seen:
        screen.type("\x03")
    screen.until("ASKER LEFT pending")
    assert screen.end() == 0 and "Traceback" not in screen.seen
    assert the_ask(world).pending
