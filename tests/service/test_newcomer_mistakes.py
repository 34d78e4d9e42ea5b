"""Mistakes that newcomers make with the Python API, and the sentence that each one gets."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from gatebell import AsyncGate, Gate, HumanInput, Phase, Workflow, flow
from gatebell.errors import UnfinishedError, UsageError
from gatebell.testing import MemoryStore, ScriptedAgent, ScriptedPerson, run_flow

ONCE = Phase("go", human=HumanInput("Go?", "approval"), terminal=True)


async def wait_a_moment():
    """Do nothing, later."""


def yields(prompt):
    yield prompt


ASKING = {
    "no question": (lambda g: g.approve(None), "the question must be a text, got None"),
    "number as question": (lambda g: g.ask(42), "the question must be a text, got 42"),
    "numbers as options": (lambda g: g.choose("Q", [1, 2]), "an option must be a text, got 1"),
    "one text as options": (lambda g: g.choose("Q", "yes"), "use a list of texts"),
    "dict as options": (lambda g: g.choose("Q", {"a": 1}), "expected a list for options, got dict"),
    "object as context": (lambda g: g.ask("Q", context=object()), "context must be JSON .*object"),
    "time as context": (lambda g: g.ask("Q", context=[dt.date.min]), "context must be"),
    "set as context": (lambda g: g.ask("Q", context={"a"}), "context must be JSON .*got set"),
    "dict as activity": (lambda g: g.ask("Q", activity={}), "activity must be a text, got a dict"),
    "text as secret": (lambda g: g.ask("Q", secret="no"), "secret must be True or False, got 'no'"),
    "text as hard": (lambda g: g.ask("Q", hard="no"), "hard must be True or False"),
    "text as multiple": (lambda g: g.choose("Q", ["a", "b"], multiple="yes"), "multiple must be T"),
    "percent": (lambda g: g.ask("Q", confidence=90), "confidence from 0 to 1, got 90"),
    "word as confidence": (lambda g: g.ask("Q", confidence="high"), "confidence must be a number"),
    "number as owner": (lambda g: g.ask("Q", owner=3), "owner must be a text, got 3"),
    "word as requirement": (lambda g: g.ask("Q", requirement="ops"), "a requirement is a dict"),
    "one escalation": (lambda g: g.ask("Q", escalations=(60, "ada")), r'pairs.*\[\(60, "ada"\)\]'),
    "word as priority": (
        lambda g: g.ask("Q", priority="asap"),
        "a priority is urgent, high, normal",
    ),
    "negative timeout": (lambda g: g.ask("Q", timeout=-1), "seconds above 0, or a timedelta"),
    "text as reply": (lambda g: g.ask("Q", reply="no"), "reply is a function.*reply=lambda text"),
    "outcome as id": (lambda g: g.wait(g.ask("Q", timeout=1)), r"got a Text: .* as \.ask_id"),
    "ask as id": (lambda g: g.cancel(g.pending()), r"an ask's id must be a text, got a list"),
    "no id": (lambda g: g.answer(None, "yes"), "an ask's id must be a text, got None"),
    "number as store": (lambda _: Gate(3), "path of a store, or a store, not 3"),
    "gate as store": (Gate, "takes the path of a store"),
    "folder as store": (lambda _: Gate("/"), "/ is a folder, and a store is a file"),
    "number as agent": (lambda g: Gate(g.store, agent=3), "agent must be a text, got 3"),
    "no asks": (lambda g: g.pending(limit=0), "limit must be a whole number, at least 1, got 0"),
}


@pytest.mark.proves("PY-22", "LAW-10")
@pytest.mark.parametrize("mistake", ASKING)
def test_mistake_of_an_asker_is_refused(mistake):
    call, sentence = ASKING[mistake]
    gate = Gate(MemoryStore())
    with pytest.raises(UsageError, match=sentence):
        call(gate)
    assert gate.pending() == []


DECORATING = {
    "no argument": (lambda: flow(lambda: 1), r"must take one argument: def .*\(prompt\)"),
    "two arguments": (lambda: flow(lambda a, b: a + b), "must take one argument"),
    "needed keyword": (lambda: flow(lambda a, *, b: a + b), "must take one argument"),
    "a text": (lambda: flow("feature"), "@flow is written above a function"),
    "a class": (lambda: flow(MemoryStore), "@flow is written above a function"),
    "async": (lambda: flow(wait_a_moment), "a flow is a plain function: write def"),
    "generator": (lambda: flow()(yields), "a flow is a plain function: write def"),
    "id as text": (lambda: Workflow("w", phases=[ONCE]).attach("1"), "run_id must be a whole"),
    "script as text": (lambda: ScriptedAgent("DONE"), r"list of lines.*ScriptedAgent\(\['DONE'\]"),
    "script as dict": (lambda: ScriptedAgent({"status": "DONE"}), "a script is a list of lines"),
    "list as agent": (lambda: run_flow(flow(len), agents={"a": []}), r"takes a ScriptedAgent\("),
    "class as person": (lambda: run_flow(flow(len), person=ScriptedPerson), r"ScriptedPerson\(\)"),
}


@pytest.mark.proves("PY-22", "LAW-10")
@pytest.mark.parametrize("mistake", DECORATING)
def test_mistake_is_refused_before_a_run(mistake):
    call, sentence = DECORATING[mistake]
    with pytest.raises(UsageError, match=sentence):
        call()


@pytest.mark.proves("PY-22")
def test_functions_that_fit_become_flows():
    for work in (len, "x".join, lambda _, n=3: n, lambda *all_: all_, lambda _, *, n=3: n):
        assert flow(work).work is work


FLOWING = {
    "no role": (lambda _: flow.run(""), r'needs the name of a role: flow.run\("coder"\)'),
    "none as role": (lambda _: flow.run(None), "must be a text, got None: its name, or a function"),
    "number as prompt": (lambda _: flow.run("a", 3), "prompt of flow.run.. must be a text, got 3"),
    "no tries": (lambda _: flow.run("a", tries=0), "tries must be a whole number, at least 1"),
    "name as human": (lambda _: flow.run("a", human="ada"), "human must be True or False"),
    "text as time": (lambda _: flow.sleep("1h"), "time of flow.sleep.. must be a number of sec"),
    "truth as time": (lambda _: flow.sleep(True), "time of flow.sleep.. must be a number of sec"),
    "number as path": (lambda _: flow.read(3), "path of flow.read.. must be a text, got 3"),
    "number as reason": (lambda _: flow.stuck(3), "reason of flow.stuck.. must be a text"),
    "text as limit": (lambda _: flow.parallel(print, limit="2"), "limit must be a whole number"),
    "called step": (lambda _: flow.step(len("abc")), r"takes a function first, not 3"),
    "async step": (lambda _: flow.step(wait_a_moment), r"asyncio\.run\(work\(\)\)"),
    "object as context": (lambda _: flow.approve("Q", context=object()), "context must be JSON"),
    "object as result": (lambda _: object(), "the flow returned what is not JSON"),
    "truth of a text": (lambda _: bool(flow.ask("Q", timeout=1, default="x")), "use its value"),
}


@pytest.mark.proves("PY-22", "LAW-10")
@pytest.mark.parametrize("mistake", FLOWING)
def test_mistake_in_a_flow_ends_it_with_a_sentence(mistake):
    call, sentence = FLOWING[mistake]
    with pytest.raises(UnfinishedError, match=sentence):
        run_flow(flow(call))


@pytest.mark.proves("PY-22")
def test_time_that_is_over_goes_on_at_once():
    times = (0, -5, dt.timedelta(0), dt.timedelta(seconds=-5))
    assert run_flow(flow(lambda _: [flow.sleep(one) for one in times])).result == [None] * 4


@pytest.mark.proves("PY-22", "LAW-10")
def test_reply_must_be_words():
    store = MemoryStore()
    ScriptedPerson(store).will_ask_back("Q", "why?")
    with pytest.raises(UsageError, match="the result of reply= must be a text, got None"):
        Gate(store).ask("Q", reply=lambda _: None)
    with pytest.raises(UsageError, match="reply is a function"):
        asyncio.run(AsyncGate(MemoryStore()).ask("Q", reply="because"))


@pytest.mark.proves("PY-22")
def test_store_may_be_a_path_object(tmp_path):
    gate = Gate(tmp_path / "gate.db")
    assert gate.open("Q") and (tmp_path / "gate.db").exists()
    gate.store.close()
