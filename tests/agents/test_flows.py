"""Flows with the real claude: sessions, signals, permissions, people in between."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest
from tests.support.waiting import eventually

from gatebell.install.scripted_model import script, text, tool

ROLES = ("architect", "coder", "reviewer", "deployer", "test-runner", "autonomous-agent")


class Project:
    """A project with flows and roles, in a house where ada answers."""

    def __init__(self, house):
        self.house = house
        program = shlex.join([*house.network.prefix, house.programs.claude])
        (house.bin / "claude").write_text(f'#!/bin/sh\nexec {program} "$@"\n', encoding="utf-8")
        (house.bin / "claude").chmod(0o755)
        house.claude_settings.unlink()
        for folder in ("agents", "flows"):
            (house.project / ".gate" / folder).mkdir(parents=True)
        for role in ROLES:
            words = f"---\ndescription: a {role}\n---\nYou are the {role} of this project.\n"
            self._write(f"agents/{role}.md", words)
        git = ["git", "-c", "user.name=ada", "-c", "user.email=ada@example.org"]
        subprocess.run([*git, "add", "."], cwd=house.project, check=True)
        subprocess.run([*git, "commit", "-qm", "begin"], cwd=house.project, check=True)

    def _write(self, name, words):
        (self.house.project / ".gate" / name).write_text(words, encoding="utf-8")

    def start(self, flow, prompt="Add login", flow_name="feature"):
        """`gate run` in a process of its own, as a person starts it."""
        self._write("flows/feature.py", flow)
        self.process = subprocess.Popen(
            [self.house.bin / "gate", "run", f"feature:{flow_name}", prompt],
            env=self.house.environ, cwd=self.house.project, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def asked(self, prompt):
        """The pending ask of this prompt, once it is there."""

        def look():
            if self.process.poll() is not None:
                raise AssertionError(self.process.stdout.read())
            return [a for a in self.store.asks.pending(9) if prompt in a.question.prompt]

        return eventually(look, 40)[0]

    @property
    def store(self):
        return self.house.store

    def answer(self, prompt, *words):
        ask = self.asked(prompt)
        self.house.answer(ask, *words)
        return ask

    def end(self):
        out, _ = self.process.communicate(timeout=60)
        return self.store.runs.get(1), out

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def calls(self):
        return {call.path: call for call in self.store.runs.calls(1)}

    def sent(self, number):
        """What the model was told in the request of this turn."""
        turn = self.store.runs.turns(1)[number]
        found = [json.dumps(r["messages"]) for r in self.house.model.requests]
        return next(words for words in found if turn.id in words)


@pytest.fixture
def project(house):
    made = Project(house)
    yield made
    made.close()


def report(status, summary="", **more):
    return text(json.dumps({"status": status, "summary": summary, **more}))


@pytest.mark.proves("S2-21", "S2-27", "S2-33", "S2-73", "RUN-530")
def test_architect_coder_reviewer_and_two_gates(project):
    """Sessions go on, the reviewer's words reach the coder, a command is asked for."""
    made = "perl -e 'open F, q(>>), q(deployed); print F qq(once\\n)'"
    scripts = {
        "architect": [script([report("DONE", "PKCE it is")])],
        "coder": [
            script([
                tool("Write", file_path="{{login}}", content="v1"),
                tool("signal", status="DONE", summary="login is written"),
                text("That was it."),
            ]),
            script([report("DONE", "renamed")]),
        ],
        "reviewer": [
            script([report("CHANGES_REQUESTED", "call it sign_in, please")]),
            script([report("APPROVED", "good")]),
        ],
        "deployer": [script([tool("Bash", command=made, description="deploy"), report("DONE")])],
    }  # fmt: skip
    project.start(
        f"""
from gatebell import context, flow, pause, run, stuck

SCRIPTS = {scripts!r}

@flow
def feature(prompt):
    def words(role, turn=0):
        return SCRIPTS[role][turn].replace("{{{{login}}}}", context().folder + "/login.py")

    run("architect", words("architect"))
    if not pause("Approve architecture?"):
        return stuck("architecture rejected")
    for turn in range(10):
        run("coder", words("coder", turn))
        if run("reviewer", words("reviewer", turn)).status == "APPROVED":
            break
    gate = pause("Approve deployment?")
    if not gate:
        return stuck(gate.reason)
    return run("deployer", words("deployer")).status
"""
    )
    project.answer("Approve architecture?", "yes", "--note", "but keep it small")
    gate = project.answer("Approve deployment?", "yes")
    permission = project.answer("deployed", "yes")
    run, out = project.end()
    assert run.state == "completed" and run.result == "DONE", (run, out)
    assert gate.origin.owner == "run:1/7" and permission.origin.owner == "run:1/8"
    assert "sign_in" in gate.going_on and "login.py" in gate.going_on
    folder = project.house.folder / run.folder
    assert (folder / "deployed").read_text(encoding="utf-8") == "once\n"
    assert (folder / "login.py").read_text(encoding="utf-8") == "v1"
    assert not (project.house.project / "login.py").exists()
    turns = project.store.runs.turns(1)
    sessions = {role: {t.session for t in turns if t.role == role} for role in ROLES[:4]}
    assert [len(found) for found in sessions.values()] == [1, 1, 1, 1]
    again = project.sent(3)
    assert "call it sign_in, please" in again and "login is written" in again
    assert "but keep it small" in project.sent(1)
    assert again.count("You are the coder of this project.") == 1
    shown = project.house.ada.gate("show", "1", "--call", "5")
    assert "call it sign_in, please" in shown.out, shown


@pytest.mark.proves("S2-22", "S2-42", "RUN-531")
def test_an_agent_needs_a_person_three_times(project):
    """The flow does not notice: one call, one session, four turns."""
    steps = [
        report("NEEDS_HUMAN", question="Which port?"),
        report("NEEDS_HUMAN", question="Which host?", options=["a.example", "b.example"]),
        report("needs_input", reason="And the path?"),
        report("DONE", "all known"),
    ]
    project.start(
        f"""
from gatebell import flow, run

@flow
def feature(prompt):
    return run("coder", {script(steps)!r}).summary
"""
    )
    first = project.answer("Which port?", "8080")
    assert project.house.ada.gate("status", "1").out.startswith("Run 1: ")
    project.answer("Which host?", "b.example")
    project.answer("And the path?", "/login")
    run, out = project.end()
    assert (run.state, run.result) == ("completed", "all known"), (run, out)
    turns = project.store.runs.turns(1)
    assert len(turns) == 4 and len({turn.session for turn in turns}) == 1
    assert first.origin.session == f"claude/{turns[0].session}"
    last = project.sent(3)
    assert all(words in last for words in ("8080", "b.example", "/login"))
    assert [call.state for call in project.calls().values() if call.name == "run"] == ["recorded"]


SMALL = """
from gatebell import flow, pause, run, stuck

SAY = {say!r}

@flow
def linear(prompt):
    return [run(role, SAY[role]).summary for role in ("architect", "coder", "reviewer")]

@flow
def gated(prompt):
    for role in ("architect", "coder", "test-runner"):
        run(role, SAY[role])
    for _ in range(2):
        ok = pause("Approve for production deployment?")
        if not ok:
            return stuck(ok.reason)
    return run("deployer", SAY["deployer"]).status

@flow
def alone(prompt):
    result = run("autonomous-agent", SAY["autonomous-agent"], human=False)
    if result.status == "NEEDS_HUMAN":
        return stuck("Unexpected: " + result.reason)
"""


@pytest.mark.proves("S2-70", "S2-71", "S2-72", "S2-B1", "RUN-532")
@pytest.mark.parametrize(
    ("name", "answers", "state", "outcome"),
    [
        ("linear", [], "completed", ["architect is done", "coder is done", "reviewer is done"]),
        ("gated", [["yes"], ["yes"]], "completed", "DONE"),
        ("gated", [["yes"], ["no", "--note", "not today"]], "stuck", "not today"),
        ("alone", [], "stuck", "Unexpected: which way?"),
    ],
)
def test_small_workflows(project, name, answers, state, outcome):
    """Two gates with the same words are two decisions."""
    say = {role: script([report("DONE", f"{role} is done")]) for role in ROLES}
    say["autonomous-agent"] = script([report("NEEDS_HUMAN", reason="which way?")])
    project.start(SMALL.format(say=say), flow_name=name)
    asked = [project.answer("Approve for production", *words).id for words in answers]
    run, out = project.end()
    assert run.state == state and (run.result or run.reason) == outcome, (run, out)
    assert len(set(asked)) == len(answers)
    ran = [call.label for call in project.calls().values() if call.name == "run"]
    assert ("deployer" in ran) == (outcome == "DONE")
