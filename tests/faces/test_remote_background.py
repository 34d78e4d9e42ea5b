"""Background asks through a server: the agent's machine knows only its address and a token."""

from __future__ import annotations

import json

import pytest
from tests.support.hook_session import Session
from tests.support.mcp_client import Client
from tests.support.server_world import server_world

__all__ = ["server_world"]


@pytest.mark.proves("BACK-10", "BACK-3", "BACK-4")
@pytest.mark.parametrize("event", ["PostToolUse", "Stop"])
def test_hook_hands_an_answer_of_the_server_over_once(server_world, event):
    prompt = f"Which database, {event}?"
    ask_id = server_world.ask(prompt, "--assume", "SQLite")
    assert server_world.get(ask_id).assume == "SQLite"
    session = Session(server_world)
    assert session.hook(session.event(event)).out == ""
    assert server_world.ada.gate("answer", ask_id, "PostgreSQL").code == 0
    told = session.hook(session.event(event)).out
    assert "│ PostgreSQL" in json.dumps(json.loads(told), ensure_ascii=False)
    assert session.hook(session.event(event)).out == ""
    assert server_world.get(ask_id).delivered_at


@pytest.mark.proves("BACK-10", "BACK-1")
def test_mcp_adds_an_answer_of_the_server(server_world):
    client = Client(server_world, CLAUDE_CODE_SESSION_ID="s1")
    told, failed = client.text(client.call("ask_human", question="Remote?", wait=False))
    ask_id = told.split()[0]
    assert not failed and server_world.get(ask_id).assume == ""
    server_world.ada.gate("answer", ask_id, "here")
    assert "│ here" in client.text(client.call("inbox_status"))[0]
    assert "│ here" not in client.text(client.call("inbox_status"))[0]
    client.close()
