"""Flows in the tests of their authors: `gatebell.testing.run_flow`."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest

from gatebell import HumanInput, Phase, Workflow, flow
from gatebell.errors import UnfinishedError, UsageError
from gatebell.testing import MemoryStore, ScriptedAgent, ScriptedPerson, run_flow

DONE = {"status": "DONE", "summary": "wrote it"}


@flow
def release(prompt: str):
    said = flow.run("coder", prompt).summary
    gate = flow.approve("Deploy it?")
    return said if gate else flow.stuck(gate.reason)


@pytest.mark.proves("PY-20", "PY-5")
@pytest.mark.parametrize(
    ("answer", "end"), [("yes", ("completed", "wrote it", "")), ("no", ("stuck", None, "not yet"))]
)
def test_flow_runs_to_its_end_in_a_test(answer, end):
    coder = ScriptedAgent([DONE])
    person = ScriptedPerson().will_answer("Deploy", answer, "not yet")
    ran = run_flow(release, "1.2", agents={"coder": coder}, person=person)
    assert (ran.state, ran.result, ran.reason) == end
    assert "1.2" in coder.sent[0] and ran.store.asks.count() == 1


@pytest.mark.proves("PY-20")
def test_agent_asks_and_flow_sleeps_without_waiting():
    @flow
    def slow(prompt):
        before = flow.now()
        flow.run("coder")
        flow.sleep(timedelta(days=3))
        return (flow.now() - before).days

    questions = [
        {"status": "NEEDS_HUMAN", "question": "Which flow?"},
        {"status": "NEEDS_HUMAN", "question": "Which flow, as they differ?"},
    ]
    coder = ScriptedAgent([*questions, DONE])
    person = ScriptedPerson().will_ask_back("Which", "why?").will_answer("Which", "the first")
    assert run_flow(slow, agents={"coder": coder}, person=person).result == 3
    assert "the first" in coder.sent[-1]


@pytest.mark.proves("PY-20")
def test_unanswered_ask_of_a_flow_times_out():
    ran = run_flow(release, agents={"coder": ScriptedAgent([DONE])})
    assert ran.state == "stuck" and "timed out at 2026-01-02" in ran.reason


@pytest.mark.proves("PY-20", "LAW-10")
def test_error_of_a_flow_shows_its_line():
    @flow
    def broken(prompt):
        return prompt.nothing

    with pytest.raises(UnfinishedError, match=r"(?s)test_run_flow\.py.*prompt\.nothing.*Attribute"):
        run_flow(broken, "x")


@pytest.mark.proves("PY-20", "LAW-10")
def test_missing_scripts_are_named():
    with pytest.raises(UnfinishedError, match=r"agents=\{'coder': ScriptedAgent\(\[…\]\)\}"):
        run_flow(release)
    with pytest.raises(UnfinishedError, match="the script of coder has no line"):
        run_flow(release, agents={"coder": ScriptedAgent([])})
    with pytest.raises(UsageError, match="takes a function with @flow above it"):
        run_flow(len)
    with pytest.raises(UsageError, match="another store"):
        run_flow(release, person=ScriptedPerson(MemoryStore()), store=MemoryStore())


@pytest.mark.proves("PY-20")
def test_function_and_file_and_folder_of_a_flow(tmp_path):
    (tmp_path / "version").write_text("1.2")

    @flow
    def reads(prompt):
        return [flow.read("version"), flow.run(lambda _: {"n": 3}).value, flow.context().folder]

    assert run_flow(reads, folder=tmp_path).result == ["1.2", {"n": 3}, str(tmp_path)]
    there = flow(lambda _: flow.context().folder)
    assert not os.path.exists(run_flow(there).result)


@pytest.mark.proves("PY-20")
def test_workflow_of_phases_runs_with_scripts():
    phases = [
        Phase("build", agent="coder", prompt="Build it.", next="go"),
        Phase("go", human=HumanInput("Go?", "approval"), terminal=True),
    ]
    person = ScriptedPerson().will_answer("Go?", "yes")
    work = Workflow("w", phases=phases)
    ran = run_flow(work, agents={"coder": ScriptedAgent([DONE])}, person=person)
    assert ran.result["phase"] == "go" and ran.result["approved"]
