"""A program's own run beside workers: the program keeps it while it lives, and no longer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from tests.support.run_project import RunProject
from tests.support.waiting import eventually

from gatebell.services import members

PATIENCE_SECONDS = 60
ROUNDS = 6
QUESTIONS = ("First?", "Second?", "Third?")
# Notes name each step and its process. A step that finds "hold-WHAT" on the stage waits until
# the file is removed.
PROGRAM = """import json, os, sys, time
from gatebell import HumanInput, Phase, Workflow

stage = {stage!r}

def note(*what):
    with open(os.path.join(stage, "notes"), "a") as file:
        file.write(json.dumps([os.getpid(), *what]) + "\\n")

def hold(what):
    path = os.path.join(stage, "hold-" + what)
    if os.path.exists(path):
        note("held", what)
    while os.path.exists(path):
        time.sleep(0.01)

def work(name):
    def agent(state):
        note("agent", name)
        hold("agent-" + name)
        return name
    return agent

def asking(prompt):
    return HumanInput(prompt, "approval")

series = Workflow("series", phases=[
    Phase("a", agent=work("a"), human=asking("First?"), next={{"yes": "b", "no": "b"}}),
    Phase("b", agent=work("b"), human=asking("Second?"), next={{"yes": "c", "no": "c"}}),
    Phase("c", agent=work("c"), human=asking("Third?"), next={{"yes": "d", "no": "d"}}),
    Phase("d", agent=work("d"), terminal=True),
])

class Handler:
    def approval(self, prompt, ask_id):
        note("asked", prompt)
        hold("handler-" + prompt)
        return True

    def choice(self, prompt, options, ask_id):
        raise NotImplementedError

if __name__ == "__main__":
    handler = Handler() if "handler" in sys.argv else None
    observer = lambda e: note("event", e.name, e.phase)
    if "attach" in sys.argv:
        result = series.attach(int(sys.argv[1]), handler, observer=observer)
        note("result", result.run_id, result.output)
    else:
        for _ in range(int(sys.argv[1])):
            series.run("go", handler, observer=observer)
"""
WAYS = {"worker": ["worker"], "up": ["up", "--port=0"]}
POINTS = [
    *[
        ("agent-a", "worker"),
        ("handler-First?", "up"),
        ("agent-c", "up"),
        ("handler-Third?", "worker"),
    ],
    pytest.param("agent-a", "up", marks=pytest.mark.matrix),
    pytest.param("handler-First?", "worker", marks=pytest.mark.matrix),
    pytest.param("agent-c", "worker", marks=pytest.mark.matrix),
    pytest.param("handler-Third?", "up", marks=pytest.mark.matrix),
]
PIDS = "first = step(os.getpid)\n    pause('Go on?')\n    return [first, step(os.getpid)]"


class Programs(RunProject):
    def __init__(self, world):
        super().__init__(world)
        (self.folder / "program.py").write_text(PROGRAM.format(stage=str(self.stage)))
        flow = f"import os\nfrom gatebell.api.flows import flow, pause, step\n\n\n@flow\ndef pids(_):\n    {PIDS}\n"
        (self.folder / ".gate" / "flows" / "pids.py").write_text(flow)
        self.commit()
        self.begun = []

    def start(self, *words):
        """Start a gate command in the background."""
        return self._begun(self.world.ada.start(*words))

    def program(self, *words):
        return self._begun(
            subprocess.Popen(
                [sys.executable, "program.py", *words], cwd=self.folder, env=self.world.ada.environ,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
        )  # fmt: skip

    def _begun(self, process):
        self.begun.append(process)
        return process

    def work(self, way):
        """Start a worker that drives every ready run."""
        worker = self.start(*WAYS[way])
        eventually(lambda: members.has_worker(self.world.store))
        return worker

    def hold(self, what):
        (self.stage / f"hold-{what}").touch()

    def release(self, what):
        (self.stage / f"hold-{what}").unlink()

    def notes(self, kind=""):
        path = self.stage / "notes"
        lines = path.read_text().splitlines() if path.exists() else []
        return [note for note in map(json.loads, lines) if note[1] == kind or not kind]

    def is_passed_over(self):
        """Wait until a worker has driven another run from its beginning to its end."""
        self.world.ada.gate("run", "simple", "--detach")
        newest = self.world.store.runs.newest(1)[0]
        self.is_in(newest.id, "completed")

    def answer_all(self, number):
        while self.is_in(number, "waiting_human", "completed").state != "completed":
            for ask in self.world.store.asks.pending_of_run(number):
                self.world.ada.gate("answer", ask.id, "yes")

    def end(self):
        for process in self.begun:
            process.kill()
            process.communicate()


@pytest.fixture
def project(world):
    made = Programs(world)
    yield made
    made.end()


@pytest.mark.proves("PHASE-50")
@pytest.mark.parametrize("way", WAYS)
def test_handler_hears_every_question_beside_worker(world, project, way):
    project.work(way)
    program = project.program(str(ROUNDS), "handler")
    assert program.wait(PATIENCE_SECONDS) == 0, program.stderr.read()
    assert {note[0] for note in project.notes()} == {program.pid}
    assert [note[2] for note in project.notes("asked")] == list(QUESTIONS) * ROUNDS
    assert [note[2] for note in project.notes("agent")] == list("abcd") * ROUNDS
    phase = ["agent:completed", "input:requested", "input:received"]
    assert [note[2] for note in project.notes("event")] == [
        "workflow:started", *phase * 3, "agent:completed", "workflow:ended",
    ] * ROUNDS  # fmt: skip


@pytest.mark.proves("PHASE-51")
def test_answer_from_elsewhere_reaches_the_program(world, project):
    project.work("worker")
    program = project.program("1")
    project.answer_all(1)
    assert program.wait(PATIENCE_SECONDS) == 0, program.stderr.read()
    assert {note[0] for note in project.notes()} == {program.pid}
    assert project.run(1).result["output"] == "d"


@pytest.mark.proves("PHASE-51", "PHASE-53")
def test_stopped_program_keeps_its_run_until_killed(world, project):
    """The same holds for an answered run, which any worker could continue."""
    program = project.program("1")
    ask = project.ask(1)
    project.is_in(1, "waiting_human")
    program.send_signal(signal.SIGSTOP)
    project.work("worker")
    world.ada.gate("answer", ask.id, "yes")
    project.is_passed_over()
    assert project.run(1).state == "ready"
    status = world.ada.gate("status", "1").out
    assert f"Driven by: process {program.pid} here" in status and "Nobody" not in status
    program.kill()
    program.wait()
    project.answer_all(1)
    assert {note[0] for note in project.notes("agent") if note[2] != "a"}.isdisjoint({program.pid})


@pytest.mark.proves("PHASE-52", "LAW-1")
@pytest.mark.parametrize(("point", "way"), POINTS)
def test_worker_continues_after_program_is_killed(world, project, point, way):
    project.hold(point)
    project.work(way)
    program = project.program("1", "handler")
    eventually(lambda: project.notes("held"))
    program.kill()
    program.wait()
    project.release(point)
    project.answer_all(1)
    agents = [(note[0] == program.pid, note[2]) for note in project.notes("agent")]
    # The step that was at work runs again; recorded steps do not.
    name = {"First?": "a", "Third?": "c"}.get(point.partition("-")[2], point[-1])
    before = [(True, one) for one in "abcd" if one <= name]
    again = [(False, one) for one in "abcd" if one > name or (one == name and "agent" in point)]
    assert agents == before + again


@pytest.mark.proves("PHASE-59", "LAW-5")
@pytest.mark.parametrize("point", ["agent-a", "handler-First?", "agent-c", "handler-Third?"])
def test_killed_program_is_followed_by_one_that_attaches(project, point):
    project.hold(point)
    first = project.program("1", "handler")
    eventually(lambda: project.notes("held"))
    first.send_signal(signal.SIGKILL)
    first.wait()
    project.release(point)
    second = project.program("1", "attach", "handler")
    assert second.wait(PATIENCE_SECONDS) == 0, second.stderr.read()
    later = [note for note in project.notes() if note[0] == second.pid]
    # Work without a record runs again, recorded work does not.
    name = {"First?": "a", "Third?": "c"}.get(point.partition("-")[2], point[-1])
    agents = [note[2] for note in later if note[1] == "agent"]
    assert agents == [one for one in "abcd" if one > name or (one == name and "agent" in point)]
    asked = QUESTIONS[QUESTIONS.index(f"{point[8:]}") :] if "handler" in point else QUESTIONS["abc".index(name) :]  # fmt: skip
    assert [note[2] for note in later if note[1] == "asked"] == list(asked)
    phase = ["agent:completed", "input:requested", "input:received"]
    assert [note[2] for note in later if note[1] == "event"] == [
        "workflow:started", *phase * 3, "agent:completed", "workflow:ended",
    ]  # fmt: skip
    assert later[-1][1:] == ["result", 1, "d"]


@pytest.mark.proves("PHASE-60", "LAW-10")
def test_attach_refuses_a_living_program_and_repeats_a_result(world, project):
    first = project.program("1")
    project.ask(1)
    beside = project.program("1", "attach", "handler")
    assert beside.wait(PATIENCE_SECONDS) == 1
    assert "RefusedError: run 1 is kept by a program that is alive" in beside.stderr.read()
    first.kill()
    first.wait()
    second = project.program("1", "attach", "handler")
    assert second.wait(PATIENCE_SECONDS) == 0, second.stderr.read()
    third = project.program("1", "attach")
    assert third.wait(PATIENCE_SECONDS) == 0, third.stderr.read()
    assert project.notes("result") == [[one.pid, "result", 1, "d"] for one in (second, third)]
    world.ada.gate("run", "simple")
    other = project.program("2", "attach")
    assert other.wait(PATIENCE_SECONDS) == 1
    assert "run 2 is a run of simple" in other.stderr.read()


@pytest.mark.proves("PHASE-53")
def test_second_resume_shows_a_run_and_takes_over(world, project):
    program = project.program("1")
    ask = project.ask(1)
    status = world.ada.gate("status", "1").out
    assert f"Driven by: process {program.pid} here" in status
    second = project.start("resume", "1")
    told = second.stderr.readline()
    assert told == (
        f"gate: run 1 is driven by process {program.pid} here; this shows the run, and drives it "
        "after that\n"
    )
    world.ada.gate("answer", ask.id, "yes")
    ask = eventually(
        lambda: [one for one in world.store.asks.pending_of_run(1) if one.id != ask.id]
    )[0]
    assert {note[0] for note in project.notes("agent")} == {program.pid}
    program.kill()
    program.wait()
    eventually(lambda: f"process {second.pid} here" in world.ada.gate("status", "1").out)
    project.answer_all(1)
    assert second.wait(PATIENCE_SECONDS) == 0
    assert {note[0] for note in project.notes("agent") if note[2] > "b"} == {second.pid}


@pytest.mark.proves("RUN-461")
@pytest.mark.parametrize("way", WAYS)
def test_gate_run_drives_its_run_beside_worker(world, project, way):
    project.work(way)
    running = project.start("run", "pids")
    project.is_in(1, "waiting_human")
    world.ada.gate("answer", project.ask(1).id, "yes")
    assert running.wait(PATIENCE_SECONDS) == 0
    assert project.run(1).result == [running.pid] * 2


@pytest.mark.proves("RUN-461")
def test_gate_resume_keeps_the_run_it_continues(world, project):
    world.ada.gate("run", "pids", "--no-exec")
    project.work("worker")
    resumed = project.start("resume", "1")
    project.is_in(1, "waiting_human")
    world.ada.gate("answer", project.ask(1).id, "yes")
    assert resumed.wait(PATIENCE_SECONDS) == 0
    assert project.run(1).result == [resumed.pid] * 2
    again = project.start("resume", "1", "--from", "2")
    world.ada.gate("answer", project.ask(2).id, "yes")
    assert again.wait(PATIENCE_SECONDS) == 0
    assert project.run(2).result == [resumed.pid, again.pid]


@pytest.mark.proves("RUN-461")
def test_interrupted_gate_run_leaves_its_run_to_others(world, project):
    running = project.start("run", "pids")
    ask = project.ask(1)
    project.is_in(1, "waiting_human")
    running.send_signal(signal.SIGINT)
    assert running.wait(PATIENCE_SECONDS) == 130
    assert project.run(1).owner == ""
    worker = project.work("worker")
    world.ada.gate("answer", ask.id, "yes")
    project.is_in(1, "completed")
    assert project.run(1).result == [running.pid, worker.pid]
    assert os.getpid() not in project.run(1).result
