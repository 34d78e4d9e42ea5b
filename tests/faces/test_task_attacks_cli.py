"""Tasks on the command line, used by agents and by people in a hurry."""

from __future__ import annotations

import json

import pytest
from tests.support.asking_tasks import let_ask

from gatebell.services.tasks import backlog

ADA = ("--as", "ada")


@pytest.fixture
def waits(world):
    """Return the id of a task that waits for ada."""
    (world.ada.folder / ".gate").mkdir()
    made = world.ada.gate("task", "create", "Add login", "--json", *ADA)
    let_ask(world.store, world.ada.folder, "Which way?")
    return json.loads(made.out)["id"]


@pytest.mark.proves("TASK-253", "S3-B3")
def test_agents_shell_cannot_stop_runs_or_withdraw_task_questions(world, waits):
    task = backlog.get(world.store, waits)
    for words in (("stop", str(task.run)), ("cancel", waits), ("task", "close", waits)):
        ran = world.plain.gate(*words, CLAUDECODE="1")
        assert ran.code != 0 and "an agent seems to be at work here" in ran.err, words
    assert backlog.get(world.store, waits) == task and backlog.pending(world.store, task)


@pytest.mark.proves("TASK-251")
def test_shell_of_a_test_command_is_not_a_persons(world, waits):
    ran = world.ada.gate("respond", waits, "sure", GATE_CHECK="run-1/3/1")
    assert ran.code != 0 and "GATE_CHECK" in ran.err
    assert backlog.get(world.store, waits).state == "awaiting_input"


@pytest.mark.proves("TASK-265", "LAW-10")
def test_changed_task_says_that_its_run_keeps_the_old(world, waits):
    run = backlog.get(world.store, waits).run
    told = f"  Run {run} has already started and keeps the earlier text\n"
    assert world.ada.gate("task", "update", waits, "--test", "make", *ADA).out.endswith(told)
    assert "goes on with" not in world.ada.gate("task", "update", waits, "-p", "P0", *ADA).out
