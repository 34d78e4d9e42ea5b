"""A Gate inside of a flow: refused in the flow's own code, allowed in its steps."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.flow_harness import house

from gatebell import AsyncGate, Gate, flow
from gatebell.errors import UsageError
from gatebell.testing import ScriptedPerson

__all__ = ["house"]

WAYS = {
    "approve": (lambda gate: gate.approve("Go?", timeout=1), r"write flow\.approve\(…\)"),
    "choose": (lambda gate: gate.choose("Go?", ["a", "b"], timeout=1), r"write flow\.choose\(…\)"),
    "ask": (lambda gate: gate.ask("Go?", timeout=1), r"write flow\.ask\(…\)"),
    "open": (lambda gate: gate.open("Go?"), r"write flow\.ask\(…\)"),
    "wait": (lambda gate: gate.wait("a-222"), r"write flow\.approve\(…\), flow\.choose"),
    "human": (
        lambda gate: gate.human.ask_interactive("Go?", timeout=1),
        r"write flow\.ask_interactive\(…\)",
    ),
    "async": (
        lambda gate: asyncio.run(AsyncGate(gate.store).approve("Go?", timeout=1)),
        r"write flow\.approve\(…\)",
    ),
    "async wait": (
        lambda gate: asyncio.run(AsyncGate(gate.store).wait("a-222")),
        r"write flow\.approve\(…\)",
    ),
}


@pytest.mark.proves("PY-19", "LAW-5", "LAW-10")
@pytest.mark.parametrize("way", WAYS)
def test_gate_in_the_code_of_a_flow_is_refused(house, way):
    call, sentence = WAYS[way]

    def work(_):
        with pytest.raises(UsageError, match=sentence):
            call(Gate(house.store))
        return "refused"

    assert house.go(work).result == "refused"
    assert house.store.asks.count() == 0


@pytest.mark.proves("PY-19", "LAW-1")
def test_gate_asks_inside_of_a_step(house):
    ScriptedPerson(house.store).will_answer("token", "hunter2").will_answer("Sure?", "yes")
    gate = Gate(house.store)
    steps = [lambda: gate.ask("Which token?").value, lambda: bool(gate.approve("Sure?"))]
    assert house.go(lambda _: [flow.step(one) for one in steps]).result == ["hunter2", True]


@pytest.mark.proves("PY-19")
def test_gate_asks_in_the_function_of_an_agent(house):
    ScriptedPerson(house.store).will_answer("Which", "blue")

    def painter(_):
        return {"colour": Gate(house.store).ask("Which colour?").value}

    def work(_):
        said = flow.run(painter).value
        with pytest.raises(UsageError, match="Gate in a flow"):
            Gate(house.store).ask("After it?", timeout=1)
        return said

    assert house.go(work).result == {"colour": "blue"}


@pytest.mark.proves("PY-19", "LAW-5")
def test_function_of_an_agent_makes_no_calls(house):
    over = house.go(lambda _: flow.run(lambda _: flow.now()))
    assert over.state == "stuck" and "now() was called inside call 1" in over.reason
    assert list(house.calls()) == ["1"]


@pytest.mark.proves("PY-19", "LAW-1")
def test_gate_in_a_finally_leaves_the_flow_waiting(house):
    def work(_):
        try:
            return bool(flow.approve("Go?"))
        finally:
            Gate(house.store).ask("Any last words?", timeout=1)

    assert house.go(work).state == "waiting_human"
    assert [ask.question.prompt for ask in house.pending()] == ["Go?"]
