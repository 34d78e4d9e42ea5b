"""Asks, answers, messages and events survive the way through their JSON."""

from __future__ import annotations

import json

import pytest
from tests.support.people import a_person

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.deadlines import Escalation
from gatebell.domain.asks.document_reader import (
    HIDDEN,
    read_answer,
    read_ask,
    read_entry,
    read_message,
)
from gatebell.domain.asks.documents import (
    answer_document,
    ask_document,
    entry_document,
    message_document,
)
from gatebell.domain.asks.requests import Request
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.sessions.visits import Terms
from gatebell.services.asks import answer_ask, ask_messages, create_ask
from gatebell.services.people import manage_people
from gatebell.testing import MemoryStore

REQUESTS = (
    Request("Which?"),
    Request("Which?", "choice", ("A", "B", "Other…"), multiple=True, context={"a": [1, None]}),
    Request("F?", "form", schema={"type": "object"}, default={}, expires_seconds=60.0, confidence=1),
    Request("Key?", secret=True, priority="urgent", activity="works"),
    Request("Talk?", "session", session=Terms("text", "be kind", session_seconds=5.0)),
    Request("Run?", "approval", call=make_call("Bash", {"command": "ls"}, "/p", "main"), hard=True,
            expires_seconds=9, deferred=True),
    Request("Who?", "approval", requirement={"n": 1, "of": ["ada"], "veto": ["ada"]},
            remind_every_seconds=60, escalations=(Escalation(60.0, "ada"), Escalation(90.0, "ada"))),
)  # fmt: skip


@pytest.mark.proves("REMOTE-13")
@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: one.prompt)
def test_ask_survives_its_document(request_):
    store = MemoryStore()
    manage_people.add(store, a_person("root"), "ada")
    origin = Origin("/p", "/p/x", "coder", "claude/s1", "t1", "person:ada")
    ask = create_ask.ask(store, request_, origin, a_person("sue")).ask
    ask_messages.ask_back(store, ask.id, a_person("bob"), "What?")
    for changed in (ask, store.asks.get(ask.id), settle(store, ask)):
        read = read_ask(json.loads(json.dumps(ask_document(changed))))
        wanted = changed._replace(token_digest=HIDDEN if changed.token_digest else "")
        assert read == wanted
        assert type(read.status) is type(changed.status)


def settle(store, ask):
    create_ask.cancel(store, ask.id, a_person("ada"), "enough")
    return store.asks.get(ask.id)


@pytest.mark.proves("REMOTE-13")
def test_answer_message_and_event_survive_their_documents():
    store = MemoryStore()
    ask = create_ask.ask(store, Request("Ok?", "approval"), Origin(), a_person("sue")).ask
    ask_messages.ask_back(store, ask.id, a_person("bob"), "What?")
    answer_ask.answer(store, ask.id, a_person("ada"), Given("yes", "fine", key="k"))
    (answer,), (message,) = store.asks.answers(ask.id), store.asks.messages(ask.id)
    assert read_answer(turn(answer_document(answer))) == answer._replace(key="", fingerprint="")
    assert read_message(turn(message_document(message))) == message
    for entry in store.audit.of_subject(ask.id):
        assert read_entry(turn(entry_document(entry))) == entry


def turn(document):
    return json.loads(json.dumps(document))
