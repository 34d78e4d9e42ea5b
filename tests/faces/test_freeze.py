"""`gate freeze` and `gate unfreeze`, with real hooks on this machine and on another."""

from __future__ import annotations

import json

import pytest
from tests.support.hook_session import Session, decision, the_ask, until_it_waits, wait_for_end
from tests.support.people import a_person
from tests.support.server_world import server_world
from tests.support.waiting import eventually

from gatebell.services import freezes

__all__ = ["server_world"]

ADA = a_person("ada", verified=True)


def grant(world, session, command="make docs"):
    """Have a person grant a command three times; the first time is used."""
    asked = session.start(session.event("PermissionRequest", tool_input={"command": command}))
    assert world.ada.gate("answer", the_ask(world).id, "yes", "--for", "3").code == 0
    assert decision(wait_for_end(asked))["behavior"] == "allow"
    return session.event("PermissionRequest", tool_input={"command": command})


@pytest.mark.proves("FREEZE-3", "FREEZE-4")
def test_granted_call_of_a_hook_waits_for_the_lift(world):
    session = Session(world)
    event = grant(world, session)
    assert world.ada.gate("freeze").code == 0
    asked = session.start(event)
    until_it_waits(asked.pid)
    assert asked.poll() is None and not world.store.asks.pending(9)
    refused = session.hook(event, "--limit", "1")
    said = decision(refused.out)
    assert said["behavior"] == "deny" and "Everything is frozen" in said["message"]
    assert world.ada.gate("unfreeze").code == 0
    assert decision(wait_for_end(asked))["behavior"] == "allow"


@pytest.mark.proves("FREEZE-3", "FREEZE-4", "REMOTE-5")
def test_call_on_another_machine_waits_for_the_lift(server_world):
    session = Session(server_world)
    event = grant(server_world, session)
    assert server_world.ada.gate("freeze", "--reason", "broken").code == 0
    asked = session.start(event, "--limit", "60")
    said = decision(session.hook(event, "--limit", "1").out)
    assert said["behavior"] == "deny" and "broken" in said["message"]
    assert asked.poll() is None
    assert server_world.plain.gate("unfreeze").code == 7, "its token may only ask"
    assert freezes.find(server_world.store)
    assert server_world.ada.gate("unfreeze").code == 0
    assert decision(wait_for_end(asked))["behavior"] == "allow"


@pytest.mark.proves("FREEZE-3", "REMOTE-5")
def test_yes_of_another_machine_waits_for_the_lift(server_world):
    session = Session(server_world)
    asked = session.start(session.event("PermissionRequest"), "--limit", "60")
    ask = the_ask(server_world)
    freezes.begin(server_world.store, ADA)
    assert server_world.ada.gate("answer", ask.id, "yes").code == 0
    # The hook has asked for its answer and was told to wait.
    eventually(lambda: not server_world.get(ask.id).pending)
    assert asked.poll() is None and not server_world.get(ask.id).delivered_at
    freezes.lift(server_world.store, ADA)
    assert decision(wait_for_end(asked))["behavior"] == "allow"
    assert server_world.get(ask.id).delivered_at


@pytest.mark.proves("FREEZE-1", "FREEZE-2", "FREEZE-9")
def test_freeze_is_shown_and_only_people_lift_it(world):
    gate, agent = world.ada.gate, {"CLAUDECODE": "1"}
    assert world.plain.gate("freeze", **agent).code == 7 and freezes.find(world.store) is None
    assert gate("freeze", "--show").out == "Nothing is frozen.\n"
    frozen = json.loads(gate("freeze", "--reason", "the \x1b[31mrelease", "--json").out)
    assert frozen["frozen"] and frozen["by"] == "person:ada"
    assert "your reason is not kept" in gate("freeze", "--reason", "another").out
    waiting = world.ask("Which?")
    for command in (["inbox"], ["list"], ["freeze"], ["freeze", "--show"], ["show", waiting]):
        shown = gate(*command).out
        assert "Everything is frozen, by ada" in shown and "gate unfreeze" in shown, command
        assert "\x1b[31mr" not in shown
    findings = json.loads(gate("doctor", "--json").out)["findings"]
    assert any("Everything is frozen" in one["what"] for one in findings)
    assert gate("inbox", "--ids").out == f"{waiting}\n" and gate("list", "--ids").out == ""
    assert world.plain.gate("unfreeze", **agent).code == 7
    assert json.loads(gate("unfreeze", "--json").out)["frozen"] is False
    assert gate("unfreeze").out == "Nothing is frozen.\n"
    assert "frozen" not in gate("inbox").out
