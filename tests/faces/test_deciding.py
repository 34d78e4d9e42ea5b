"""Deciding in the host's own form: only the person in the session, and only there."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys

import pytest
from tests.support.decision_room import AFTERWARDS, APPROVE, FORMS, room, wait_for_line
from tests.support.mcp_client import DISCOVERY, check_result

from gatebell.adapters.system import processes
from gatebell.domain.asks.answers import Given
from gatebell.services.asks import answer_ask
from gatebell.services.sessions import ask_session

__all__ = ["room"]

NEWEST = DISCOVERY["_meta"] | {"io.modelcontextprotocol/clientCapabilities": FORMS}


def shown(client):
    """Return the form that the host must show."""
    while True:
        for message in client.heard:
            if message.get("method") == "elicitation/create":
                client.heard.remove(message)
                return message
        line = client.server.stdout.readline()
        assert line, client.server.stderr.read()
        client.heard.append(json.loads(line))


def unshown(client, number):
    """Return the result of a call without a form."""
    while not any(one.get("id") == number and "method" not in one for one in client.heard):
        line = client.server.stdout.readline()
        assert line, client.server.stderr.read()
        client.heard.append(json.loads(line))
        assert client.heard[-1].get("method") != "elicitation/create", "a form was shown"
    return client.text(number)


@pytest.mark.proves("SES-95", "S0-B34", "LAW-3")
def test_persons_choice_in_the_form_settles(room):
    client = room.open().client()
    number = room.propose(client)
    form = shown(client)
    assert form["params"]["message"].split("\n") == [
        f"{room.ask.id}: Is the schema good?",
        "claude proposes: “APPROVED”, because: “it is small”",
        "You decide. If you leave this form, nothing is decided.",
    ]
    assert room.now().pending, "a proposal decides nothing"
    content = {"decision": "reject", "reason": "no index"}
    client.send({"id": form["id"], "result": {"action": "accept", "content": content}})
    told, failed = client.text(number)
    assert "The person has decided" in told and "(rejected)" in told and not failed
    after = room.now()
    assert (after.status, after.decision, after.note) == ("answered", "rejected", "no index")
    assert (after.settled_by, after.settled_via) == ("person:ada", "session")
    said = [e.event for e in room.store.audit.of_subject(after.id)][-1]
    assert said.kind == "ask.answered"
    evidence = said.content["evidence"]
    assert (evidence["host"], evidence["visit"]) == ("claude", room.visit.id)
    assert evidence["program"] == str(processes.me())
    (message,) = room.store.asks.messages(after.id)
    assert message.text == "proposes: APPROVED\nbecause: it is small" and message.by_asker


@pytest.mark.proves("SES-96")
def test_newest_revision_calls_again_with_the_reply(room):
    client = room.open().client(capabilities={})
    call = {"name": "decide", "arguments": {"id": room.ask.id, "proposal": "yes"}, "_meta": NEWEST}
    result = client.result(client.ask("tools/call", **call))["result"]
    check_result(result, "tools/call", "2026-07-28")
    ((name, form),) = result["inputRequests"].items()
    assert (result["resultType"], form["method"]) == ("input_required", "elicitation/create")
    reply = {"inputResponses": {name: APPROVE}, "requestState": result["requestState"]}
    again = client.result(client.ask("tools/call", **call, **reply))["result"]
    assert again["resultType"] == "complete" and "has decided" in again["content"][0]["text"]
    assert room.now().decision == "approved"
    assert len(room.store.asks.messages(room.ask.id)) == 1, "it was proposed once"


@pytest.mark.proves("SES-97", "LAW-3", "LAW-4")
@pytest.mark.parametrize("made_up", ["state", "twice", "number", "other name"])
def test_reply_to_no_open_form_decides_nothing(room, made_up):
    client = room.open().client(capabilities={})
    call = {"name": "decide", "arguments": {"id": room.ask.id, "proposal": "yes"}, "_meta": NEWEST}
    result = client.result(client.ask("tools/call", **call))["result"]
    ((name, _),) = result["inputRequests"].items()
    state = result["requestState"]
    if made_up == "twice":
        off = {"inputResponses": {name: {"action": "decline"}}, "requestState": state}
        client.result(client.ask("tools/call", **call, **off))
    states = {"state": "0" * 32, "number": 7}
    reply = {name if made_up != "other name" else "x": APPROVE}
    more = {"inputResponses": reply, "requestState": states.get(made_up, state)}
    told = client.result(client.ask("tools/call", **call, **more))["result"]["content"][0]["text"]
    assert "othing was decided" in told or told.startswith("Not decided")
    client.send({"id": state, "result": APPROVE})
    client.send({"id": None, "result": APPROVE})
    client.result(client.ask("ping"))
    assert room.now().pending


ODD = [
    {"action": "decline"},
    {"action": "cancel"},
    {"action": "accept"},
    {"action": "accept", "content": {}},
    {"action": "accept", "content": {"decision": "not yet"}},
    {"action": "accept", "content": {"decision": "APPROVE"}},
    {"action": "accept", "content": "approve"},
    {"action": "approve", "content": {"decision": "approve"}},
    {"action": ["accept"], "content": {"decision": "approve"}},
    {"content": {"decision": "approve"}},
    ["accept"],
    "accept",
    None,
]


@pytest.mark.proves("SES-97", "LAW-3")
def test_odd_reply_decides_nothing(room):
    client = room.open().client()
    for odd in ODD:
        number = room.propose(client)
        client.send({"id": shown(client)["id"], "result": odd})
        told, _ = client.text(number)
        assert told.startswith(f"Not decided: {room.ask.id} still waits"), odd
    number = room.propose(client)
    client.send({"id": shown(client)["id"], "error": {"code": -32601, "message": "no forms"}})
    assert client.text(number)[0].startswith("Not decided")
    assert room.now().pending and room.store.asks.answers(room.ask.id) == []


@pytest.mark.proves("SES-97")
def test_abandoned_call_decides_nothing(room):
    client = room.open().client()
    number = room.propose(client)
    form = shown(client)
    client.send({"method": "notifications/cancelled", "params": {"requestId": number}})
    client.send({"id": form["id"], "result": APPROVE})
    client.result(client.ask("ping"))
    second = room.propose(client)
    client.send({"id": shown(client)["id"], "result": {"action": "decline"}})
    client.text(second)
    assert room.now().pending


@pytest.mark.proves("SES-98", "LAW-3")
@pytest.mark.parametrize("meanwhile", ["left", "answered", "lost", "hook", "broken settings"])
def test_reply_after_a_change_decides_nothing(room, meanwhile):
    client = room.open().client()
    number = room.propose(client)
    form = shown(client)
    if meanwhile in ("left", "lost"):
        room.rise(meanwhile)
    elif meanwhile == "answered":
        bob = room.caller("bob")
        answer_ask.answer(room.store, room.ask.id, bob, Given("no"))
    else:
        hooks = {"hooks": {"Elicitation": [{"hooks": [{"type": "command", "command": "x"}]}]}}
        plant(room, json.dumps(hooks) if meanwhile == "hook" else "{")
    client.send({"id": form["id"], "result": APPROVE})
    told, _ = client.text(number)
    assert told.startswith("Not decided")
    assert room.now().decision == ("rejected" if meanwhile == "answered" else None)


def plant(room, text, name="settings.local.json"):
    folder = room.world.plain.folder / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.proves("SES-99", "LAW-3")
@pytest.mark.parametrize("event", ["Elicitation", "ElicitationResult"])
@pytest.mark.parametrize("place", ["project", "local", "user"])
def test_hook_that_could_answer_for_the_person_prevents_forms(room, event, place):
    hooks = {"hooks": {event: [{"hooks": [{"type": "command", "command": "true"}]}]}}
    if place == "user":
        home = room.world.folder / "home" / ".claude"
        home.mkdir()
        (home / "settings.json").write_text(json.dumps(hooks), encoding="utf-8")
    else:
        plant(
            room, json.dumps(hooks), {"project": "settings.json"}.get(place, "settings.local.json")
        )
    client = room.open().client()
    told, failed = unshown(client, room.propose(client))
    assert AFTERWARDS.format(room.ask.id) in told and not failed


@pytest.mark.proves("SES-99")
def test_other_hooks_and_settings_allow_forms(room):
    plant(room, json.dumps({"hooks": {"Stop": [], "Elicitation": []}}))
    plant(room, "[]", "settings.json")
    client = room.open().client()
    number = room.propose(client)
    client.send({"id": shown(client)["id"], "result": APPROVE})
    assert "has decided" in client.text(number)[0]


@pytest.mark.proves("SES-100", "LAW-3")
@pytest.mark.parametrize(
    "program", ["", "nobody's", "another"], ids=["not begun", "unknown", "another"]
)
def test_server_that_another_program_started_shows_no_form(room, program):
    if program == "another":
        program = str(processes.identify(1) or "gone")
    elif program:
        program = str(processes.me()._replace(start="1"))
    client = room.open(program=program).client()
    assert AFTERWARDS.format(room.ask.id) in unshown(client, room.propose(client))[0]
    assert room.now().pending


@pytest.mark.proves("SES-160", "LAW-3")
def test_any_other_program_is_shown_no_form(room):
    client = room.open(cli="command").client()
    told, failed = unshown(client, room.propose(client))
    assert AFTERWARDS.format(room.ask.id) in told and not failed
    assert room.now().pending


# Text that an agent could write in its own shell: forged lines of a host for its own server.
FORGERY = """
import json, os, socket, subprocess, sys, threading
way = sys.argv[1]
gate = [sys.executable, "-m", "gatebell", "mcp"]
def play(into, out):
    def send(message):
        os.write(into, (json.dumps({"jsonrpc": "2.0"} | message) + "\\n").encode())
    send({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
          "capabilities": {"elicitation": {}}, "clientInfo": {"name": "claude-code"}}})
    send({"id": 2, "method": "tools/call", "params": {"name": "decide",
          "arguments": {"id": os.environ["ASK"], "proposal": "approve"}}})
    for line in os.fdopen(out):
        message = json.loads(line)
        if message.get("method") == "elicitation/create":
            send({"id": message["id"], "result":
                  {"action": "accept", "content": {"decision": "approve"}}})
        if message.get("id") == 2:
            open("told", "w").write(line)
            os._exit(0)
if way == "child":
    server = subprocess.Popen(gate, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    play(server.stdin.fileno(), server.stdout.fileno())
if way == "socket":
    mine, its = socket.socketpair()
    ends = (mine.detach(), its.detach())
    ends = (ends[0], ends[1], ends[1], ends[0])
elif way == "terminal":
    main, side = os.openpty()
    import termios
    modes = termios.tcgetattr(side); modes[3] &= ~termios.ECHO
    termios.tcsetattr(side, termios.TCSANOW, modes)
    reading, writing = os.pipe()
    ends = (main, side, writing, reading)
elif way == "named":
    main = os.open("in", os.O_RDWR)
    reading, writing = os.pipe()
    ends = (main, os.open("in", os.O_RDONLY), writing, reading)
elif way == "lent":
    side, main = os.pipe()
    open("lent", "w").write(f"/proc/{os.getpid()}/fd/{side}\\n")
    while not os.path.exists("borrowed"):
        os.sched_yield()
    reading, writing = os.pipe()
    ends = (main, side, writing, reading)
else:
    side, main = os.pipe()
    reading, writing = os.pipe()
    ends = (main, side, writing, reading)
into, its_in, its_out, out = ends
if os.fork() == 0:
    play(into, out)
# The one that the program started becomes the server: its parent is the program.
os.dup2(its_in, 0); os.dup2(its_out, 1)
for end in {into, out}:
    os.close(end)
os.execv(gate[0], gate)
"""


@pytest.mark.proves("SES-100", "LAW-3")
@pytest.mark.parametrize("way", ["child", "pipe", "lent", "named", "socket", "terminal"])
def test_server_that_the_agent_starts_itself_shows_no_form(room, way):
    """In its shell, which the program started, even when the server replaces that shell."""
    room.open()
    shell = room.world.plain
    script = shell.folder / "forge.py"
    script.write_text(FORGERY, encoding="utf-8")
    around = shell.environ | room.environ | {"ASK": room.ask.id}
    if way == "named":
        os.mkfifo(shell.folder / "in")
        lent = os.open(shell.folder / "in", os.O_RDWR)
    forged = subprocess.Popen(
        [sys.executable, script, way], env=around, cwd=shell.folder,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    if way == "lent":
        lent = os.open(wait_for_line(shell.folder / "lent").strip(), os.O_RDONLY)
        (shell.folder / "borrowed").touch()
    told = wait_for_line(shell.folder / "told")
    assert AFTERWARDS.format(room.ask.id) in told
    assert room.now().pending and room.now().decision is None
    if forged.poll() is None:
        os.kill(forged.pid, signal.SIGTERM)
    forged.communicate(timeout=60)
    if way in ("lent", "named"):
        os.close(lent)


@pytest.mark.proves("SES-95")
def test_host_on_sockets_is_recognised(room):
    """Claude Code gives its servers pairs of sockets, not pipes."""
    room.open()
    mine, its = socket.socketpair()
    shell = room.world.plain
    server = subprocess.Popen(
        [sys.executable, "-m", "gatebell", "mcp"], env=shell.environ | room.environ,
        cwd=shell.folder, stdin=its, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    its.close()

    def send(message):
        mine.sendall((json.dumps({"jsonrpc": "2.0"} | message) + "\n").encode())

    opening = {"protocolVersion": "2025-06-18", "capabilities": FORMS}
    send({"id": 1, "method": "initialize", "params": opening})
    arguments = {"id": room.ask.id, "proposal": "approve"}
    send({"id": 2, "method": "tools/call", "params": {"name": "decide", "arguments": arguments}})
    messages = map(json.loads, server.stdout)
    form = next(one for one in messages if one.get("method") == "elicitation/create")
    send({"id": form["id"], "result": APPROVE})
    assert "has decided" in next(messages)["result"]["content"][0]["text"]
    mine.close()
    server.communicate(timeout=60)
    assert room.now().decision == "approved"


@pytest.mark.proves("SES-101")
@pytest.mark.parametrize("without", ["forms", "visit", "this ask"])
def test_proposal_outside_the_visit_stays_a_proposal(room, without):
    room.open()
    client = room.client(
        capabilities={"elicitation": {"url": {}}} if without == "forms" else FORMS,
        **{"GATE_TURN": "t-other"} if without == "visit" else {},
    )
    other = room.world.ask("--kind", "text", "Which?")
    number = room.propose(client, id=other if without == "this ask" else room.ask.id)
    assert unshown(client, number)[0].startswith("Recorded as a proposal. A person decides ")
    assert room.now().pending


@pytest.mark.proves("SES-102", "LAW-6")
def test_invalid_answer_is_kept_and_decides_nothing(room):
    schema = {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 2}}}
    client = room.open("form", schema=schema).client()
    number = room.propose(client)
    client.send(
        {"id": shown(client)["id"], "result": {"action": "accept", "content": {"field1": 3}}}
    )
    told, _ = client.text(number)
    assert told.startswith("Not decided") and "3 is not a multiple of 2" in told
    (kept,) = room.store.asks.answers(room.ask.id)
    assert (kept.outcome, kept.value) == ("refused", {"n": 3}) and room.now().pending


@pytest.mark.proves("SES-102")
@pytest.mark.parametrize(
    ("answer", "more", "content", "value"),
    [
        ("choice", {"options": ("A", "B")}, {"choice": "B"}, "B"),
        ("text", {}, {"text": "Postgres"}, "Postgres"),
        (
            "form",
            {"schema": {"type": "object", "properties": {"ok": {"type": "boolean"}}}},
            {"field1": "no"},
            {"ok": False},
        ),
    ],
)
def test_form_offers_every_kind_of_outcome(room, answer, more, content, value):
    client = room.open(answer, **more).client()
    number = room.propose(client)
    client.send({"id": shown(client)["id"], "result": {"action": "accept", "content": content}})
    assert "has decided" in client.text(number)[0]
    assert room.now().value == value


@pytest.mark.proves("SES-103", "S0-115")
def test_each_participant_decides_in_their_own_visit(room):
    room.open(requirement={"all": ["ada", "bob"]})
    client = room.client()
    number = room.propose(client)
    client.send({"id": shown(client)["id"], "result": APPROVE})
    assert "it needs" in client.text(number)[0] and room.now().pending
    room.rise()
    bob = room.caller("bob")
    seated = ask_session.open_visit(room.store, room.ask.id, bob, "claude", "s1")
    room.visit = ask_session.note_program(room.store, seated.visit, str(processes.me()))
    client = room.client()
    number = room.propose(client)
    client.send({"id": shown(client)["id"], "result": APPROVE})
    assert "has decided" in client.text(number)[0]
    assert room.now().decision == "approved"


@pytest.mark.proves("SES-104")
def test_signal_in_a_session_is_shown_and_settles_nothing(room):
    client = room.open().client()
    told, failed = client.text(client.call("signal", status="APPROVED", summary="all well"))
    assert "A person is in this session" in told and not failed
    assert room.now().pending
