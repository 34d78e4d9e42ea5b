"""Workflows of phases on the command line, in programs, in the web inbox, and type-checked."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.flow_harness import Harness
from tests.support.run_project import RunProject
from tests.support.waiting import eventually
from tests.support.web_inbox import Inbox

from gatebell import HumanInput, Phase, Workflow

HERE = Path(__file__).parent
ARTICLE = '''"""Research, write, publish."""
from gatebell import HumanInput, Phase, Workflow

article = Workflow("article", {"facts": ""}, phases=[
    Phase("research", agent="quick", prompt="Look around",
          update=lambda state, signal: {"facts": signal.summary},
          human=HumanInput(lambda s: f"Enough? {s.facts}", "approval"),
          next={"yes": "write", "no": "research"}),
    Phase("write", agent=lambda s: s.facts.upper(),
          human=HumanInput("Which title?", "choice", ["Plain", "Other…"]), next="publish"),
    Phase("publish", agent=lambda s: s.answer_of("write").value, terminal=True),
])
print("loaded")
'''
PROGRAM = """import sys
from gatebell import HumanInput, Phase, Workflow, cli_prompt

print("the file is loaded")
greeting = Workflow("greeting", phases=[
    Phase("greet", agent=lambda s: "hello", human=HumanInput("Say hello?", "approval"), terminal=True),
])

if __name__ == "__main__":
    result = greeting.run("hi", cli_prompt() if "ask" in sys.argv else None)
    print("approved:", result.approved, result.history[0]["actor"], result.history[0]["reason"])
"""


@pytest.fixture
def project(world):
    made = RunProject(world)
    (made.folder / ".gate" / "flows" / "article.py").write_text(ARTICLE)
    (made.folder / "program.py").write_text(PROGRAM)
    made.commit()
    yield made
    made.go()


@pytest.mark.proves("PHASE-31", "S1-P2", "S1-12", "S1-B24")
def test_workflow_is_run_like_every_flow(world, project):
    running = world.ada.start("run", "article", "go")
    world.ada.gate("answer", project.ask(1).id, "no", "--note", "more")
    eventually(lambda: len(world.store.asks.of_run(1)) == 2)
    assert project.ask(1).question.prompt == "Enough? quick is done"
    world.ada.gate("answer", project.ask(1).id, "yes")
    choice = eventually(
        lambda: [ask for ask in world.store.asks.pending_of_run(1) if ask.question.other]
    )[0]
    world.ada.gate("answer", choice.id, "Plain")
    out, err = running.communicate(timeout=60)
    assert running.returncode == 0, (out, err)
    assert "phase research" in out and "phase  input:requested" in out
    run = project.run(1)
    assert [one["phase"] for one in run.result["history"]] == ["research", "research", "write"]
    assert run.result["output"] == "Plain"
    logs = world.plain.gate("logs", "1").out
    assert logs.count("input:requested") == logs.count("input:received") == 3
    assert logs.count("agent:completed") == 4


@pytest.mark.proves("PHASE-32")
def test_workflow_is_listed_and_drawn(world, project):
    flows = {one["name"]: one for one in json.loads(world.plain.gate("flows", "--json").out)}
    assert flows["article"]["flows"] == ["article"]
    assert flows["article"]["about"] == "Research, write, publish."
    drawn = world.plain.gate("flows", "show", "article", "--mermaid")
    assert drawn.code == 0 and drawn.out.startswith('---\ntitle: "article"\n---\nflowchart TD\n')
    assert 'p1 -->|"no"| p1' in drawn.out and "loaded" in drawn.err
    assert "Workflow(" in world.plain.gate("flows", "show", "article").out


@pytest.mark.proves("PHASE-32")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("flows", "--mermaid"), 2),
        (("flows", "show", "article", "--mermaid", "--json"), 2),
        (("flows", "show", "simple", "--mermaid"), 2),
        (("flows", "show", "nowhere", "--mermaid"), 5),
    ],
)
def test_flow_that_cannot_be_drawn_says_why(world, project, words, code):
    refused = world.plain.gate(*words)
    assert refused.code == code and refused.err


@pytest.mark.proves("PHASE-33", "S1-B12", "S1-P2")
def test_process_that_takes_over_a_run_finds_its_workflow(world, project, tmp_path):
    printed = tmp_path / "printed"
    with printed.open("w") as stream:
        program = subprocess.Popen(
            [sys.executable, "program.py"], cwd=project.folder, env=world.ada.environ,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stream,
        )  # fmt: skip
    ask = project.ask(1)
    project.is_in(1, "waiting_human")
    eventually(lambda: f"{ask.id} waits in the inbox" in printed.read_text())
    program.kill()
    program.wait()
    world.ada.gate("answer", ask.id, "yes")
    resumed = world.ada.gate("resume", "1")
    assert resumed.code == 0, resumed.err
    assert project.run(1).result["output"] == "hello" and "the file is loaded" in resumed.out


@pytest.mark.proves("PHASE-33", "S1-38", "S1-52")
def test_cli_prompt_needs_a_terminal_and_drops_early_input(world, project):
    outer, inner = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "program.py", "ask"], cwd=project.folder, env=world.ada.environ,
        stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
    )  # fmt: skip
    os.close(inner)
    seen = b""

    def until_shown(words):
        nonlocal seen
        while words not in seen:
            seen += os.read(outer, 4096)
        seen = seen.partition(words)[2]

    os.write(outer, b"yes\n")
    until_shown(b"yes or no: ")
    os.write(outer, b"what?\n")
    until_shown(b"neither yes nor no")
    until_shown(b"yes or no: ")
    os.write(outer, b"no\n")
    until_shown(b"Reason (optional): ")
    os.write(outer, b"not today\n")
    until_shown(b"approved: False person:ada not today")
    assert program.wait(30) == 0
    os.close(outer)
    (ask,) = world.store.asks.of_run(1)
    assert (ask.settled_via, ask.decision) == ("cli_prompt", "rejected")


@pytest.mark.proves("EASE-4")
def test_cli_prompt_notices_answer_from_elsewhere(world, project):
    outer, inner = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "program.py", "ask"], cwd=project.folder, env=world.ada.environ,
        stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
    )  # fmt: skip
    os.close(inner)
    seen = read_until(outer, b"yes or no: ")
    answered = world.bob.gate("answer", project.ask(1).id, "no", "--note", "not now")
    assert answered.code == 0 and "No process drives" not in answered.out + answered.err
    seen = read_until(outer, b"approved: False person:bob not now")
    assert b"was already answered by person:bob" in seen
    assert program.wait(30) == 0
    os.close(outer)


def read_until(terminal, words):
    seen = b""
    while words not in seen:
        assert select.select([terminal], [], [], 30)[0], seen
        seen += os.read(terminal, 4096)
    return seen


@pytest.mark.proves("S1-B20", "S1-P5", "S1-B23", "S1-60")
def test_answer_in_the_web_inbox_continues_the_workflow(tmp_path):
    (tmp_path / "project").mkdir()
    inbox = Inbox(tmp_path)
    inbox.store.clock = inbox.clock
    house = Harness(tmp_path / "project", inbox.store)
    phase = Phase("a", human=HumanInput("Go on?", "approval"), terminal=True)
    house.go(Workflow("web", phases=[phase]))
    person, ask = inbox.client("answer", "read"), house.ask()
    assert "Go on?" in person.get("/api/asks").text
    told = {"value": "yes", "digest": ask.digest}
    assert person.post(f"/api/asks/{ask.id}/answers", json=told).status_code < 300
    assert house.run().state == "ready"
    assert house.drive().result["approved"] is True
    house.close()
    inbox.close()


TYPED = """
from dataclasses import dataclass
from gatebell import HumanInput, Phase, Workflow, cli_prompt
from gatebell.api.phases import HumanInputHandler, PhaseEvent, Reply, Result, State
from collections.abc import Sequence

@dataclass
class Plan:
    goal: str = ""

@dataclass
class Draft:
    text: str

def start(state: Plan, given: str) -> Plan:
    return Plan(given)

def update(state: Plan, output: Draft) -> None:
    state.goal = output.text

def human(state: State[Plan], output: Draft) -> HumanInput | None:
    return HumanInput(output.text + state.data.goal, "approval") if output.text else None

def route(state: State[Plan], output: Draft) -> str:
    return "end" if state.approved else "draft"

class Chat:
    async def approval(self, prompt: str, ask_id: str) -> bool:
        return True

    def choice(self, prompt: str, options: Sequence[str], ask_id: str) -> Reply:
        return Reply("own", other=True)

flow = Workflow("typed", Plan, start, [
    Phase("draft", agent="writer", prompt=lambda s: s.goal, returns=Draft, update=update, human=human, next=route),
    Phase("pick", human=HumanInput("?", "choice", lambda s: ["a"]), next={"a": "end"}),
    Phase("end", agent=lambda s: s.goal, terminal=True),
])
handler: HumanInputHandler = Chat()
also: HumanInputHandler = cli_prompt()

def use(event: PhaseEvent) -> str:
    return event.name

result: Result = flow.run("x", handler, observer=use)
for event in flow.execute("x", also):
    use(event)
"""
WRONG = """
from gatebell import Phase, Workflow
from gatebell.api.phases import State

def human(state: State[dict[str, str]], output: object) -> str:
    return "yes"

Phase("a", agent="x", human=human, terminal=True)
Phase("b", agent="x", next=3)
Workflow("w", phases=[]).run(3)
"""


@pytest.mark.proves("S1-B1", "S1-51")
def test_public_types_pass_strict_checks_and_catch_mistakes(tmp_path):
    for name, text in (("typed.py", TYPED), ("wrong.py", WRONG)):
        (tmp_path / name).write_text(text)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", str(tmp_path),
         "--follow-imports=silent", "typed.py", "wrong.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
        env=os.environ | {"MYPYPATH": str(HERE.parent.parent / "src")},
    )  # fmt: skip
    lines = [line.split(":")[:2] for line in checked.stdout.splitlines() if ": error:" in line]
    assert lines == [["wrong.py", "8"], ["wrong.py", "9"], ["wrong.py", "10"]], checked.stdout
