"""Secrets are in clear in their own table only, and nowhere once taken (S12)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.people import a_person

from gatebell import Gate
from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.errors import RefusedError
from gatebell.services.asks import answer_ask, wait_for_ask

CANARY = "correct-horse-battery-staple-9137"
FORM = {
    "type": "object",
    "properties": {"user": {"type": "string"}, "pin": {"type": "string", "writeOnly": True}},
}


def everything(folder):
    return b"".join(path.read_bytes() for path in Path(folder).iterdir())


@pytest.mark.proves("ASK-30", "ASK-31", "ASK-32", "LAW-9")
@pytest.mark.parametrize(
    ("more", "value"),
    [
        ({"secret": True}, CANARY),
        ({"kind": "form", "returns": FORM}, {"user": "ada", "pin": CANARY}),
    ],
)
def test_nothing_of_a_taken_secret_is_left(tmp_path, more, value):
    store = open_throwaway_store(str(tmp_path / "gate.db"))
    gate = Gate(store)
    ask_id = gate.open("What is it?", **more)
    with pytest.raises(RefusedError):
        answer_ask.answer(store, ask_id, a_person(), Given(value, digest="0" * 64))
    assert CANARY.encode() not in everything(tmp_path)
    answer_ask.answer(store, ask_id, a_person(), Given(value, key="k"))
    for entry in store.audit.entries():
        assert CANARY not in repr(entry)
    assert CANARY not in repr(store.asks.get(ask_id)) and CANARY not in repr(
        store.asks.answers(ask_id)
    )
    assert CANARY not in repr(store.asks.list_settled(9))
    assert gate.wait(ask_id).value == value
    assert CANARY.encode() not in everything(tmp_path)
    assert store.asks.secret(ask_id) is None
    store.close()
    assert CANARY.encode() not in everything(tmp_path)


@pytest.mark.proves("ASK-30")
def test_crash_between_delivery_and_taking_delivers_again(tmp_path):
    store = open_throwaway_store(str(tmp_path / "gate.db"))
    gate = Gate(store)
    ask_id = gate.open("What?", secret=True)
    _, ask = answer_ask.answer(store, ask_id, a_person(), Given(CANARY))
    token = gate._tokens[ask_id]
    for _ in range(2):
        assert wait_for_ask.reveal(store, ask, token) == CANARY
