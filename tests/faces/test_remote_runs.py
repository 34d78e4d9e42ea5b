"""Runs of a server, listed, shown, stopped and resumed by commands on other machines."""

from __future__ import annotations

import json

import pytest
from tests.support.asking_tasks import let_ask
from tests.support.people import a_person
from tests.support.run_records import add_run
from tests.support.server_world import server_world
from tests.support.tui_play import waiting_run

from gatebell.domain.enums import MemberKind, RunState
from gatebell.services.members import Membership
from gatebell.services.tasks import backlog

__all__ = ["server_world"]

ADA = ("--as", "ada")


@pytest.mark.proves("REMOTE-63")
def test_run_of_a_server_is_listed_and_shown(server_world):
    ada, store = server_world.ada, server_world.store
    run, ask = waiting_run(store, "Which \x1b[2Jway?")
    name = str(run.id)
    (line,) = [line for line in ada.gate("list").out.splitlines() if line.split()[0] == name]
    assert line.split()[1:6] == ["feature:", "Add", "login", "waiting_human", "coder"]
    assert "\x1b" not in line
    assert name in ada.gate("list", "--active", "--ids").out.split()
    shown = ada.gate("status", name).out
    assert f"Run {name}: waiting_human" in shown and "Reason: Which" in shown
    assert "Its folder and sessions are on the machine of the store." in shown
    assert f"Use 'gate answer {ask.id} TEXT' to answer it." in shown and "run coder" in shown
    assert ada.gate("show", name).out.startswith(f"{ask.id}  text")
    calls = json.loads(ada.gate("show", name, "--calls", "--json").out)
    assert [call["path"] for call in calls["calls"]] == ["0", "1", "2"]
    call = json.loads(ada.gate("show", name, "--call", "2", "--json").out)
    assert [turn["path"] for turn in call["turns"]] == ["2"]
    assert [one["id"] for one in call["asks"]] == [ask.id]
    assert "Turn 1 of coder" in ada.gate("show", name, "--call", "2").out
    listed = json.loads(ada.gate("list", "--json").out)
    (seen,) = (one for one in listed if one["id"] == run.id)
    assert seen == json.loads(ada.gate("status", name, "--json").out)
    assert (seen["waiting_for"], seen["questions"]) == ([ask.id], ["Which \x1b[2Jway?"])
    missing = ada.gate("status", "999")
    assert missing.code == 5 and "there is no run 999" in missing.err
    assert ada.gate("show", name, "--call", "9").code == 5


@pytest.mark.proves("REMOTE-63")
def test_run_of_a_server_is_stopped_and_resumed(server_world):
    ada, store = server_world.ada, server_world.store
    run, ask = waiting_run(store)
    name = str(run.id)
    assert ada.gate("stop", name, "--reason", "not now", *ADA).out.endswith("stuck: not now\n")
    assert not store.asks.get(ask.id).pending
    again = ada.gate("stop", name, *ADA)
    assert again.code == 7 and "has already ended" in again.err
    assert f"gate resume {name} --detach" in ada.gate("status", name).out
    for words in (["resume", name], ["resume", name, "--from", "2", "--detach"]):
        refused = ada.gate(*words, *ADA)
        assert refused.code == 2 and "which has its folder" in refused.err, words
    resumed = ada.gate("resume", name, "--detach", *ADA)
    assert resumed.code == 0 and "no worker is running" in resumed.out
    assert store.runs.get(run.id).state == RunState.READY
    assert "No worker is running" in ada.gate("status", name).out
    worker = Membership(store, MemberKind.WORKER)
    try:
        assert "continues on host" in ada.gate("resume", name, "--detach", *ADA).out
        assert "No worker" not in ada.gate("status", name).out
    finally:
        worker.end()


@pytest.mark.proves("REMOTE-63", "REMOTE-2")
def test_asking_token_neither_sees_nor_ends_runs(server_world):
    run = add_run(server_world.store, state="ready")
    for words in (["list"], ["status", "1"], ["stop", "1"], ["resume", "1", "--detach"]):
        assert server_world.plain.gate(*words).code == 7, words
    assert server_world.store.runs.get(run.id).state == RunState.READY


@pytest.mark.proves("REMOTE-63")
def test_task_means_its_last_run(server_world):
    store, project = server_world.store, str(server_world.folder / "project")
    task = backlog.create(store, project, a_person("ada"), {"title": "Add login"})
    none = server_world.ada.gate("status", task.id)
    assert none.code == 5 and "no run has worked on" in none.err
    let_ask(store, project, "Which?")
    shown = server_world.ada.gate("status", task.id).out
    assert f"Task: {task.id}: Add login" in shown
    closed = server_world.ada.gate("task", "close", task.id, "--reason", "not needed", *ADA)
    assert closed.code == 0
    ended = server_world.ada.gate("status", task.id).out
    assert "✓ closed" in ended and "Ended by: person:ada" in ended and "not needed" in ended
    assert "by person:ada: not needed" in server_world.ada.gate("list").out
