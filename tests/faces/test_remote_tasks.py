"""Tasks of a server, changed by commands on other machines."""

from __future__ import annotations

import json

import pytest
from tests.support.people import a_person
from tests.support.server_world import server_world

from gatebell.domain.asks.documents import task_document
from gatebell.domain.enums import TaskState
from gatebell.services.tasks import backlog

__all__ = ["server_world"]


@pytest.mark.proves("REMOTE-17")
def test_person_changes_the_state_of_a_servers_task(server_world):
    store = server_world.store
    task = backlog.create(store, "/p", a_person(), {"title": "Round the totals"})
    for verb, state in (
        ("claim", TaskState.IN_PROGRESS),
        ("release", TaskState.OPEN),
        ("defer", TaskState.DEFERRED),
        ("reopen", TaskState.OPEN),
        ("close", TaskState.CLOSED),
    ):
        ran = server_world.ada.gate("task", verb, task.id, "--as", "ada", "--json")
        assert ran.code == 0, ran.err
        said = json.loads(ran.out)
        assert (said[0] if verb == "close" else said) == task_document(store.tasks.get(task.id))
        assert store.tasks.get(task.id).state == state
    assert store.audit.of_subject(task.id)[-1].event.actor == "person:ada"
    refused = server_world.ada.gate("task", "release", task.id, "--as", "ada")
    assert refused.code == 7 and "is not claimed by hand" in refused.err
    assert server_world.ada.gate("task", "close", "tm-zzzz", "--as", "ada").code == 5


@pytest.mark.proves("REMOTE-17", "REMOTE-2")
def test_asking_token_changes_no_task(server_world):
    task = backlog.create(server_world.store, "/p", a_person(), {"title": "Keep it open"})
    for verb in ("claim", "release", "defer", "reopen", "close"):
        for shell in (server_world.agent, server_world.plain):
            ran = shell.gate("task", verb, task.id)
            assert ran.code == 7, (verb, ran)
    assert server_world.store.tasks.get(task.id) == task
