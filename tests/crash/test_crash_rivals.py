"""Many people answer the same asks at the same moment."""

from __future__ import annotations

import json
import select
from collections import Counter, defaultdict
from contextlib import closing

import pytest
from nursery import Child, Nursery
from points import faults
from telling import tell

from gatebell.app import wiring
from gatebell.domain.asks.asks import Origin
from gatebell.domain.people.principals import Caller
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request

RIVALS = 20


def open_asks(path: str, count: int) -> None:
    caller = Caller("person:ada", verified=False, via="cli", agent=None, evidence={})
    with closing(wiring.open_store(path)) as store:
        for number in range(count):
            create_ask.ask(store, Request(f"Which word? {number}"), Origin(), caller)


def race(children: dict[str, Child]) -> dict[str, list[list]]:
    """Let all start at once; return the result of each, ask by ask."""
    for child in children.values():
        child.go()
    names, met = {child: name for name, child in children.items()}, defaultdict(list)
    running = set(names)
    while running:
        for child in select.select(running, [], [])[0]:
            lines = child.lines()
            met[names[child]] += map(json.loads, lines)
            if not lines and child.ended:
                running.remove(child)
    return met


@pytest.mark.proves("CRASH-5")
def test_one_of_twenty_simultaneous_answers_wins(whole, tmp_path, capsys):
    asks = 2000 if whole else 100
    path = str(tmp_path / "store" / "gate.db")
    open_asks(path, asks)
    with Nursery() as nursery:
        children = {
            f"rival-{number}": nursery.start("rival", path=path, name=f"rival-{number}", asks=asks)
            for number in range(RIVALS)
        }
        met = race(children)

    latencies = sorted(seconds for lines in met.values() for _, seconds, _, _ in lines)
    p50, p99 = latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100]
    wins = {name: sum(what == "won" for _, _, what, _ in lines) for name, lines in met.items()}
    tell(
        capsys,
        f"{RIVALS} answerers, {asks} asks: p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.0f} ms, "
        f"max {latencies[-1] * 1000:.0f} ms; wins from {min(wins.values())} to {max(wins.values())}",
    )
    check_results(path, met, asks)
    if whole:
        assert p99 <= 1
        assert latencies[-1] <= 10


def check_results(path: str, met: dict[str, list[list]], asks: int) -> None:
    outcomes = Counter(what for lines in met.values() for _, _, what, _ in lines)
    assert outcomes == {"won": asks, "lost": asks * (RIVALS - 1)}
    with closing(wiring.open_store(path)) as store:
        for name, lines in met.items():
            for ask_id, _, what, said in lines:
                ask = create_ask.get(store, ask_id)
                if what == "won":
                    assert (ask.settled_by, ask.value) == (f"person:{name}", f"{name}'s word")
                else:
                    assert f"already answered by {ask.settled_by} " in said
                    assert ask.settled_by != f"person:{name}"
    assert list(faults(path)) == []
