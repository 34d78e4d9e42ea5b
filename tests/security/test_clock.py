"""No jump of any clock approves anything (R8)."""

from __future__ import annotations

import random

import pytest
from tests.support.people import a_person

from gatebell.domain.asks.asks import Origin
from gatebell.services.asks import apply_deadlines, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.testing import MemoryStore

JUMPS = [1, 3600, 86400, 31_536_000]


@pytest.mark.proves("LAW-3", "ASK-18")
def test_five_hundred_clock_jumps_approve_nothing():
    picker = random.Random(7)
    store = MemoryStore()
    ids = []
    for number in range(50):
        request = Request(
            f"Q{number}", "approval", expires_seconds=picker.choice([None, 1, 60, 86400])
        )
        ids.append(create_ask.ask(store, request, Origin(), a_person()).ask.id)
    for _ in range(500):
        store.clock.jump(picker.choice(JUMPS) * picker.choice([1, -1]))
        store.clock.advance(picker.random())
        apply_deadlines.sweep(store)
        asks = [wait_for_ask.wait(store, picker.choice(ids), 0), *map(store.asks.get, ids)]
        assert all(ask.decision is None and ask.status in ("pending", "timed_out") for ask in asks)
