"""`gate hook` with unreadable events and with failures: no call runs because of them."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from tests.support.hook_session import Session, decision

from gatebell.errors import StoreError
from gatebell.hooks import command, events
from gatebell.hooks.event_parser import GATING, OTHERS

WHOLE = {
    "session_id": "s1",
    "transcript_path": "/nowhere/s1.jsonl",
    "cwd": "/nowhere",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "git push"},
    "tool_use_id": "t1",
}
WITHOUT = object()
DEEP = json.loads("[" * 200 + "]" * 200)
UNREADABLE_CALLS = [
    ("tool_name", WITHOUT), ("tool_name", None), ("tool_name", ""), ("tool_name", 7),
    ("tool_name", ["Bash"]), ("tool_name", "bash"), ("tool_name", "BASH"), ("tool_name", "write"),
    ("tool_name", "Bash "), ("tool_name", "Ba\u200bsh"), ("tool_name", "\ud800"),
    ("tool_input", WITHOUT), ("tool_input", None), ("tool_input", "git push"),
    ("tool_input", ["git push"]), ("tool_input", 7), ("tool_input", {}),
    ("tool_input", {"command": 7}), ("tool_input", {"command": ""}),
    ("tool_input", {"Command": "git push"}), ("tool_input", {"command": "a\0b"}),
    ("tool_input", {"command": "a", "b": DEEP}), ("tool_input", {"command": "\udc80"}),
    ("session_id", WITHOUT), ("session_id", 7), ("session_id", ""), ("session_id", "\ud800"),
    ("cwd", WITHOUT), ("cwd", 7), ("cwd", "/a\0b"), ("cwd", "/\ud800"),
    ("tool_use_id", 7), ("transcript_path", ["x"]), ("transcript_path", "/a\0b"),
]  # fmt: skip
TEXT = json.dumps(WHOLE)
UNREADABLE_INPUTS = {
    "nothing": b"",
    "blanks": b" \n\t ",
    "torn": TEXT[:-1].encode(),
    "torn text": TEXT[:30].encode(),
    "two objects": f"{TEXT}{TEXT}".encode(),
    "two lines": f"{TEXT}\n{{}}".encode(),
    "a list": f"[{TEXT}]".encode(),
    "a text": json.dumps(TEXT).encode(),
    "null": b"null",
    "no event": b"{}",
    "event is a number": b'{"hook_event_name": 7}',
    "event is empty": b'{"hook_event_name": ""}',
    "other case": TEXT.replace("PreToolUse", "pretooluse").encode(),
    "a blank more": TEXT.replace("PreToolUse", "PreToolUse ").encode(),
    "other field": TEXT.replace("hook_event_name", "hookEventName").encode(),
    "new event": TEXT.replace("PreToolUse", "PreShellUse").encode(),
    "name twice": (TEXT[:-1] + ', "tool_name": "Read"}').encode(),
    "inner name twice": TEXT.replace('"command":', '"command": "ls", "command":').encode(),
    "event twice": (TEXT[:-1] + ', "hook_event_name": "Stop"}').encode(),
    "not a number": (TEXT[:-1] + ', "n": NaN}').encode(),
    "endless": (TEXT[:-1] + ', "n": -Infinity}').encode(),
    "deep": (TEXT[:-1] + ', "n": ' + "[" * 100_000 + "]" * 100_000 + "}").encode(),
    "long number": (TEXT[:-1] + ', "n": ' + "9" * 5000 + "}").encode(),
    "not UTF-8": TEXT.replace("git push", "git \x80").encode("latin-1"),
    "half a character": TEXT.replace("git push", "git \ud800").encode("utf-8", "surrogatepass"),
    "UTF-16": TEXT.encode("utf-16"),
    "byte order mark": TEXT.encode("utf-8-sig"),
    "huge": (TEXT[:-1] + ', "n": "' + "x" * 8_000_000 + '"}').encode(),
}


@pytest.fixture
def session(world):
    return Session(world)


def hook_with(given, *, cli="claude", **options):
    """The hook in this process, with bytes on its standard input: exit code, stdout, stderr."""
    words = argparse.Namespace(
        **{"cli": cli, "limit": 60.0, "defer": False, "guarded": False, "host": 0, "rewake": False}
        | options
    )
    out, err = io.StringIO(), io.StringIO()
    before, stdin = signal.getsignal(signal.SIGALRM), sys.stdin
    sys.stdin = SimpleNamespace(buffer=io.BytesIO(given))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command.run(words)
    finally:
        sys.stdin = stdin
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return code, out.getvalue(), err.getvalue()


def change(name, value, event="PreToolUse"):
    given = WHOLE | {"hook_event_name": event, name: value}
    return {key: one for key, one in given.items() if one is not WITHOUT}


def is_denied(event, code, out):
    said = json.loads(out)["hookSpecificOutput"] if code == 0 else {}
    if event == "PermissionRequest":
        return said["decision"]["behavior"] == "deny" and said["decision"]["message"]
    return said["permissionDecision"] == "deny" and said["permissionDecisionReason"]


@pytest.fixture
def reached(monkeypatch):
    """Return the parsed calls; they go no further than this."""
    found = []

    def take(hook):
        found.append(hook)
        return events.Reply()

    for name in GATING:
        monkeypatch.setitem(events.HANDLERS, name, take)
    return found


@pytest.mark.proves("HOOK-1", "HOOK-5")
@pytest.mark.parametrize("options", [{}, {"guarded": True}, {"defer": True, "guarded": True}])
@pytest.mark.parametrize("event", GATING)
@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_unreadable_call_is_denied(reached, event, cli, options):
    if cli == "codex" and options.get("defer"):
        options = {"guarded": True}
    for name, value in UNREADABLE_CALLS:
        given = json.dumps(change(name, value, event)).encode()
        code, out, _ = hook_with(given, cli=cli, **options)
        assert is_denied(event, code, out), (name, value)
    assert reached == []


@pytest.mark.proves("HOOK-2", "HOOK-5")
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("kind", UNREADABLE_INPUTS)
def test_unreadable_event_is_blocked(reached, kind, guarded):
    code, out, err = hook_with(UNREADABLE_INPUTS[kind], guarded=guarded)
    assert (code, out, reached) == (2, "", [])
    assert err.startswith("gatebell could not decide, so this is blocked: ")


@pytest.mark.proves("HOOK-1", "HOOK-2")
@pytest.mark.parametrize(("kind", "code"), [("no tool", 0), ("nothing", 2), ("closed", 2)])
def test_call_without_tool_name_is_denied(world, session, kind, code):
    """The real command once printed `{}` here."""
    if kind == "no tool":
        text = session.event("PreToolUse", tool=None)
        assert "cannot read" in session.hook(text).out and "deny" in session.hook(text).out
        text = session.event("PermissionRequest", tool=None)
        assert decision(session.hook(text, "--guarded").out)["behavior"] == "deny"
    command = [sys.executable, "-m", "gatebell", "hook", "claude"]
    given = {"no tool": session.event("PreToolUse", tool=""), "nothing": ""}.get(kind)
    line = command if kind != "closed" else ["/bin/sh", "-c", '"$@" <&-', "sh", *command]
    ran = subprocess.run(
        line, env=world.plain.environ, cwd=world.plain.folder, input=given,
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert ran.returncode == code, ran.stderr
    assert ("deny" in ran.stdout) == (code == 0)
    assert world.store.asks.pending(9) == []


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@pytest.mark.proves("HOOK-1", "HOOK-2")
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from(GATING),
    st.dictionaries(st.sampled_from([*WHOLE, "TOOL_NAME", "x"]), anything, max_size=3),
    st.sets(st.sampled_from([*WHOLE])),
)
@example("PreToolUse", {}, {"tool_name"})
def test_fuzzed_event_is_denied_or_read_whole(reached, event, other, left_out):
    made = {key: value for key, value in (WHOLE | {"hook_event_name": event} | other).items()
            if key not in left_out}  # fmt: skip
    check_outcome(reached, json.dumps(made).encode("utf-8", "surrogatepass"))


@pytest.mark.proves("HOOK-2")
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, len(TEXT)), st.integers(0, 40), st.binary(max_size=6))
def test_damaged_event_is_denied_or_read_whole(reached, at, length, instead):
    given = TEXT.encode()
    check_outcome(reached, given[:at] + instead + given[at + length :])


def check_outcome(reached, given):
    """The event is denied, blocked, unimportant, or parsed just as by a plain parser."""
    reached.clear()
    code, out, _ = hook_with(given)
    if code == 2:
        assert out == ""
        return
    plainly = json.loads(given.decode())
    if reached:
        (hook,) = reached
        assert hook.event == plainly and hook.call.tool == plainly["tool_name"]
        assert hook.call.input == plainly["tool_input"]
    elif plainly["hook_event_name"] in OTHERS:
        assert (code, out) == (0, "")
    else:
        assert is_denied(plainly["hook_event_name"], code, out)


@pytest.mark.proves("HOOK-1")
def test_fields_of_newer_hosts_are_ignored(reached):
    given = WHOLE | {"new_field": {"a": [1.5]}, "permission_mode": "plan"}
    assert hook_with(json.dumps(given).encode()) == (0, "", "") and len(reached) == 1


@pytest.mark.proves("HOOK-3")
@pytest.mark.parametrize("name", sorted(OTHERS))
def test_other_event_is_never_blocked(monkeypatch, name):
    def fail(_):
        raise StoreError("the disk is full")

    if name in events.HANDLERS:
        monkeypatch.setitem(events.HANDLERS, name, fail)
        expected = (1, "", "gate: the disk is full\n")
    else:
        expected = (0, "", "")
    given = json.dumps({"hook_event_name": name, "tool_name": 7}).encode()
    assert hook_with(given) == expected


@pytest.mark.proves("HOOK-4")
@pytest.mark.parametrize(
    "error", [StoreError("broken"), OSError("full"), ValueError("odd"), KeyboardInterrupt()]
)
def test_any_failure_before_use_blocks(monkeypatch, error):
    def fail(_):
        raise error

    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setitem(events.HANDLERS, "PreToolUse", fail)
    code, out, err = hook_with(TEXT.encode())
    assert (code, out) == (2, "") and "is blocked" in err
    monkeypatch.setitem(events.HANDLERS, "PermissionRequest", fail)
    with pytest.raises(type(error)):
        hook_with(TEXT.replace("PreToolUse", "PermissionRequest").encode())


@pytest.mark.proves("HOOK-4")
def test_output_that_cannot_be_written_blocks(world, session):
    event = world.folder / "event.json"
    event.write_text(session.event("PreToolUse", "Write", {"file_path": "/x"}), encoding="utf-8")
    command = f'"{sys.executable}" -m gatebell hook claude <{event} >/dev/full'
    ran = subprocess.run(["/bin/sh", "-c", command], env=world.plain.environ, check=False)
    assert ran.returncode == 2


@pytest.mark.proves("HOOK-4")
def test_late_hook_before_use_blocks(world):
    """The hook ends before the host's limit, because after it the call would run."""
    process = world.plain.start("hook", "claude", "--limit", "1", stdin=subprocess.PIPE)
    assert process.wait(20) == 2, "nothing came on its standard input"
    assert "in time" in process.communicate()[1]


@pytest.mark.proves("HOOK-6")
@pytest.mark.parametrize(
    "words",
    [
        ("codex", "--defer"), ("codex", "--defer", "--guarded"), ("claude", "--limit", "0"),
        ("claude", "--limit", "-1"), ("claude", "--limit", "nan"), ("claude", "--limit", "x"),
        ("claude", "--deferred"), ("gemini",), (),
    ],
)  # fmt: skip
def test_impossible_options_block(world, session, words):
    ran = world.plain.gate("hook", *words, text=session.event("PreToolUse"))
    assert (ran.code, ran.out) == (2, "") and ran.err


@pytest.mark.proves("HOOK-6")
@pytest.mark.parametrize("attended", ["1", ""])
def test_attended_session_asks_instead_of_deferring(world, session, attended):
    """A session in a terminal would run the call that it should defer."""
    world.plain.gate("gates", "add", "Bash(git push *)")
    world.plain.environ["CLAUDE_CODE_SESSION_ATTENDED"] = attended
    ran = session.hook(session.event("PreToolUse", tool_use_id="t1"), "--defer")
    said = json.loads(ran.out)["hookSpecificOutput"]
    assert said["permissionDecision"] == "ask" and world.store.asks.pending(9) == []


@pytest.mark.proves("HOOK-6")
def test_codex_is_denied_calls_it_would_not_ask_about(world, session):
    session.cli = "codex"
    ran = session.hook(session.event("PreToolUse", "Write", {"file_path": "/etc/passwd"}))
    assert json.loads(ran.out)["hookSpecificOutput"]["permissionDecision"] == "deny"
