"""A secret on the command line causes a warning."""

from __future__ import annotations

import json

import pytest

SCHEMA = {
    "type": "object",
    "properties": {"user": {"type": "string"}, "token": {"type": "string", "writeOnly": True}},
    "required": ["user", "token"],
    "additionalProperties": False,
}


@pytest.fixture
def opened(world):
    """Open an ask for a secret; return its id."""

    def opened(*words):
        made = world.plain.gate("ask", "Token?", "--no-wait", "--json", *words)
        assert made.code == 0, made.err
        return json.loads(made.out)["id"]

    return opened


@pytest.mark.proves("EASE-23")
@pytest.mark.parametrize("form", [False, True])
def test_secret_on_the_command_line_is_warned_of(world, opened, form):
    words = ("--schema", json.dumps(SCHEMA)) if form else ("--secret",)
    value = '{"user": "ada", "token": "hunter2"}' if form else "hunter2"
    ask_id = opened(*words)
    answered = world.ada.gate("answer", ask_id, value)
    assert answered.code == 0 and "Recorded" in answered.out
    assert "shell's history" in answered.err and "process list" in answered.err
    assert f"gate answer {ask_id}" in answered.err and "--file -" in answered.err
    assert "hunter2" not in answered.out + answered.err


@pytest.mark.proves("EASE-23")
def test_secret_from_standard_input_is_not_warned_of(world, opened):
    answered = world.ada.gate("answer", opened("--secret"), "--file", "-", text="hunter2\n")
    assert (answered.code, answered.err) == (0, "")


@pytest.mark.proves("EASE-23")
def test_refused_secret_is_warned_of_as_well(world, opened):
    answered = world.ada.gate("answer", opened("--secret"), " ")
    assert answered.code == 7 and "shell's history" in answered.err


@pytest.mark.proves("EASE-23")
def test_plain_answer_is_not_warned_of(world):
    assert world.ada.gate("answer", world.ask("Why?"), "because").err == ""
