"""Sets and other unordered values are refused where a list is expected."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.flow_harness import house

from gatebell import Gate, HumanInput, Phase, Workflow
from gatebell.api import flows
from gatebell.api.async_gate import AsyncGate
from gatebell.api.schemas import Selection
from gatebell.errors import UsageError
from gatebell.testing import MemoryStore

__all__ = ["house"]

NAMES = ("ada", "bob", "cy")
ODD = {
    "set": lambda: set(NAMES),
    "frozenset": lambda: frozenset(NAMES),
    "dict": lambda: dict.fromkeys(NAMES),
    "dict_keys": lambda: dict.fromkeys(NAMES).keys(),
    "dict_values": lambda: dict(zip(NAMES, NAMES, strict=True)).values(),
    "generator": lambda: (name for name in NAMES),
}
ASKS = {
    "choose": lambda odd: flows.choose("Who?", odd),
    "escalations of ask": lambda odd: flows.ask("Who?", escalations=odd),
    "escalations of pause": lambda odd: flows.pause("Go?", escalations=odd),
    "one escalation": lambda odd: flows.pause("Go?", escalations=[odd]),
    "participants": lambda odd: flows.ask_interactive("Who?", participants=odd),
    "notify": lambda odd: flows.ask_interactive("Who?", notify=odd),
    "returns": lambda odd: flows.ask_interactive("Who?", returns=Selection(odd)),
}
GATES = {
    "choose": lambda gate, odd: gate.choose("Who?", odd),
    "open": lambda gate, odd: gate.open("Who?", "choice", options=odd),
    "escalations": lambda gate, odd: gate.approve("Go?", escalations=odd),
    "human": lambda gate, odd: gate.human.ask("Who?", odd),
    "participants": lambda gate, odd: gate.human.request_interactive("?", {"participants": odd}),
    "notify": lambda gate, odd: gate.human.ask_interactive("?", notify=odd),
}


@pytest.fixture(params=ODD)
def odd(request):
    return ODD[request.param]()


@pytest.mark.proves("ORDER-1", "LAW-5")
@pytest.mark.parametrize("way", ASKS)
def test_flow_asks_only_with_lists(house, odd, way):
    over = house.go(lambda _: ASKS[way](odd))
    assert over.state == "failed" and house.store.asks.count() == 0
    assert "UsageError: expected a list for" in over.reason and "use a list" in over.reason


@pytest.mark.proves("ORDER-1")
@pytest.mark.parametrize("way", GATES)
def test_gate_asks_only_with_lists(odd, way):
    store = MemoryStore()
    with pytest.raises(UsageError, match="expected a list for"):
        GATES[way](Gate(store), odd)
    assert store.asks.count() == 0


@pytest.mark.proves("ORDER-1")
def test_async_gate_asks_only_with_lists(odd):
    async def asks():
        async with AsyncGate(MemoryStore()) as gate:
            for choose in (gate.choose, gate.human.ask):
                with pytest.raises(UsageError, match="expected a list for options"):
                    await choose("Who?", odd)

    asyncio.run(asks())


@pytest.mark.proves("ORDER-1")
@pytest.mark.parametrize("more", [False, True])
def test_workflow_asks_only_with_lists(odd, more):
    given = HumanInput("Who?", "approval", more={"escalations": odd}) if more else HumanInput("Who?", "choice", odd)  # fmt: skip
    with pytest.raises(UsageError, match=r"phase 'a' .*expected a list for .*: use a list"):
        Workflow("w", phases=[Phase("a", human=given, terminal=True)])


@pytest.mark.proves("ORDER-1")
def test_phases_are_a_list():
    with pytest.raises(UsageError, match="expected a list for phases, got set: use a list"):
        Workflow("w", phases={Phase("a", agent=bool, terminal=True)})


@pytest.mark.proves("ORDER-2", "LAW-5")
@pytest.mark.parametrize("kind", [set, frozenset])
def test_branches_and_items_cannot_be_a_set(house, kind):
    over = house.go(lambda _: flows.parallel(kind([lambda: 1, lambda: 2])))
    assert over.state == "failed" and "branches of parallel" in over.reason
    each = Phase("a", agent=lambda _, one: one, for_each=lambda _: kind(NAMES), terminal=True)
    over = house.go(Workflow("w", phases=[each]))
    assert over.state == "failed" and "phase 'a': for_each, got" in over.reason
    human = HumanInput("Who?", "choice", lambda _: kind(NAMES))
    over = house.go(Workflow("w", phases=[Phase("a", human=human, terminal=True)]))
    assert over.state == "failed" and house.store.asks.count() == 0
    assert f"phase 'a': human's options, got {kind.__name__}: use a list" in over.reason


@pytest.mark.proves("ORDER-2")
def test_branches_and_items_come_from_generators(house):
    over = house.go(lambda _: flows.parallel((lambda n=name: n) for name in NAMES))
    assert over.result == list(NAMES)
    each = Phase(
        "a", agent=lambda _, one: one, for_each=lambda _: (n for n in NAMES), terminal=True
    )
    assert house.go(Workflow("w", phases=[each])).result["output"] == list(NAMES)


@pytest.mark.proves("ORDER-1")
@pytest.mark.parametrize("more", [{"context": {1}}, {"requirement": {"all": {"ada"}}}])
def test_set_inside_of_an_ask_is_refused(house, more):
    over = house.go(lambda _: flows.pause("Go?", **more))
    assert over.state == "failed" and house.store.asks.count() == 0
    assert "expected a list, got set: use a list" in over.reason


@pytest.mark.proves("ORDER-1")
def test_set_inside_an_ask_of_a_program_is_refused():
    gate = Gate(MemoryStore())
    with pytest.raises(UsageError, match="expected a list, got set: use a list"):
        gate.approve("Go?", context={"files": {"a", "b"}})
    with pytest.raises(UsageError, match="a list of names"):
        gate.approve("Go?", requirement={"all": {"ada"}})


@pytest.mark.proves("ORDER-1")
def test_needs_of_a_task_are_a_list(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tasks = Gate(MemoryStore()).tasks
    first = tasks.create("First")
    with pytest.raises(UsageError, match="expected a list for needs, got set: use a list"):
        tasks.create("Second", needs={first.id})
    with pytest.raises(UsageError, match="expected a list for needs, got set: use a list"):
        tasks.update(first.id, needs=set())
    assert tasks.create("Third", needs=[first.id]).needs == (first.id,)


@pytest.mark.proves("ORDER-1")
def test_every_list_is_taken(house):
    class Names(list):
        pass

    for given in (list(NAMES), NAMES, Names(NAMES)):
        store = MemoryStore()
        gate = Gate(store)
        asked = store.asks.get(gate.open("Who?", "choice", options=given))
        assert asked.question.options == NAMES
