"""Flows with the real claude: sessions, signals, permissions, people in between."""

from __future__ import annotations

import pytest
from tests.support.agent_project import ROLES, project, report

from gatebell.install.scripted_model import script, text, tool

__all__ = ["project"]


@pytest.mark.proves("S2-21", "S2-27", "S2-33", "S2-73", "RUN-530")
def test_architect_coder_reviewer_and_two_gates(project):
    """Sessions continue, the reviewer's words reach the coder, a command is asked for."""
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
from gatebell import flow, pause, run, stuck
from gatebell.api.flows import context

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
    assert "sign_in" in gate.activity and "login.py" in gate.activity
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
def test_agent_needs_a_person_three_times(project):
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
        pytest.param(
            *(
                "linear",
                [],
                "completed",
                ["architect is done", "coder is done", "reviewer is done"],
            ),
            marks=pytest.mark.matrix,
        ),
        pytest.param(*("gated", [["yes"], ["yes"]], "completed", "DONE"), marks=pytest.mark.matrix),
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
