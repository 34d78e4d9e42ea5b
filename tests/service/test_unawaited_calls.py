"""Async calls that were not awaited."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Coroutine

import pytest

from gatebell import AsyncGate, HumanInput, Phase, Workflow
from gatebell.testing import MemoryStore, ScriptedPerson, auto_approve

WRITE = r"write: await gate\.approve\(…\)"

MISUSES = {
    "if": bool,
    "not": lambda call: not call,
    "equal": lambda call: call == True,  # noqa: E712 - the mistake itself
    "unequal": lambda call: call != "yes",
    "reversed": lambda call: "yes" == call,  # noqa: SIM300 - the mistake itself
    "less": lambda call: call < 3,
    "in": lambda call: "yes" in call,
    "list": list,
    "item": lambda call: call[0],
    "length": len,
    "number": int,
}


@pytest.mark.proves("PY-18", "LAW-3", "LAW-10")
@pytest.mark.parametrize("way", MISUSES)
def test_call_without_await_is_an_error(way):
    store = MemoryStore()
    with pytest.raises(TypeError, match=WRITE):
        MISUSES[way](AsyncGate(store).approve("Deploy?"))
    assert store.asks.count() == 0


@pytest.mark.proves("PY-18", "LAW-10")
def test_value_without_await_says_where_brackets_go():
    call = AsyncGate(MemoryStore()).choose("Which?", ["a", "b"])
    with pytest.raises(AttributeError, match=r"\(await gate\.choose\(…\)\)\.value"):
        _ = call.value
    assert repr(call) == "<gate.choose(…), not awaited>"
    call.close()


@pytest.mark.proves("PY-18")
def test_other_async_classes_refuse_too():
    human = AsyncGate(MemoryStore()).human
    with pytest.raises(TypeError, match=r"await gate\.human\.ask\(…\)"):
        bool(human.ask("Q"))
    once = Phase("go", human=HumanInput("Go?", "approval"), terminal=True)
    workflow = Workflow("w", phases=[once])
    with pytest.raises(TypeError, match=r"await workflow\.arun\(…\)"):
        bool(workflow.arun("go"))
    assert asyncio.run(workflow.arun("go", auto_approve(), store=MemoryStore())).approved


@pytest.mark.proves("PY-18", "PY-13")
def test_asyncio_takes_a_call_in_every_way():
    async def ask_all():
        store = MemoryStore()
        person = ScriptedPerson(store)
        for _ in range(6):
            person.will_answer("Go?", "yes")
        async with AsyncGate(store) as gate:
            first = [await gate.approve("Go?"), await asyncio.wait_for(gate.approve("Go?"), 60)]
            task = asyncio.create_task(gate.approve("Go?"))
            first += [await task, *await asyncio.gather(gate.approve("Go?"), gate.approve("Go?"))]
            async with asyncio.TaskGroup() as group:
                last = group.create_task(gate.approve("Go?"))
        return [bool(one) for one in (*first, last.result())]

    assert asyncio.run(ask_all()) == [True] * 6
    assert asyncio.run(AsyncGate(MemoryStore()).pending()) == []


@pytest.mark.proves("PY-18")
def test_forgotten_call_still_warns_as_python_does():
    with pytest.warns(RuntimeWarning, match=r"AsyncGate\.approve.*was never awaited"):
        AsyncGate(MemoryStore()).approve("Go?")


@pytest.mark.proves("PY-18", "PY-13")
def test_call_is_known_as_a_coroutine_function():
    if sys.version_info >= (3, 12):
        assert inspect.iscoroutinefunction(AsyncGate.approve)
    call = AsyncGate(MemoryStore()).pending()
    assert isinstance(call, Coroutine)
    call.close()
