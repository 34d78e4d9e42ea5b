"""Activity summaries: bounded, in a useful order, and without secrets."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.support.people import an_agent

from gatebell.domain.asks.activity_summary import explain
from gatebell.domain.notifications.notes import Note, build_sent_event
from gatebell.domain.permissions.calls import Call, make_call
from gatebell.domain.runs.prompts import first
from gatebell.domain.runs.session_log import Step, has_result, open_call
from gatebell.domain.text.redaction import HIDDEN, redact

SECRETS = (
    "AKIAABCDEFGHIJKLMNOP", "ghp_" + "a1" * 18, "github_pat_" + "b" * 50, "glpat-" + "x" * 20,
    "npm_" + "c" * 36, "pypi-" + "d" * 60, "sk-ant-api03-" + "e" * 30, "sk_live_" + "f" * 24,
    "xoxb-1234567890-abcdef", "AIza" + "g" * 35, "ya29." + "h" * 30, "gate_" + "0f" * 32,
    "eyJhbGciOiJ9.eyJzdWIiOiIx.sig-nature",
)  # fmt: skip


@pytest.mark.proves("AGT-17")
@pytest.mark.parametrize("secret", SECRETS)
def test_secret_is_hidden_in_every_place(secret):
    assert redact(f"see {secret} there") == f"see {HIDDEN} there"


@pytest.mark.proves("AGT-17")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("https://ada:hunter2@host/x", f"https://ada:{HIDDEN}@host/x"),
        ("Authorization: Bearer abcdefghijklmnop", f"Authorization: Bearer {HIDDEN}"),
        ("DB_PASSWORD=hunter22 next", f"DB_PASSWORD={HIDDEN} next"),
        ('"apiKey": "abcdefgh"', f'"apiKey": "{HIDDEN}"'),
        ("client_secret: abcd1234", f"client_secret: {HIDDEN}"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nx", f"{HIDDEN}\nx"),
        ("-----BEGIN PRIVATE KEY-----\nbm8gZW5k", HIDDEN),
    ],
)
def test_value_is_hidden_by_its_name(text, left):
    assert redact(text) == left


@pytest.mark.proves("AGT-17")
@pytest.mark.parametrize(
    "text", ["max_tokens: 4096", "def token(store):", "http://host:80/a@b", "sk-short", "a = b"]
)
def test_harmless_text_stays(text):
    assert redact(text) == text


@pytest.mark.proves("TASK-321")
def test_messages_of_the_flow_are_left_out():
    ours = Step("prompt", first("t-1", role="code", run_prompt="# Task: Add login"))
    words = Step("words", "Which one?")
    assert explain([ours, words], "") == "It last said:\nWhich one?"
    assert explain([Step("prompt", "Use JWT"), ours], "") == "It works on:\nUse JWT"


@pytest.mark.proves("AGT-17")
def test_explanation_is_ordered_and_bounded():
    steps = [
        Step("prompt", "first"),
        Step("prompt", "p" * 2000),
        *(Step("words", word) for word in ("nought", "one", "two")),
        Step("call", "", "Bash", {"command": "ls"}),
        Step("call", "", "Use", {"x": "x" * 393}),
    ]
    text = explain(steps, "diff\n" + "d\n" * 300_000)
    order = [text.index(part) for part in ("It works on:", "It last said:", "Bash: ls", "Changes:")]
    assert order == sorted(order)
    assert f"{'p' * 1500} … (500 more characters)" in text
    assert "one\n\ntwo" in text and "(100 more characters)" in text
    assert len(text) == 256_000
    assert "nought" not in text and "first" not in text
    assert explain([], "") == ""


@pytest.mark.proves("RED-1", "RED-4")
@pytest.mark.parametrize("most", [300, 1_500, 2_500])
def test_secret_at_a_bound_is_hidden(most):
    """The bounds of commands, prompts and words cut the secret in its middle."""
    for before in range(most - 60, most + 1, 7):
        text = "x" * (before - 1) + " DB_PASS=hunter2-" + "a1" * 20 + " more" * 10
        steps = [
            Step("prompt", text),
            Step("words", text),
            Step("call", "", "Bash", {"command": text}),
        ]
        shown = explain(steps, "+" + text)
        assert "hunter" not in shown and "a1a1" not in shown


@pytest.mark.proves("RED-1")
def test_key_at_a_bound_is_hidden():
    key = "-----BEGIN PRIVATE KEY-----\n" + ("Ab1/" * 16 + "\n") * 20
    shown = explain([Step("words", "w " * 1_200 + "\n" + key)], "c" * 255_000 + "\n" + key)
    assert "Ab1/" not in shown and len(shown) < 256_001


@pytest.mark.proves("AGT-14")
def test_call_is_found_by_its_missing_result():
    steps = [
        Step("call", "", "Bash", {"command": "ls", "description": "a"}, "t1"),
        Step("result", "", call_id="t1"),
        Step("call", "", "Bash", {"command": "ls", "description": "b"}, "t2"),
        Step("call", "", "Read", {"file_path": "x"}, "t3"),
        Step("call", "", "Exit", None, "t4"),
    ]
    ls = make_call("Bash", {"command": "ls"}, "", "")
    assert open_call(steps, ls) == "t2"
    assert open_call(steps, Call("Read", {"file_path": "x"})) == "t3"
    assert open_call(steps, Call("Exit", {})) == "t4"
    assert open_call(steps, Call("Read", {"file_path": "y"})) == ""
    twice = [*steps, Step("call", "", "Bash", {"command": "ls"}, "t5")]
    assert open_call(twice, ls) == ""
    # For a command only its text counts, for other tools the whole input.
    assert open_call(steps, make_call("Bash", {"command": "ls -a"}, "", "")) == ""
    assert open_call(steps, Call("Exit", {"code": 1})) == ""
    assert Step("words", "w")[2:] == ("", None, "", "")
    assert has_result(steps, "t1") and not has_result(steps, "t2")


@pytest.mark.proves("AGT-26")
def test_note_is_audited():
    note = Note("claude", "/p", "done", datetime(2026, 1, 1, tzinfo=UTC))
    assert build_sent_event(note, an_agent()) == (
        "note.sent", "claude", "agent:claude/s1", {"text": "done", "via": "cli"}
    )  # fmt: skip


@pytest.mark.proves("AGT-17")
@pytest.mark.usefixtures("uncounted")
def test_no_text_takes_long_to_redact():
    for word in ("token", "eyJ-", "sk-", "Bearer ", "://a:", "-----BEGIN "):
        assert len(redact(word * 40_000)) < 3_000
    assert "198000 more characters" in redact("token" * 40_000)
