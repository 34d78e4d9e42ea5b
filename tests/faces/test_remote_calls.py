"""Hooks and MCP tools on another machine than the store: a person decides there."""

from __future__ import annotations

import json
import socket

import pytest
from tests.support.hook_session import Session, decision, the_ask, wait_for_end
from tests.support.mcp_client import Client
from tests.support.people import a_person
from tests.support.server_world import ServerWorld, server_world
from tests.support.waiting import eventually

from gatebell.domain.enums import RuleKind
from gatebell.services.permissions import manage_rules

__all__ = ["server_world"]


@pytest.fixture
def session(server_world):
    return Session(server_world)


@pytest.mark.proves("REMOTE-5")
def test_person_decides_a_call_of_another_machine(server_world, session):
    session.calls("git push")
    for word, wanted in (("yes", "allow"), ("no", "deny")):
        asked = session.start(session.event("PermissionRequest"), "--limit", "60")
        ask = the_ask(server_world)
        assert ask.origin.session.endswith("/claude:s1") and ask.origin.tool_use_id == "t1"
        assert server_world.plain.gate("answer", ask.id, "yes").code == 7
        assert server_world.ada.gate("answer", ask.id, word, "--note", "so").code == 0
        found = decision(wait_for_end(asked))
        assert found["behavior"] == wanted, found
        assert server_world.get(ask.id).delivered_to.endswith("claude:s1#")


@pytest.mark.proves("REMOTE-5")
def test_grant_of_the_server_decides_at_once(server_world, session):
    asked = session.start(session.event("PermissionRequest", tool_input={"command": "make docs"}))
    ask = the_ask(server_world)
    assert server_world.ada.gate("answer", ask.id, "yes", "--for", "3").code == 0
    assert decision(wait_for_end(asked))["behavior"] == "allow"
    assert "make docs" in server_world.ada.gate("grants").out
    ran = session.hook(session.event("PermissionRequest", tool_input={"command": "make docs"}))
    assert decision(ran.out) == {"behavior": "allow"}
    (grant,) = json.loads(server_world.ada.gate("grants", "--json").out)
    assert server_world.ada.gate("grants", "revoke", grant["id"]).code == 0
    assert not manage_rules.grants(server_world.store)


@pytest.mark.proves("REMOTE-5")
def test_edited_input_becomes_one_permission_for_codex(server_world):
    codex = Session(server_world, "codex")
    text = codex.event("PermissionRequest", tool_use_id="c1")
    asked = codex.start(text, "--limit", "60")
    ask = the_ask(server_world)
    assert server_world.ada.gate("answer", ask.id, "yes", "--with", "git push --dry-run").code == 0
    found = decision(wait_for_end(asked))
    assert found["behavior"] == "deny" and "git push --dry-run" in found["message"]
    (grant,) = manage_rules.grants(server_world.store)
    assert (grant.uses_left, grant.ask_id) == (1, ask.id)
    edited = codex.event("PermissionRequest", tool_input={"command": "git push --dry-run"})
    assert decision(codex.hook(edited).out) == {"behavior": "allow"}
    assert not manage_rules.grants(server_world.store)


@pytest.mark.proves("REMOTE-5")
def test_end_of_a_turn_withdraws_its_asks(server_world, session):
    asked = session.start(session.event("PermissionRequest", tool_use_id="t7"), "--limit", "60")
    ask = the_ask(server_world)
    session.ends("t7")
    assert session.hook(session.event("Stop")).code == 0
    assert not server_world.get(ask.id).pending
    asked.communicate(timeout=60)


@pytest.mark.proves("REMOTE-5")
def test_hook_defers_by_gates_of_the_server(server_world, session):
    rule = manage_rules.add(server_world.store, a_person("ada"), RuleKind.ASK, "", "Bash(rm *)")
    gated = session.event("PreToolUse", tool_input={"command": "rm -r x"}, tool_use_id="d1")
    free = session.event("PreToolUse", tool_input={"command": "ls"}, tool_use_id="d2")
    session.world.plain.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    assert '"defer"' in session.hook(gated, "--defer").out
    assert session.hook(free, "--defer").out == ""
    ask = the_ask(server_world)
    assert server_world.ada.gate("answer", ask.id, "yes").code == 0
    assert '"allow"' in session.hook(gated, "--defer").out
    del session.world.plain.environ["CLAUDE_CODE_SESSION_ATTENDED"]
    assert server_world.ada.gate("gates", "remove", rule.id).code == 0


@pytest.mark.proves("REMOTE-5")
def test_questions_of_the_host_are_asked_in_the_inbox(server_world, session):
    options = [{"label": "A", "description": "first"}, {"label": "B"}]
    questions = {"questions": [{"question": "Which?", "options": options}]}
    text = session.event("PermissionRequest", tool="AskUserQuestion", tool_input=questions)
    asked = session.start(text, "--limit", "60")
    ask = the_ask(server_world)
    assert server_world.ada.gate("answer", ask.id, "B").code == 0
    assert decision(wait_for_end(asked))["updatedInput"]["answers"] == {"Which?": "B"}


@pytest.mark.proves("REMOTE-5")
def test_tools_of_the_mcp_server_reach_the_server(server_world):
    client = Client(server_world, CLAUDE_CODE_SESSION_ID="s1")
    asking = client.call("ask_human", question="Which name?")
    ask = the_ask(server_world)
    assert f"{ask.id}: Which name?" in client.text(client.call("inbox_status"))[0]
    assert server_world.ada.gate("answer", ask.id, "gatebell").code == 0
    assert client.text(asking) == ("gatebell", False)
    assert eventually(lambda: server_world.get(ask.id).delivered_at)
    client.text(client.call("notify_human", message="the tests are green"))
    client.text(client.call("signal", status="DONE", summary="all of it"))
    notes = [note.text for note in server_world.store.notes.newest(2)]
    assert sorted(notes) == ["DONE: all of it", "the tests are green"]
    held = client.call("approve", tool_name="Bash", input={"command": "ls"}, tool_use_id="m1")
    ask = the_ask(server_world)
    assert server_world.ada.gate("answer", ask.id, "yes").code == 0
    assert json.loads(client.text(held)[0])["behavior"] == "allow"
    assert client.close() == 0


@pytest.mark.proves("REMOTE-6")
def test_hook_says_no_without_a_server(server_world, session):
    silent = socket.create_server(("127.0.0.1", 0))
    port = silent.getsockname()[1]
    environ = session.world.plain.environ
    before = dict(environ)
    wrong = [
        {"GATE_SERVER": "http://127.0.0.1:1"},
        {"GATE_SERVER": f"http://127.0.0.1:{port}"},
        {"GATE_SERVER": server_world.web.url.replace("http:", "https:")},
        {"GATE_TOKEN": "gate_wrong"},
        {"GATE_TOKEN": ""},
        {"GATE_CA": "/dev/null", "GATE_SERVER": f"https://127.0.0.1:{port}"},
    ]
    for change in wrong:
        environ.update(before | change)
        ran = session.hook(session.event("PermissionRequest"), "--limit", "4")
        assert decision(ran.out)["behavior"] == "deny", (change, ran)
        assert "No person could be asked" in ran.out
        put_off = session.hook(session.event("PreToolUse"), "--limit", "4", "--defer")
        assert put_off.code == 2, (change, put_off)
    environ.clear()
    environ.update(before)
    silent.close()
    assert not server_world.store.asks.pending(9)


@pytest.mark.proves("REMOTE-6")
def test_mcp_tool_says_no_without_a_server(server_world):
    client = Client(server_world, "--limit", "4", GATE_SERVER="http://127.0.0.1:1")
    held = client.call("approve", tool_name="Bash", input={"command": "ls"})
    assert json.loads(client.text(held)[0])["behavior"] == "deny"
    assert client.close() == 0


@pytest.mark.proves("REMOTE-6")
def test_hook_says_no_if_the_server_dies(tmp_path):
    world = ServerWorld(tmp_path)
    session = Session(world)
    asked = session.start(session.event("PermissionRequest"), "--limit", "10")
    the_ask(world)
    world.web.stop()
    found = decision(wait_for_end(asked))
    assert found["behavior"] == "deny" and "cannot be reached" in found["message"]
    world.close()
