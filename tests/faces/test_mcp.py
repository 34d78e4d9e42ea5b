"""`gate mcp`, line by line, and through the protocol's own client and schema."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import threading
import time
from queue import SimpleQueue

import pytest
from tests.support.mcp_client import DISCOVERY, Client, check_result
from tests.support.people import a_person
from tests.support.waiting import eventually

from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.runs.journals import Carried
from gatebell.domain.runs.runs import FlowCall, Run, RunChange, Turn
from gatebell.mcp.heartbeat import heartbeat
from gatebell.mcp.server import Progress, Server
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs import manage_runs


@pytest.fixture
def client(world):
    made = Client(world, CLAUDE_CODE_SESSION_ID="s1")
    yield made
    if made.server.poll() is None:
        assert made.close() == 0


def pending(world, count=1):
    until = time.monotonic() + 20
    while len(found := world.store.asks.pending(9)) != count:
        assert time.monotonic() < until, f"{len(found)} asks, not {count}"
        os.sched_yield()
    return found


def wait_for_settled(world, ask_id):
    until = time.monotonic() + 20
    while world.get(ask_id).pending:
        assert time.monotonic() < until
        os.sched_yield()
    return world.get(ask_id)


@pytest.mark.proves("AGT-19")
@pytest.mark.parametrize(
    ("asked", "spoken"),
    [("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")],
)
def test_handshake_agrees_on_a_revision(client, asked, spoken):
    result = client.result(client.ask("initialize", protocolVersion=asked, clientInfo={}))["result"]
    assert result["protocolVersion"] == spoken and result["serverInfo"]["name"] == "gatebell"
    assert client.result(client.ask("ping"))["result"] == {}
    assert client.result(client.ask("nothing/such"))["error"]["code"] == -32601


@pytest.mark.proves("AGT-19")
def test_every_result_fits_the_schema_of_its_revision(client, world):
    note = {"name": "notify_human", "arguments": {"message": "m"}}
    for version, more in (("2025-06-18", {}), ("2025-11-25", {}), ("2026-07-28", DISCOVERY)):
        methods = {"tools/list": {}, "tools/call": note}
        opening = {"protocolVersion": version, "capabilities": {}, "clientInfo": {}}
        methods |= {"server/discover": {}} if more else {"initialize": opening, "ping": {}}
        for method, params in methods.items():
            result = client.result(client.ask(method, **params, **more))["result"]
            check_result(result, method, version)
    tools = client.result(client.ask("tools/list"))["result"]["tools"]
    assert [tool["name"] for tool in tools] == [
        "ask_human", "approve", "signal", "decide", "notify_human", "inbox_status"
    ]  # fmt: skip
    assert all(tool["_meta"] == {"anthropic/alwaysLoad": True} for tool in tools)


@pytest.mark.proves("AGT-19")
def test_no_line_stops_the_server(client):
    for line in ("", "{", "7", "[]", '{"jsonrpc":"2.0"}', '{"id":1,"method":7}', "[" * 100_000,
                 '{"method":"notifications/cancelled","params":{"requestId":{}}}',
                 '{"method":"notifications/initialized"}', '{"id":9,"result":{}}'):  # fmt: skip
        client.send(line)
    assert client.result(client.ask("ping"))["result"] == {}
    assert client.result(client.ask("tools/call"))["error"]["code"] == -32602
    assert client.result(client.ask("tools/call", name="approve", arguments=[]))["error"]
    assert client.text(client.call("ask_human")) == (
        "a question must be a text: ask_human(question=…)",
        True,
    )
    assert client.text(client.call("ask_human", question="Q", options="A"))[1]
    assert client.text(client.call("ask_human", questions=[]))[1]
    told, failed = client.text(client.call("ask_human", question="Q", option=["A"]))
    assert failed and told.startswith(
        "ask_human has no parameter option; did you mean 'options'? It takes assume, attachments, context"
    )
    assert client.text(client.call("ask_human", question="Q", kind="poem"))[1]
    assert client.text(client.call("inbox_status", id=7))[1]


@pytest.mark.proves("AGT-20", "AGT-17")
def test_question_waits_for_its_answer(world, client):
    number = client.call(
        "ask_human", question="Which?", options=["A", "B"], context="why", urgency="high"
    )
    (ask,) = pending(world)
    assert (ask.question.kind, ask.priority, ask.question.context) == ("choice", 1, "why")
    assert (ask.origin.session, ask.origin.agent) == ("claude/s1", "claude")
    world.ada.gate("answer", ask.id, "B", "--note", "small is fine")
    assert client.text(number) == ("B\nnote: small is fine", False)
    until = time.monotonic() + 20
    while not world.get(ask.id).delivered_at:
        assert time.monotonic() < until
    assert world.get(ask.id).delivered_to == "agent:claude/s1"


@pytest.mark.proves("AGT-20")
def test_every_kind_returns_plain_text(world, client):
    approval = client.call("ask_human", question="Sure?", kind="approval")
    (ask,) = pending(world)
    world.ada.gate("answer", ask.id, "no", "--note", "not today")
    assert client.text(approval) == ("rejected\nnote: not today", False)
    form = client.call("ask_human", question="Fill", schema={"type": "object"})
    world.ada.gate("answer", pending(world)[0].id, '{"a": 1}')
    assert client.text(form) == ('{"a": 1}', False)
    text = client.call("ask_human", question="Say")
    world.ada.gate("answer", pending(world)[0].id, "words")
    assert client.text(text) == ("words", False)


@pytest.mark.proves("AGT-21")
def test_several_questions_come_back_together(world, client):
    number = client.call(
        "ask_human", questions=[{"question": "One?"}, {"question": "Two?", "options": ["A", "B"]}]
    )
    for ask in pending(world, 2):
        world.ada.gate("answer", ask.id, "A")
    assert client.text(number) == ("One?\nA\n\nTwo?\nA", False)


@pytest.mark.proves("EASE-27", "LAW-6")
def test_answered_questions_come_back_beside_unanswered_ones(world, client):
    asked = [{"question": "One?", "default": "1"}, {"question": "Two?"}, {"question": "Three?"}]
    number = client.call("ask_human", questions=asked, timeout=3)
    three = next(one for one in pending(world, 3) if one.question.prompt == "Three?")
    world.ada.gate("answer", three.id, "3")
    text, failed = client.text(number)
    one, two, answered = text.split("\n\n")
    assert one == "One?\n1 (the default: no person answered)"
    assert two.startswith("Two?\nNOT ANSWERED: a-") and answered == "Three?\n3"
    assert not failed and eventually(lambda: world.get(three.id).delivered_at)
    number = client.call("ask_human", questions=asked[1:], timeout=0.1)
    text, failed = client.text(number)
    assert failed and text.count("NOT ANSWERED") == 2


@pytest.mark.proves("AGT-22")
def test_cancelled_call_withdraws_its_ask(world, client):
    number = client.call("ask_human", question="Q")
    (ask,) = pending(world)
    client.send(
        {"method": "notifications/cancelled", "params": {"requestId": number, "reason": "Esc"}}
    )
    after = wait_for_settled(world, ask.id)
    assert (after.status, after.note) == ("cancelled", "the agent gave the call up: Esc")
    assert client.result(client.ask("ping"))["result"] == {}
    assert client.heard == [], "a cancelled call is not answered"


@pytest.mark.proves("AGT-22")
def test_call_cancelled_at_once_leaves_no_ask_behind(world, client):
    for number in range(4):
        call = {"name": "approve", "arguments": {"tool_name": "T", "input": {"n": number}}}
        cancel = {"method": "notifications/cancelled", "params": {"requestId": number}}
        lines = [{"id": number, "method": "tools/call", "params": call}, cancel]
        client.send("\n".join(json.dumps({"jsonrpc": "2.0"} | line) for line in lines))
    until = time.monotonic() + 20
    while len(world.store.asks.list_settled(9)) < 4:
        assert time.monotonic() < until
    assert world.store.asks.pending(9) == []


@pytest.mark.proves("AGT-19", "AGT-22")
def test_odd_ids_and_cancellations_do_no_harm(world, client):
    number = client.call("ask_human", question="Q")
    (ask,) = pending(world)
    for wrong in ({}, [], None, True, 99):
        client.send({"method": "notifications/cancelled", "params": {"requestId": wrong}})
    client.send({"id": number, "method": "tools/call", "params": {"name": "inbox_status"}})
    assert client.result(number)["error"]["message"] == f"the id {number} is in use"
    for wrong in ({}, [1], None, True):
        client.send({"id": wrong, "method": "tools/call", "params": {"name": "inbox_status"}})
        assert client.result(None)["error"]["code"] == -32600
    world.ada.gate("answer", ask.id, "still here")
    assert client.text(number) == ("still here", False)


@pytest.mark.proves("AGT-12", "AGT-4")
def test_reply_about_a_call_does_not_use_its_answer(world, client):
    def approve_call(call_id):
        return client.call(
            "approve", tool_name="Bash", input={"command": "ls"}, tool_use_id=call_id
        )

    number = approve_call("t1")
    (ask,) = pending(world)
    assert "script" not in world.ada.gate("ask-back", ask.id, "why?").out
    assert "why?" in json.loads(client.text(number)[0])["message"]
    replied = client.text(client.call("ask_human", reply_to=ask.id, reply="to see"))
    assert "Make the same call again" in replied[0] and not replied[1]
    number = approve_call("t2")
    world.ada.gate("answer", ask.id, "yes")
    assert json.loads(client.text(number)[0])["behavior"] == "allow"
    number = client.call("ask_human", question="Which?")
    (ask,) = pending(world)
    other = Client(world, CLAUDE_CODE_SESSION_ID="s2")
    told, failed = other.text(other.call("ask_human", reply_to=ask.id, reply="x"))
    assert failed and "another session" in told
    assert other.close() == 0 and world.get(ask.id).pending
    world.ada.gate("answer", ask.id, "this")
    assert client.text(number) == ("this", False)


@pytest.mark.proves("AGT-24", "AGT-1")
def test_call_that_cannot_be_shown_is_not_approved(world, client):
    told, failed = client.text(client.call("approve", tool_name="Bash", input=["rm -rf /"]))
    assert failed and "cannot be shown" in told
    assert world.store.asks.pending(9) == []


@pytest.mark.proves("HOOK-1", "AGT-24")
@pytest.mark.parametrize("tool", [{}, {"tool_name": 7}, {"tool_name": ""}, {"tool_name": "a b"}])
def test_call_without_tool_name_is_not_approved(world, client, tool):
    told, failed = client.text(client.call("approve", **tool, input={"command": "ls"}))
    assert failed and told
    assert world.store.asks.pending(9) == []


@pytest.mark.proves("AGT-22", "AGT-23", "LAW-4")
def test_call_that_timed_out_can_continue(world, client):
    number = client.call("ask_human", question="Continue?")
    (ask,) = pending(world)
    reason = "McpError: MCP error -32001: Request timed out"
    client.send(
        {"method": "notifications/cancelled", "params": {"requestId": number, "reason": reason}}
    )
    client.result(client.ask("ping"))
    world.ada.gate("answer", ask.id, "go on")
    assert client.text(client.call("ask_human", question="Continue?")) == ("go on", False)
    # It is recorded as taken just after its delivery, never before.
    until = time.monotonic() + 20
    while not world.get(ask.id).delivered_at:
        assert time.monotonic() < until, "the answer was never recorded as taken"
    client.call("ask_human", question="Continue?")
    assert pending(world)[0].id != ask.id, "the second honest question is a new one"


@pytest.mark.proves("AGT-23", "LAW-1")
def test_killed_server_loses_no_question(world, client):
    client.call("ask_human", question="Continue?")
    (ask,) = pending(world)
    client.server.kill()
    client.server.communicate()
    assert world.get(ask.id).pending
    again = Client(world, CLAUDE_CODE_SESSION_ID="s1")
    number = again.call("ask_human", question="Continue?")
    assert pending(world)[0].id == ask.id
    world.ada.gate("answer", ask.id, "yes")
    assert again.text(number) == ("yes", False)
    other = Client(world, CLAUDE_CODE_SESSION_ID="s2")
    other.call("ask_human", question="Continue?")
    assert pending(world)[0].id != ask.id
    assert again.close() == other.close() == 0
    assert len(world.store.asks.pending(9)) == 1, "its question stays when an agent is gone"


@pytest.mark.proves("AGT-20", "AGT-12")
def test_person_asks_back_and_is_replied_to(world, client):
    number = client.call("ask_human", question="Which?")
    (ask,) = pending(world)
    world.ada.gate("ask-back", ask.id, "what for?")
    text, failed = client.text(number)
    assert "what for?" in text and f'reply_to="{ask.id}"' in text and not failed
    number = client.call("ask_human", reply_to=ask.id, reply="for the cache")
    until = time.monotonic() + 20
    while "for the cache" not in world.plain.gate("show", ask.id).out:
        assert time.monotonic() < until
    world.ada.gate("answer", ask.id, "redis")
    assert client.text(number) == ("redis", False)


@pytest.mark.proves("AGT-86")
def test_result_is_recorded_before_the_next_call(tmp_path):
    order, second, sent = [], threading.Event(), threading.Semaphore(0)
    reading, requests = os.pipe()

    class Writing(io.BytesIO):
        def flush(self):
            sent.release()

    def call(_work, _name, given):
        order.append(given["question"])
        if given["question"] == "second":
            second.set()

        def hand_over():
            # As long as the other call would need if it did not wait.
            second.wait(0.5)
            order.append(f"{given['question']} is recorded")

        return "text", hand_over

    with open(reading, "rb") as lines, open(requests, "wb", buffering=0) as asking:
        server = Server(lines, Writing(), 60.0)
        server._tools.call = call
        threading.Thread(target=server.serve, daemon=True).start()
        for number, question in enumerate(("first", "second")):
            params = {"name": "ask_human", "arguments": {"question": question}}
            message = {"id": number, "method": "tools/call", "params": params}
            asking.write(json.dumps(message).encode() + b"\n")
            assert sent.acquire(timeout=30)
    assert order[:3] == ["first", "first is recorded", "second"]


@pytest.mark.proves("AGT-20")
def test_missing_answer_is_an_error(world, client):
    number = client.call("ask_human", question="Q")
    (ask,) = pending(world)
    world.ada.gate("cancel", ask.id, "--reason", "moot")
    text, failed = client.text(number)
    assert failed and "cancelled" in text and "moot" in text


@pytest.mark.proves("AGT-20")
def test_host_with_a_short_timeout_gets_a_timely_reply(world):
    client = Client(world, "--limit", "0.3")
    text, failed = client.text(client.call("ask_human", question="Q"))
    assert failed and "timed out" in text
    assert client.close() == 0


@pytest.mark.proves("AGT-24", "AGT-2")
def test_approve_answers_in_the_hosts_shape(world, client):
    def ask(call_id):
        return client.call(
            "approve", tool_name="Bash", input={"command": "ls"}, tool_use_id=call_id
        )

    number = ask("t1")
    world.ada.gate("answer", pending(world)[0].id, "yes")
    assert json.loads(client.text(number)[0]) == {
        "behavior": "allow", "updatedInput": {"command": "ls"}
    }  # fmt: skip
    number = ask("t2")
    world.ada.gate("answer", pending(world)[0].id, "no", "--note", "why?")
    assert json.loads(client.text(number)[0]) == {
        "behavior": "deny", "message": "A person said no to this: why?"
    }  # fmt: skip
    number = ask("t3")
    world.ada.gate("cancel", pending(world)[0].id)
    assert json.loads(client.text(number)[0])["behavior"] == "deny"


@pytest.mark.proves("AGT-24", "AGT-14")
def test_call_of_a_vanished_host_is_withdrawn(world, client):
    client.call("approve", tool_name="Bash", input={"command": "ls"}, tool_use_id="t1")
    (ask,) = pending(world)
    assert client.close() == 0
    assert world.get(ask.id).note == "claude is gone"


@pytest.mark.proves("AGT-24", "AGT-16")
def test_approve_answers_a_hosts_own_questions(world, client):
    asked = {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}
    number = client.call("approve", tool_name="AskUserQuestion", input=asked)
    world.ada.gate("answer", pending(world)[0].id, "A")
    assert json.loads(client.text(number)[0]) == {
        "behavior": "allow", "updatedInput": {**asked, "answers": {"Which?": "A"}}
    }  # fmt: skip


@pytest.mark.proves("AGT-25", "AGT-26")
def test_signals_proposals_and_notes(world, client):
    assert client.text(client.call("signal", status="DONE", summary="green")) == (
        "Recorded: DONE", False
    )  # fmt: skip
    assert client.text(client.call("notify_human", message="half way"))[1] is False
    listed = world.plain.gate("inbox").out
    assert "half way" in listed and "DONE: green" in listed
    number = client.call("signal", status="NEEDS_HUMAN", question="Which?")
    (ask,) = pending(world)
    assert ask.id in client.text(client.call("inbox_status"))[0]
    assert "waiting" in client.text(client.call("inbox_status", id=ask.id))[0]
    proposed = client.text(client.call("decide", id=ask.id, proposal="A", reason="cheap"))
    assert "A person decides" in proposed[0]
    assert "proposes: A" in world.plain.gate("show", ask.id).out
    assert world.get(ask.id).pending
    world.ada.gate("answer", ask.id, "B")
    assert client.text(number) == ("B", False)
    assert client.text(client.call("inbox_status", id=ask.id)) == ("B", False)
    assert client.text(client.call("inbox_status"))[0] == "This session waits for nothing."
    assert client.text(client.call("decide", id="a-zzzz", proposal="A"))[1]


@pytest.fixture
def turn(world):
    """Make an agent's open turn of a run."""
    now = world.store.now()
    new = Run(0, "feature", "f.py", "", "", "/p", "person:ada", now)
    run = world.store.runs.add(new, [], Carried())
    made = Turn("t-1", run.id, "1", 1, "coder", "claude", "s1", "Do it.", now)
    assert world.store.runs.change(RunChange(run, turns=(made,)), run)
    return run, made


@pytest.mark.proves("RUN-350", "S2-15", "S2-19", "TASK-29", "S3-19")
def test_signal_in_a_turn_is_kept_on_that_turn(world, turn):
    run, made = turn
    client = Client(world, GATE_TURN=made.id)
    given = {
        "status": "needs human", "reason": "two ways", "summary": "half of it", "question": "Which?",
        "options": ["A", "B"], "value": {"n": 1}, "message": "m", "details": "d",
        "question_context": "a mobile app", "confidence": 0.5, "issues": ["slow tests"],
    }  # fmt: skip
    told, failed = client.text(client.call("signal", **given))
    assert not failed and "NEEDS_HUMAN" in told and "End your turn" in told
    kept = world.store.runs.turn(made.id).offered
    assert kept == given | {"status": "NEEDS_HUMAN"}
    assert world.store.asks.pending(9) == [], "the run asks, once the turn has ended"
    assert "half of it" in world.plain.gate("inbox").out
    client.text(client.call("signal", status="DONE"))
    assert world.store.runs.turn(made.id).offered == {"status": "DONE"}
    assert client.text(client.call("signal", status=" "))[1]
    over = made._replace(ended_at=world.store.now())
    assert world.store.runs.change(RunChange(run, turns=(over,)), run)
    told, failed = client.text(client.call("signal", status="BLOCKED"))
    assert failed and "your turn is over" in told
    assert world.store.runs.turn(made.id).offered == {"status": "DONE"}
    assert client.close() == 0


def joined_at(world, run, made, name, kind):
    """Let a person visit the session, for the question of a call."""
    session = "claude/s2" if name == "run" else ""
    origin = Origin(project="/p", owner=owner_of(run.id, "1"), session=session)
    ask = create_ask.ask(world.store, Request("Which?", kind), origin, a_person()).ask
    call = FlowCall(run.id, "1", name, "x", "", world.store.now(), "waiting", ask_id=ask.id)
    turn = made._replace(id="t-2", session="s2", by="person:ada", ask_id=ask.id)
    assert world.store.runs.change(RunChange(run, (call,), (turn,)), run)
    return ask, turn


@pytest.mark.proves("RUN-350")
def test_signal_in_a_persons_session_counts_when_they_leave(world, turn):
    _, joined = joined_at(world, *turn, "run", "text")
    client = Client(world, GATE_TURN=joined.id)
    told, _ = client.text(client.call("signal", status="DONE"))
    assert told == "Recorded: DONE. It counts when the person leaves this session."
    assert client.close() == 0


@pytest.mark.proves("RUN-384", "LAW-3")
def test_signal_at_gate_is_reported_as_proposal(world, turn):
    ask, joined = joined_at(world, *turn, "pause", "approval")
    client = Client(world, GATE_TURN=joined.id)
    told, _ = client.text(client.call("signal", status="CONTINUE"))
    assert told.startswith("Passed on as a proposal: CONTINUE. It decides nothing")
    assert client.close() == 0 and world.store.asks.get(ask.id).pending


@pytest.mark.proves("RUN-383")
def test_signal_after_stop_is_refused_by_tool(world, turn):
    run, _ = turn
    _, joined = joined_at(world, *turn, "run", "text")
    manage_runs.stop(world.store, run.id, a_person("bob"), "wrong branch")
    client = Client(world, GATE_TURN=joined.id)
    told, is_error = client.text(client.call("signal", status="DONE"))
    assert is_error and "run 1 has ended (stuck: wrong branch)" in told
    assert client.close() == 0 and world.store.runs.turn(joined.id).offered is None


@pytest.mark.proves("AGT-23")
def test_sessions_are_distinguished(world):
    codex = Client(world)
    codex.result(codex.ask("initialize", clientInfo={"name": "codex-mcp-client"}))
    codex.call("ask_human", {"threadId": "th1", "callId": "c1"}, question="One?")
    (one,) = pending(world)
    assert (one.origin.session, one.origin.tool_use_id) == ("codex/th1", "c1")
    other = Client(world)
    other.result(other.ask("initialize", clientInfo={"name": "Gemini CLI"}))
    other.call("ask_human", question="Two?")
    two = pending(world, 2)[1]
    assert two.origin.agent == "gemini" and two.origin.session.startswith("gemini/")
    third = Client(world)
    info = {"io.modelcontextprotocol/clientInfo": {"name": "somebody's own"}}
    third.call("ask_human", info, question="Three?")
    assert pending(world, 3)[2].origin.agent == "somebody's own"
    assert codex.close() == other.close() == third.close() == 0


@pytest.mark.proves("AGT-19", "AGT-20")
def test_protocols_own_client_asks_and_is_answered(world):
    """The protocol's client also gets the progress while it waits."""
    # Imported here: every worker of a run imports this file, and one runs it.
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "gatebell", "mcp"], env=world.plain.environ,
        cwd=str(world.plain.folder),
    )  # fmt: skip

    async def talk():
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await session.initialize()
            tools = await session.list_tools()
            asked = asyncio.create_task(session.call_tool("ask_human", {"question": "Which?"}))
            ask = (await asyncio.to_thread(pending, world))[0]
            await asyncio.to_thread(world.ada.gate, "answer", ask.id, "this one")
            return tools, await asked

    tools, result = asyncio.run(talk())
    assert {tool.name for tool in tools.tools} >= {"ask_human", "approve"}
    assert [block.text for block in result.content] == ["this one"] and not result.is_error


@pytest.mark.proves("AGT-20")
def test_long_wait_reports_progress(monkeypatch):
    monkeypatch.setattr("gatebell.mcp.heartbeat._EVERY_SECONDS", 0.001)
    heard = SimpleQueue()
    with heartbeat(Progress(7, heard.put), ["a-222"]):
        told = [heard.get(timeout=20)["params"] for _ in range(3)]
    seconds = [one["progress"] for one in told]
    assert seconds == sorted(set(seconds)), "the protocol wants it to grow"
    assert {one["progressToken"] for one in told} == {7}
    assert {one["message"] for one in told} == {"waiting for a person: gate answer a-222"}


@pytest.mark.proves("AGT-20")
def test_client_without_token_gets_no_progress(monkeypatch):
    monkeypatch.setattr(threading, "Thread", None)
    with heartbeat(Progress(None, None), ["a-222"]):
        pass


@pytest.mark.proves("AGT-20")
def test_deaf_client_ends_no_wait(monkeypatch):
    monkeypatch.setattr("gatebell.mcp.heartbeat._EVERY_SECONDS", 0.001)
    tried = threading.Event()

    def fail(message):
        tried.set()
        raise BrokenPipeError

    with heartbeat(Progress(7, fail), ["a-222"]):
        assert tried.wait(20)
