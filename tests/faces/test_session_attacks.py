"""Attacks on sessions: what was suggested is no answer, and what a person did is theirs alone."""

from __future__ import annotations

import json

import pytest
from tests.faces.test_sessions_terminal import SCHEMA, TALKATIVE, Desk, pid_in

from humangate.domain.sittings import Terms
from humangate.service import answering

NESTED = {"type": "object", "properties": {"port": {"type": "object"}}, "required": ["port"]}
SEND = "This is what was suggested. Type yes to send it (Enter: not yet): "


@pytest.fixture
def desk(world):
    return Desk(world)


@pytest.fixture
def left(desk):
    """Somebody who has just left a session that suggests this."""
    screens = []

    def leave(suggestion, schema=SCHEMA, **environ):
        ask = desk.ask(Terms("form"), schema=schema)
        gate = TALKATIVE.replace('{"port": 8080}', json.dumps(suggestion).replace("\\", "\\\\"))
        screens.append(desk.opened(ask, gate=gate, **environ))
        pid_in(screens[-1])
        screens[-1].type("exit\n")
        return ask, screens[-1]

    yield leave
    for one in screens:
        one.close()


def draft(desk, ask):
    return answering.draft(desk.store, ask.id, desk.caller_of("ada"))


@pytest.mark.proves("SES-110", "LAW-3")
@pytest.mark.parametrize("more", [{}, {"unseen": True}], ids=["whole", "and more"])
def test_enter_does_not_send_what_was_suggested(desk, left, more):
    ask, ada = left({"port": 8080} | more)
    ada.until("port (integer): 8080")
    ada.type("\n")
    ada.until(SEND)
    ada.type("\n")
    assert ada.end() == 11, ada.seen
    assert desk.store.asks.get(ask.id).pending and draft(desk, ask) == ""


@pytest.mark.proves("SES-110")
def test_what_was_suggested_is_sent_by_a_typed_yes(desk, left):
    ask, ada = left({"port": 8080})
    ada.until("port (integer): 8080")
    ada.type("\n")
    ada.until(SEND)
    ada.type("yes\n")
    assert ada.end() == 0 and desk.outcome(ask).response == {"port": 8080}


@pytest.mark.proves("SES-110", "LAW-3")
def test_an_editor_that_is_left_as_it_was_sends_nothing(desk, left):
    ask, ada = left({"port": {"a": 1}}, NESTED, VISUAL="true")
    ada.until("Enter opens the form")
    ada.type("\n")
    ada.until(SEND)
    ada.type("\n")
    assert ada.end() == 11, ada.seen
    assert desk.store.asks.get(ask.id).pending and draft(desk, ask) == ""


@pytest.mark.proves("SES-111")
def test_a_suggestion_is_nobodys_draft(desk, left):
    ask, ada = left({"port": 8080})
    ada.until("port (integer): 8080")
    ada.type("\x03")
    assert ada.end() == 130 and "What you typed is kept" not in ada.seen
    assert draft(desk, ask) == ""


@pytest.mark.proves("SES-111", "LAW-8")
def test_no_field_begins_with_what_a_terminal_would_obey(desk, left):
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    ask, ada = left({"a": "x\x1b[2Jy", "b": "plain"}, schema)
    ada.until("a (string, optional): ")
    ada.type("mine\n")
    ada.until("b (string, optional): plain")
    ada.type("\n")
    assert ada.end() == 0 and desk.outcome(ask).response == {"a": "mine", "b": "plain"}
    assert "\x1b[2J" not in ada.seen
