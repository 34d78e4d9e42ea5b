"""`gate hook` for gemini, opencode, copilot and cursor: their events, and replies in their words."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest
from tests.support.hook_session import Session, the_ask, wait_for_end

from gatebell.errors import UsageError
from gatebell.hooks.event_parser import read_event
from gatebell.hooks.host_calls import EVENTS, MARK

PUSH = {"command": "git push", "description": "send it"}
SHELLS = {
    "gemini": ("run_shell_command", PUSH),
    "opencode": ("bash", PUSH),
    "copilot": ("Bash", PUSH),
    "cursor": ("Shell", PUSH),
}
WRITES = {
    "gemini": ("write_file", {"file_path": "/x", "content": "y"}),
    "opencode": ("write", {"filePath": "/x", "content": "y"}),
    "copilot": ("Write", {"path": "/x", "file_text": "y"}),
    "cursor": ("Write", {"file_path": "/x", "contents": "y"}),
}
NO = {
    "gemini": {"decision": "deny", "reason": "open a PR"},
    "opencode": {"decision": "deny", "reason": "open a PR"},
    "copilot": {"permissionDecision": "deny", "permissionDecisionReason": "open a PR"},
    "cursor": {"permission": "deny", "user_message": "open a PR", "agent_message": "open a PR"},
}
MARKED = {"hookSpecificOutput": {"tool_input": {**PUSH, "description": f"{MARK} send it"}}}
YES = {
    "gemini": MARKED,
    "opencode": {"decision": "allow"},
    "copilot": {"permissionDecision": "allow"},
    "cursor": {"permission": "allow"},
}


def event(cli, tool, tool_input, folder="/nowhere", **more):
    key = "conversation_id" if cli == "cursor" else "session_id"
    made = {"hook_event_name": EVENTS[cli][-1], key: "s1", "cwd": str(folder)}
    return {**made, "tool_name": tool, "tool_input": tool_input, **more}


def read(cli, document):
    return read_event(io.BytesIO(json.dumps(document).encode()), cli)


def a_session(world, cli):
    world.ada.gate("gates", "add", "Bash(git push *)", "--as", "ada")
    return Session(world, cli)


def start(world, cli, *words):
    text = json.dumps(event(cli, *SHELLS[cli], world.plain.folder))
    return a_session(world, cli).start(text, "--guarded", *words)


@pytest.mark.proves("OTHER-1", "OTHER-4")
@pytest.mark.parametrize("cli", SHELLS)
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_answer_goes_to_the_host(world, cli, answer):
    hook = start(world, cli)
    ask = the_ask(world)
    # A server puts the name of the token before it.
    session = f"{cli}:s1" if world.web else f"{cli}/s1"
    assert (ask.origin.session.endswith(session), ask.question.call.command) == (True, "git push")
    world.ada.gate("answer", ask.id, answer, "--note", "open a PR", "--as", "ada")
    out = wait_for_end(hook)
    assert out.endswith("}\t\n")
    said = json.loads(out)
    if answer == "yes":
        assert said == YES[cli]
    else:
        assert said.keys() == NO[cli].keys()
        assert "open a PR" in json.dumps(said)


@pytest.mark.proves("OTHER-1")
@pytest.mark.parametrize("cli", SHELLS)
def test_call_without_a_gate_goes_on(world, cli):
    tool, _ = SHELLS[cli]
    session = a_session(world, cli)
    text = json.dumps(event(cli, tool, {"command": "ls"}, world.plain.folder))
    ran = session.hook(text, "--guarded")
    assert ran.code == 0
    expected = {"hookSpecificOutput": {"tool_input": {"command": "ls", "description": MARK}}}
    allowed = {"gemini": expected, "copilot": {}}.get(cli, YES[cli])
    assert json.loads(ran.out) == allowed
    assert world.store.asks.pending(9) == []


@pytest.mark.proves("OTHER-1", "HOOK-50")
def test_harmless_command_with_a_gated_word_goes_on(world):
    world.ada.gate("gates", "add", "Bash(any push)", "--as", "ada")
    session = Session(world, "opencode")
    for command, code in (("git log --grep push", "allow"), ("git log; $p push", "deny")):
        text = json.dumps(event("opencode", "bash", {"command": command}, world.plain.folder))
        ran = session.hook(text, "--guarded", "--limit", "1")
        assert json.loads(ran.out)["decision"] == code


@pytest.mark.proves("OTHER-1", "OTHER-4")
def test_edited_command_is_left_to_the_agent(world):
    hook = start(world, "gemini")
    world.ada.gate("answer", the_ask(world).id, "yes", "--with", "git push -n", "--as", "ada")
    said = json.loads(wait_for_end(hook))
    assert said["decision"] == "deny"
    assert "git push -n" in said["reason"]


@pytest.mark.proves("OTHER-4")
@pytest.mark.parametrize("cli", WRITES)
def test_file_tools_get_our_names(cli):
    found = read(cli, event(cli, *WRITES[cli]))
    assert (found["tool_name"], found["tool_input"]["file_path"]) == ("Write", "/x")
    assert set(found["tool_input"]) == set(WRITES[cli][1]) - {"filePath", "path"} | {"file_path"}


@pytest.mark.proves("OTHER-4")
def test_cursor_shell_event_is_a_command():
    asked = {"hook_event_name": "beforeShellExecution", "conversation_id": "c", "command": "ls"}
    found = read("cursor", {**asked, "workspace_roots": ["/p"]})
    assert (found["tool_name"], found["tool_input"]) == ("Bash", {"command": "ls"})
    assert (found["session_id"], found["cwd"]) == ("c", "/p")


@pytest.mark.proves("OTHER-4")
@pytest.mark.parametrize(("line", "file"), [("Update File: b", "a"), ("Move to: ../b", "../b")])
def test_patch_is_about_a_file_outside_first(tmp_path, line, file):
    patch = f"*** Begin Patch\n*** Add File: a\n+x\n*** {line}\n"
    for given in ({"patchText": patch}, patch):
        found = read("opencode", event("opencode", "apply_patch", given, tmp_path))
        assert (found["tool_name"], found["tool_input"]["file_path"]) == ("Edit", file)
        assert patch in found["tool_input"].values()


@pytest.mark.proves("OTHER-4")
@pytest.mark.parametrize(
    ("cli", "change"),
    [
        ("gemini", {"hook_event_name": "AfterTool"}),
        ("copilot", {"hook_event_name": "Stop"}),
        ("opencode", {"tool_name": "apply_patch", "tool_input": {"patchText": "none"}}),
        ("opencode", {"tool_name": "write", "tool_input": {"filePath": 7}}),
        ("copilot", {"tool_name": "Write", "tool_input": {"path": ""}}),
    ],
)
def test_unreadable_event_is_refused(cli, change):
    with pytest.raises(UsageError):
        read(cli, event(cli, *SHELLS[cli]) | change)


@pytest.mark.proves("OTHER-4")
@pytest.mark.parametrize("cli", SHELLS)
def test_unreadable_call_is_refused_in_the_hosts_words(world, cli):
    session = a_session(world, cli)
    ran = session.hook(json.dumps(event(cli, SHELLS[cli][0], {})), "--guarded")
    assert json.loads(ran.out).keys() == NO[cli].keys()
    assert "gate cannot read this call" in ran.out


@pytest.mark.proves("OTHER-2")
def test_store_without_gates_blocks_the_call(world):
    text = json.dumps(event("gemini", *SHELLS["gemini"], world.plain.folder))
    ran = Session(world, "gemini").hook(text, "--guarded")
    assert (ran.code, ran.out) == (2, "")
    assert "never had a gate" in ran.err


@pytest.mark.proves("OTHER-7")
def test_wait_ends_with_its_host(world):
    host = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    hook = start(world, "gemini", "--host", str(host.pid))
    the_ask(world)
    os.kill(host.pid, 9)
    host.communicate()
    assert json.loads(wait_for_end(hook))["decision"] == "deny"
    assert world.store.asks.pending(9) == []
