"""Claims and asks of runs, written directly into a store."""

from __future__ import annotations

from datetime import UTC, datetime

from gatebell.domain.asks import asks
from gatebell.domain.asks.answers import Given, answer
from gatebell.domain.asks.asks import Ask, Origin, question_digest
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.asks.questions import make_question
from gatebell.domain.runs import runs
from gatebell.services.runs.claims import LEASE
from tests.support.people import a_person

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def claim(store, run, owner="b/1/1"):
    change = runs.claim(run, owner, NOW + LEASE)
    assert store.runs.change(change, run)
    return change.run


def an_ask(store, run, path="1", ask_id="a-222", **more):
    question = make_question("text", "Go?")
    origin = Origin(project="/p", owner=owner_of(run.id, path))
    ask = Ask(ask_id, question, origin, store.now(), question_digest(question, origin), **more)
    store.asks.open(asks.open_ask(ask, "gate"))
    return ask


def settle(store, ask):
    verdict = answer(ask, (), a_person(), Given("yes"), store.now(), b"k" * 32)
    store.asks.change(verdict.change, ask.version, verdict.answer, verdict.secret)
