"""`ask_human` takes a timeout and a default; both are checked when it is called."""

from __future__ import annotations

import pytest
from tests.support.mcp_client import Client
from tests.support.waiting import eventually


@pytest.fixture
def client(world):
    made = Client(world, CLAUDE_CODE_SESSION_ID="s1")
    yield made
    if made.server.poll() is None:
        assert made.close() == 0


def ask_of(world):
    return eventually(lambda: world.store.asks.pending(9))[0]


@pytest.mark.proves("EASE-22")
def test_ask_human_waits_no_longer_than_its_timeout(world, client):
    told, failed = client.text(client.call("ask_human", question="Which?", timeout=0.2))
    assert failed and told.startswith("NOT ANSWERED: a-") and "timed out" in told


@pytest.mark.proves("EASE-22")
def test_default_counts_when_time_is_over(world, client):
    asked = {"question": "Which?", "options": ["A", "B"], "default": "B", "timeout": 0.2}
    told, failed = client.text(client.call("ask_human", **asked))
    assert not failed and told == "B (the default: no person answered)"


@pytest.mark.proves("EASE-22")
def test_answer_in_time_beats_the_default(world, client):
    number = client.call("ask_human", question="Name?", default="x", timeout=600)
    ask = ask_of(world)
    lasts = (ask.deadlines.expires_at - ask.opened_at).total_seconds()
    assert (lasts, ask.question.default) == (600, "x")
    world.ada.gate("answer", ask.id, "Ada")
    assert client.text(number) == ("Ada", False)


@pytest.mark.proves("EASE-22")
def test_each_question_has_its_own_default(world, client):
    questions = [{"question": "1?", "default": "one"}, {"question": "2?", "default": "two"}]
    told, failed = client.text(client.call("ask_human", questions=questions, timeout=0.2))
    assert not failed and "1?\none (the default" in told and "2?\ntwo (the default" in told


@pytest.mark.proves("EASE-22", "LAW-3")
@pytest.mark.parametrize(("given", "told"), [
    ({"timeout": 0}, "timeout must be a number of seconds above 0, got 0"),
    ({"timeout": "soon"}, "timeout must be a number of seconds above 0, got 'soon'"),
    ({"timeout": True}, "timeout must be a number of seconds above 0, got True"),
    ({"options": ["A", "B"], "default": "C", "timeout": 9}, "the default does not answer"),
    ({"kind": "approval", "default": "yes", "timeout": 9}, "a timeout never decides it"),
])  # fmt: skip
def test_limits_that_mean_nothing_are_refused(world, client, given, told):
    text, failed = client.text(client.call("ask_human", question="Q?", **given))
    assert failed and told in text and not world.store.asks.pending(9)
