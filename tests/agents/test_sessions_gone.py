"""Sessions without logs while a run waits: claude and codex get the whole history again."""

from __future__ import annotations

import json
import shlex

import pytest
from tests.support.agent_project import Project, report
from tests.support.waiting import eventually

from gatebell.install.scripted_model import script, text

LOGS = {"claude": ".claude/projects/*/*.jsonl", "codex": ".codex/sessions/*/*/*/*.jsonl"}


@pytest.fixture
def project(house):
    line = shlex.join([*house.network.prefix, house.programs.codex])
    (house.bin / "codex").write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
    (house.bin / "codex").chmod(0o755)
    made = Project(house)
    yield made
    made.close()


def start(project, cli, steps):
    role = f"---\ndescription: a coder\ncli: {cli}\n---\nYou are the coder of this project.\n"
    (project.house.project / ".gate/agents/coder.md").write_text(role, encoding="utf-8")
    project.start(f"""
from gatebell import flow, run

@flow
def feature(prompt):
    return run("coder", {script(steps)!r}).summary
""")


def logs(project, cli):
    return list(project.house.home.glob(LOGS[cli]))


def words(steps):
    """Return an answer that carries the script of the next turn: a new session has no other."""
    return f"use 8080 {script(steps)}"


def read_request(project, turn):
    """Return the whole request of this turn to the model."""
    found = [json.dumps(request) for request in project.house.model.requests]
    return next(words for words in found if turn.id in words)


@pytest.mark.proves("TASK-21", "S3-B18", "S3-46")
@pytest.mark.parametrize(
    ("how", "cli"),
    [
        ("torn", "claude"),
        ("deleted", "codex"),
        pytest.param("deleted", "claude", marks=pytest.mark.matrix),
        pytest.param("torn", "codex", marks=pytest.mark.matrix),
    ],
)
def test_session_without_its_log_restarts_with_the_whole_history(project, cli, how):
    start(
        project,
        cli,
        [
            report("NEEDS_HUMAN", question="Which host?", question_context="There are two."),
            report("NEEDS_HUMAN", question="Which port?"),
        ],
    )
    project.answer("Which host?", "a.example")
    asked = project.wait_for_ask("Which port?")
    eventually(lambda: project.store.runs.get(1).state == "waiting_human")
    (log,) = logs(project, cli)
    if how == "torn":
        log.write_text('{"torn', encoding="utf-8")
    else:
        log.unlink()
    project.house.answer(asked, words([report("DONE", "it runs")]))
    run, out = project.end()
    assert (run.state, run.result) == ("completed", "it runs"), (run, out)
    turns = project.store.runs.turns(1)
    sessions = [turn.session for turn in turns]
    assert sessions[0] == sessions[1] != sessions[-1]
    assert len(turns) == (4 if how == "torn" else 3)
    last = read_request(project, turns[-1])
    assert "The session in which you worked before is lost." in last
    for part in ("You are the coder of this project.", "> Which host?", "> There are two.",
                 "> a.example", "Human Response to Your Question", "> Which port?", "> use 8080"):  # fmt: skip
        assert last.count(part) == 1, part


@pytest.mark.proves("TASK-20", "S3-46", "S3-28")
@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_session_whose_log_is_there_goes_on(project, cli):
    start(project, cli, [report("NEEDS_HUMAN", question="Which port?"), text("no script is left")])
    project.answer("Which port?", words([report("DONE", "it runs")]))
    run, out = project.end()
    assert (run.state, run.result) == ("completed", "it runs"), (run, out)
    first, second = project.store.runs.turns(1)
    assert first.session == second.session and "is gone" not in second.sent
    last = read_request(project, second)
    assert first.id in last and last.count("> use 8080") == 1
