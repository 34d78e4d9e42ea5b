"""`gate show --call`, `plan`, `diff`, `flows`, `agents`; a run's number instead of an ask's id."""

from __future__ import annotations

import json
import os
from xml.etree import ElementTree as ET

import pytest
from tests.support.git_project import git
from tests.support.people import a_person
from tests.support.sessions import FLOW, Desk

from gatebell.app import project_files, runtime
from gatebell.cli.main import main
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.runs.identities import parse_identity
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs import manage_runs
from gatebell.services.runs.manage_runs import RunRequest

NEEDS = {"status": "NEEDS_HUMAN", "question": "Which \x1b[31mway?", "summary": "half"}
DONE = {"status": "DONE", "summary": "all of it"}
TWO = """
from gatebell import flow, pause
from gatebell.api.flows import parallel
@flow
def feature(prompt):
    return parallel(lambda: bool(pause("One?")), lambda: bool(pause("Two?")))
"""


@pytest.fixture
def desk(world):
    return Desk(world)


def open_ask(desk, run):
    (ask,) = desk.store.asks.pending_of_run(run.id)
    return ask


@pytest.mark.proves("RUN-360", "CLI-28")
def test_run_number_means_its_only_ask(world, desk):
    run = desk.run(NEEDS, DONE)
    ask = open_ask(desk, run)
    number = str(run.id)
    shown, status = world.plain.gate("show", number).out, world.plain.gate("status", number).out
    assert shown.startswith(f"{ask.id}  text, asked")
    assert status in shown and "1  run coder  waiting" in status
    document = json.loads(world.plain.gate("show", number, "--json").out)["run"]
    assert document == json.loads(world.plain.gate("status", number, "--json").out)
    assert world.ada.gate("ask-back", number, "Why?").code == 0
    assert world.plain.gate("reply", number, "Because.").code == 0
    assert [one.text for one in desk.store.asks.messages(ask.id)] == ["Why?", "Because."]
    waited = world.plain.gate("wait", number, "--timeout", "0.1s")
    assert waited.code == 11, waited
    assert world.ada.gate("answer", number, "left").out.startswith(f"Recorded: {ask.id} ")
    told = world.plain.gate("show", number)
    assert told.code == 0 and told.out.startswith(f"Run {number}: ready\n")
    told = world.ada.gate("answer", number, "right")
    assert (
        told.code == 5
        and f"run {number} waits for no answer. See: gate status {number}" in told.err
    )
    assert world.plain.gate("show", "4" * 30).code == 5
    assert "there is no run 77" in world.ada.gate("answer", "77", "x").err


@pytest.mark.proves("RUN-360")
def test_several_asks_of_a_run_are_listed_and_refused(world, desk):
    run = desk.run(flow=TWO)
    # The branches ask in parallel, so either may be the first.
    one, two = sorted(desk.store.asks.pending_of_run(run.id), key=lambda ask: ask.question.prompt)
    for words in (["answer", str(run.id), "yes"], ["cancel", str(run.id)]):
        told = world.ada.gate(*words)
        assert told.code == 2 and "waits for several answers" in told.err
        assert f"{one.id} (One?)" in told.err and f"{two.id} (Two?)" in told.err
    shown = world.ada.gate("show", str(run.id))
    assert shown.code == 0 and one.id in shown.out and two.id in shown.out
    assert world.ada.gate("cancel", one.id).code == 0
    assert world.ada.gate("cancel", str(run.id)).out == f"Cancelled {two.id}\n"


@pytest.mark.proves("RUN-360")
def test_number_without_a_run_may_begin_an_asks_id(world):
    ids = [
        create_ask.ask(world.store, Request(f"Question {number}?"), Origin(), a_person()).ask.id
        for number in range(40)
    ]
    numbers = {one: [i for i in ids if i.startswith(f"a-{one}")] for one in "23456789"}
    digit, (only, *_) = next(pair for pair in numbers.items() if pair[1])
    told = world.plain.gate("show", digit)
    assert only in told.out + told.err and "no run" not in told.err


@pytest.mark.proves("RUN-361", "S2-41", "S2-42", "LAW-8")
def test_call_is_shown_with_everything_about_it(world, desk):
    run = desk.run(NEEDS, DONE)
    ask = open_ask(desk, run)
    answer_ask.answer(desk.store, ask.id, desk.caller(), Given("left"))
    desk.drive(run)
    first, second = desk.store.runs.turns(run.id)
    (call,) = desk.store.runs.calls(run.id)
    out = world.plain.gate("show", str(run.id), "--call", "1").out
    for part in (
        f"Run {run.id}, call 1: run('coder')", "State       recorded", call.digest, first.id,
        "Turn 1 of coder: the agent", f"command/{first.session}", "Turn 2 of coder",
        f"Process     {parse_identity(first.process).pid} on host ",
        "│ You are the coder.", '"status": "NEEDS_HUMAN"', f"{ask.id}  text", "Answered by person:ada",
        "│ left", "Result", '"summary": "all of it"',
    ):  # fmt: skip
        assert part in out, part
    assert "\x1b" not in out
    told = json.loads(world.plain.gate("show", str(run.id), "--call", "1", "--json").out)
    assert [turn["signal"]["status"] for turn in told["turns"]] == ["NEEDS_HUMAN", "DONE"]
    assert told["turns"][1]["sent"] == second.sent and told["asks"][0]["id"] == ask.id
    missing = world.plain.gate("show", str(run.id), "--call", "7")
    assert missing.code == 5 and "has no call 7; its calls: 1" in missing.err
    assert world.plain.gate("show", ask.id, "--call", "1").code == 2


@pytest.mark.proves("RUN-362", "LAW-8")
def test_plan_of_a_run_is_shown(world, desk):
    run = desk.run(NEEDS)
    ran = world.plain.gate("plan", str(run.id))
    root = ET.fromstring(ran.out)
    assert root.get("state") == "waiting_human" and "\x1b" not in ran.out
    assert root.find("call/human-interaction").get("type") == "text"
    document = json.loads(world.plain.gate("plan", str(run.id), "--json").out)
    assert document["calls"][0]["interactions"][0]["prompt"] == NEEDS["question"]
    assert world.plain.gate("plan", "99").code == 5
    assert world.plain.gate("plan", "x").code == 2


@pytest.mark.proves("RUN-363")
def test_diff_of_a_run_is_shown(world, desk):
    folder = desk.project
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    nothing = world.plain.gate("diff", str(_in_worktree(desk).id))
    assert nothing.out == "" and "Nothing has changed" in nothing.err
    run = _in_worktree(desk)
    place = desk.store.runs.get(run.id).folder
    with open(f"{place}/new \x07.txt", "w", encoding="utf-8") as file:
        file.write("one\n+two\n")
    out = world.plain.gate("diff", str(run.id)).out
    assert out.startswith("diff --git") and "\n++two\n" in out
    stat = world.plain.gate("diff", str(run.id), "--stat").out
    assert "+2 -0" in stat and stat.endswith("1 changed, +2 -0 lines\n")
    told = json.loads(world.plain.gate("diff", str(run.id), "--stat", "--json").out)
    assert [(one["added"], one["removed"]) for one in told["files"]] == [(2, 0)]
    assert "diff" not in told


def _in_worktree(desk):
    (desk.project / ".gate" / "flows" / "feature.py").write_text(FLOW, encoding="utf-8")
    name, source, digest = project_files.find_flow(str(desk.project), "feature")
    wish = RunRequest(name, source, digest, "", str(desk.project))
    return manage_runs.start(desk.store, runtime.workspace(desk.store), wish, desk.caller())[0]


@pytest.mark.proves("RUN-364", "S2-P6")
def test_flows_are_listed_and_never_run(world, desk):
    flows = desk.project / ".gate" / "flows"
    shown = world.plain.gate("flows")
    assert shown.code == 0 and "There are no flows here" in shown.out
    texts = {
        "feature": 'import gatebell\nopen("ran", "w")\n\n@gatebell.flow(human=False)\n'
        'def feature(p):\n    """Code \x1b[1mit.\n\n    More."""\n',
        "two": '"""Both of them."""\nfrom gatebell import flow\n@flow\ndef a(p): ...\n@flow\ndef b(p): ...\n',
        "broken": "def (",
        "empty": "",
    }
    for name, text in texts.items():
        (flows / f"{name}.py").write_text(text, encoding="utf-8")
    shown = world.plain.gate("flows")
    lines = dict(line.split(None, 1) for line in shown.out.splitlines() if " " in line.strip())
    assert lines["two"] == "Both of them." and lines["empty"] == "(has no @flow or Workflow)"
    assert "\n  two:a\n  two:b\n" in shown.out and lines["broken"] == "(cannot be read)"
    assert lines["feature"].startswith("Code") and "\x1b" not in shown.out
    assert "broken.py, line 1" in shown.err
    listed = json.loads(world.plain.gate("flows", "--json").out)
    assert {one["name"]: one["flows"] for one in listed} == {
        "broken": [], "empty": [], "feature": ["feature"], "two": ["a", "b"]
    }  # fmt: skip
    assert not (desk.project / "ran").exists()
    assert "Both of them" in world.plain.gate("flows", "show", "two").out
    assert (
        json.loads(world.plain.gate("flows", "show", "two", "--json").out)["source"] == texts["two"]
    )
    assert world.plain.gate("flows", "show", "nowhere").code == 5
    assert world.plain.gate("flows", "show").code == 2
    assert world.plain.gate("flows", "list", "two").code == 2


@pytest.mark.proves("RUN-365", "S2-P6")
def test_roles_are_listed_with_their_faults(world, desk):
    desk.write_role("reviewer", "description: reads \x1b[1mcode\nmodel: opus")
    desk.write_role("bad", "colour")
    shown = world.plain.gate("agents")
    lines = {line.split()[0]: line for line in shown.out.splitlines()}
    assert lines["reviewer"].split()[:3] == ["reviewer", "claude", "opus"]
    assert "reads" in lines["reviewer"] and "\x1b" not in shown.out
    assert str(desk.project / ".gate" / "agents" / "reviewer.md") in lines
    assert "bad.md, line 2" in shown.err
    told = json.loads(world.plain.gate("agents", "--json").out)
    assert [role["name"] for role in told["roles"]] == [
        *("code", "coder", "design", "docs", "pm", "review", "reviewer", "test")
    ]
    assert len(told["problems"]) == 1


@pytest.mark.proves("CLI-35")
@pytest.mark.parametrize("width", [60, 80, 120])
def test_lists_fit_the_terminal(world, desk, monkeypatch, capsys, width):
    run = desk.run(NEEDS, DONE)
    open_ask(desk, run)
    ask_id = world.ask("Which way do you mean? " * 20)
    world.ada.gate("answer", ask_id, "left, and then on and on " * 20)
    world.ask("And then? " * 50)
    monkeypatch.setattr("os.environ", world.ada.environ)
    monkeypatch.setattr("os.get_terminal_size", lambda *_: os.terminal_size((width, 40)))
    for command in ("list", "inbox", "history"):
        assert main([command]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines and max(map(len, lines)) <= width, command
