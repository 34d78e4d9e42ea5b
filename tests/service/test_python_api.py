"""The public Python API: its words, its types, its errors."""

from __future__ import annotations

import ast
import asyncio
import builtins
import importlib
import inspect
import logging
import pkgutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TypedDict

import pydantic
import pytest
from tests.support.flow_harness import done, house

import gatebell
import gatebell.ports
from gatebell import (
    Approval,
    AsyncGate,
    Gate,
    HumanInput,
    Phase,
    Reply,
    Selection,
    Workflow,
    errors,
    flow,
)
from gatebell.api.async_gate import AsyncHuman
from gatebell.api.human import Human
from gatebell.domain.asks.times import as_seconds
from gatebell.errors import AskExpiredError, UnknownOptionError, UsageError
from gatebell.testing import FakeClock, MemoryStore, ScriptedPerson, auto_approve

__all__ = ["house"]

ONCE = Phase("go", human=HumanInput("Go?", "approval"), terminal=True)


@dataclass
class Size:
    replicas: int
    note: str = ""


class Place(TypedDict):
    town: str


class Model(pydantic.BaseModel):
    n: int


UNKNOWN = {
    "approve": (lambda gate: gate.approve("Q", expiresIn=3), "timeout"),
    "camelCase": (lambda gate: gate.approve("Q", remindEvery=3), "remind_every"),
    "near miss": (lambda gate: gate.ask("Q", contxt=1), "context"),
    "choose": (lambda gate: gate.choose("Q", ["a", "b"], multipel=True), "multiple"),
    "schema": (lambda gate: gate.ask("Q", schema={}), "returns"),
    "expires_seconds": (lambda gate: gate.open("Q", expires_seconds=3), "timeout"),
    "wait": (lambda gate: gate.wait("a-222", seconds=3), "timeout"),
    "answer": (lambda gate: gate.answer("a-222", 1, notes="x"), "note"),
    "Gate": (lambda gate: Gate(gate.store, agnt="x"), "agent"),
    "human": (lambda gate: gate.human.ask("Q", going_on="x"), "activity"),
    "session": (lambda gate: gate.human.ask_interactive("Q", systemPrompt="x"), "system_prompt"),
    "outcome": (lambda gate: gate.human.request_interactive("Q", {"outcomeSchema": 1}), "returns"),
    "claim": (lambda gate: gate.human.claim("a-222", sesion="x"), "session"),
    "flow": (lambda _: flow(humanTimeout=3), "human_timeout"),
    "flow timeout": (lambda _: flow(timeout=3), "human_timeout"),
    "flow.run": (lambda _: flow.run("coder", onError="return"), "on_error"),
    "Workflow": (lambda _: Workflow("w", phases=[ONCE], timeout=3), "human_timeout"),
    "Phase": (lambda _: Phase("a", promt="x"), "prompt"),
    "Phase.human": (lambda _: Phase("a", humanInput=1), "human"),
    "HumanInput": (lambda _: HumanInput("Q", "choice", choices=["a"]), "options"),
    "Selection": (lambda _: Selection(["a", "b"], multi=True), "multiple"),
    "Reply": (lambda _: Reply(True, reasn="x"), "reason"),
    "run": (lambda _: Workflow("w", phases=[ONCE]).run("go", humanInput=1), "human_input"),
    "attach": (lambda _: Workflow("w", phases=[ONCE]).attach(1, handler=1), "human_input"),
}


@pytest.fixture
def gate():
    return Gate(MemoryStore())


@pytest.mark.proves("PY-7", "LAW-10")
@pytest.mark.parametrize("way", UNKNOWN)
def test_unknown_keyword_names_ours(gate, way):
    call, ours = UNKNOWN[way]
    with pytest.raises(UnknownOptionError, match=f"did you mean '{ours}'") as raised:
        call(gate)
    assert isinstance(raised.value, UsageError) and isinstance(raised.value, TypeError)
    assert gate.store.asks.count() == 0


@pytest.mark.proves("PY-7")
def test_keyword_that_is_like_none_gets_the_list(gate):
    with pytest.raises(UnknownOptionError, match="it takes context, activity, priority"):
        gate.approve("Q", xyzzy=1)
    with pytest.raises(UnknownOptionError, match=r"more=\{'zeit': …\}"):
        HumanInput("Q", "approval", zeit=3)
    with pytest.raises(
        UsageError, match=r"'expires_seconds' in its question; did you mean 'timeout'"
    ):
        Workflow("w", phases=[ONCE._replace(human=HumanInput("Q", "approval", more={"expires_seconds": 3}))])  # fmt: skip


@pytest.mark.proves("PY-7", "PY-13")
def test_async_keywords_are_checked_at_the_await():
    async def ask():
        async with AsyncGate(MemoryStore()) as gate:
            assert inspect.iscoroutinefunction(inspect.unwrap(gate.wait))
            await gate.wait("a-222", seconds=3)

    with pytest.raises(UnknownOptionError, match="did you mean 'timeout'"):
        asyncio.run(ask())


@pytest.mark.proves("PY-8")
def test_times_are_seconds_or_a_timedelta(gate, house):
    minute = timedelta(minutes=1)
    gate.store.people.add("ada", [])
    for one in (60, 60.0, minute):
        ask_id = gate.open("Q", timeout=one, remind_every=one, escalations=[(one, "ada")])
        clock = gate.store.asks.get(ask_id).deadlines
        assert {clock.expires_at, clock.remind_at, clock.escalate_at} == {gate.store.now() + minute}
        assert gate.wait(ask_id, one / 60).status == "pending"
    session = gate.human.request_interactive("Q", {"timeout": minute, "session_timeout": minute})
    asked = gate.store.asks.get(session)
    assert asked.deadlines.expires_at == gate.store.now() + minute
    assert asked.question.session.session_seconds == 60
    assert flow(human_timeout=minute, remind_every=minute)(print).terms[1::2][:2] == (60, 60)
    assert Workflow("w", phases=[ONCE], human_timeout=minute).terms.human_seconds == 60
    house.go(lambda _: [flow.sleep(minute), bool(flow.approve("Go?", timeout=minute))])
    house.clock.advance(61)
    house.drive()
    assert house.ask().deadlines.expires_at == house.store.now() + minute


@pytest.mark.proves("PY-8", "LAW-10")
@pytest.mark.parametrize("wrong", [0, -1, True, "1h", float("nan"), 1e9, timedelta(0), None])
def test_wrong_time_is_refused(wrong):
    with pytest.raises(
        UsageError, match="limit must be a number of seconds above 0, or a timedelta, got"
    ):
        as_seconds(wrong, "limit")


@pytest.mark.proves("PY-9", "PY-1")
@pytest.mark.parametrize(
    ("returns", "answer", "value"),
    [
        (int, 3, 3),
        (list[str], ["a"], ["a"]),
        (Size, {"replicas": 3}, Size(3)),
        (Place, {"town": "Ulm"}, {"town": "Ulm"}),
        (Model, {"n": 3}, Model(n=3)),
        ({"type": "object"}, {"n": 3}, {"n": 3}),
        (str, "words", "words"),
    ],
)
def test_returns_gives_a_value_of_its_type(house, returns, answer, value):
    store = MemoryStore()
    ScriptedPerson(store).will_answer("Q", answer)
    gate = Gate(store)
    outcome = gate.ask("Q", returns=returns)
    assert outcome.value == value and gate.wait(outcome.ask_id, returns=returns).value == value
    got = []
    house.go(lambda _: [got.append(flow.ask("Q", returns=returns).value)])
    house.answer_and_drive(answer)
    assert got == [value]


@pytest.mark.proves("PY-9", "LAW-5")
def test_agent_reports_a_value_of_the_type(house):
    house.agent(
        "coder",
        {"status": "DONE", "value": {"replicas": 3}},
        {"status": "DONE", "value": {"replicas": 4}},
    )
    got = []

    def work(_):
        got.append(flow.run("coder", returns=Size).value)
        return flow.parallel(lambda: flow.run("coder", session="new", returns=Size))[0].value

    assert house.go(work).result == {"replicas": 4, "note": ""}
    assert got == [Size(3)]


@pytest.mark.proves("PY-9")
def test_class_that_refuses_an_answer_leaves_the_json(gate):
    class Picky(pydantic.BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def refuse(cls, n):
            raise ValueError(f"{n} is too small")

    ScriptedPerson(gate.store).will_answer("Q", {"n": 3})
    outcome = gate.ask("Q", returns=Picky)
    with pytest.raises(errors.InvalidAnswerError, match="too small"):
        _ = outcome.value
    assert outcome.answer == {"n": 3}


@pytest.mark.proves("PY-10")
def test_flow_decorates_and_calls(house):
    @flow(human_timeout=60)
    def feature(prompt: str) -> str:
        """Add a feature."""
        return prompt.upper()

    assert (feature("x"), feature.name, feature.__doc__) == ("X", "feature", "Add a feature.")
    assert feature.terms.human_seconds == 60 and isinstance(feature, gatebell.Flow)
    house.agent("coder", done("wrote it"))

    @flow
    def whole(prompt):
        said = flow.run("coder").summary
        gate = flow.approve("Go?", context={"said": said})
        colour = flow.choose("Which?", ["Red", "Blue"], multiple=True).value
        return [bool(gate), colour, flow.step(len, "abc"), flow.context().run_id]

    house.go(whole)
    house.answer_and_drive("yes")
    assert house.answer_and_drive(["Blue"]).result == [True, ["Blue"], 3, 1]


@pytest.mark.proves("PY-11")
def test_words_of_the_specifications_can_be_imported():
    names = {}
    exec("from gatebell import ask, ask_interactive, auto_approve, pause, run, stuck", names)
    assert names["pause"] is flow.approve and names["ask_interactive"] is flow.ask_interactive
    assert names["auto_approve"] is auto_approve
    assert not {"ask", "run", "pause", "Structured", "Freeform"} & {*gatebell.__all__}
    assert gatebell.Structured(Size).schema is Size and gatebell.Freeform() == ()


@pytest.mark.proves("PY-11", "PY-4", "LAW-10")
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("parallel", "gatebell has no 'parallel': use flow.parallel"),
        ("UsageError", "gatebell has no 'UsageError': import it from gatebell.errors"),
        ("nothing", "gatebell has no 'nothing'$"),
    ],
)
def test_missing_name_says_where_it_is(name, sentence):
    with pytest.raises(AttributeError, match=sentence):
        getattr(gatebell, name)


@pytest.mark.proves("PY-11")
def test_hints_name_each_call_of_a_flow():
    exported = {"ask", "ask_interactive", "run", "stuck"}
    assert set(gatebell._CALLS) | exported == set(vars(flow))


@pytest.mark.proves("PY-12")
def test_errors_have_names_of_their_own():
    ours = {name for name in vars(errors) if name.endswith("Error")}
    assert len(ours) > 15
    assert not ours & ({*vars(builtins)} | {*vars(asyncio)})
    assert issubclass(AskExpiredError, errors.NotAnsweredError)


def read_parameters(work):
    return {
        name: (one.kind, one.default, str(one.annotation).replace("AsyncReply", "Reply"))
        for name, one in inspect.signature(work).parameters.items()
    }


@pytest.mark.proves("PY-13")
@pytest.mark.parametrize(("one", "twin"), [(Gate, AsyncGate), (Human, AsyncHuman)])
def test_async_twin_has_the_same_calls(one, twin):
    # These serve the twin itself, or a backlog, which has no async twin.
    own = {
        "caller",
        "read",
        "send",
        "take",
        "tasks",
        "token",
        "store",
    }
    own |= {"expect", "open_here", "open_interactive"} | ({"open"} if one is Human else set())
    calls = {name for name in vars(one) if not name.startswith("_")} - own
    assert calls <= set(vars(twin))
    for name in calls:
        if inspect.isfunction(vars(one)[name]):
            assert read_parameters(vars(one)[name]) == read_parameters(vars(twin)[name]), name
            assert inspect.iscoroutinefunction(inspect.unwrap(vars(twin)[name]))


PROGRAM = """
from dataclasses import dataclass
from typing import Any, TypedDict, assert_type
from gatebell.api.enums import Decision
from gatebell import Approval, AsyncGate, Choice, Flow, Form, Gate, Text, flow

gate = Gate()
assert_type(gate.approve("Q", timeout=3), Approval)
assert_type(gate.approve("Q").value, Decision)
assert_type(gate.choose("Q", ["a"]), Choice[str])
assert_type(gate.choose("Q", ["a"], multiple=True).value, list[str])
assert_type(gate.ask("Q"), Text)
assert_type(gate.ask("Q").value, str)
assert_type(gate.ask("Q", returns=int), Form[int])
assert_type(gate.ask("Q", returns=list[str]).value, list[str])
assert_type(gate.ask("Q", returns=int | None).value, Any)
assert_type(gate.ask("Q", returns={"type": "object"}).value, Any)


@dataclass
class Size:
    replicas: int


class Place(TypedDict):
    town: str


assert_type(gate.ask("Q", returns=Size).value.replicas, int)
assert_type(gate.ask("Q", returns=Place).value["town"], str)
gate.ask("Q", returns=Size).value.replica  # wrong
gate.ask("Q").value + 3  # wrong
gate.approve("Q", timeot=3)
gate.wait("a", seconds=3)


async def main() -> None:
    async with AsyncGate() as twin:
        assert_type(await twin.approve("Q", timeout=3), Approval)
        assert_type(await twin.ask("Q", returns=int), Form[int])
        assert_type((await twin.ask("Q", returns=Size)).value, Size)
        assert_type((await twin.choose("Q", ["a"], multiple=True)).value, list[str])
        twin.approve("Q").decision  # wrong
        await twin.choose("Q", ["a"], timeot=3)


@flow
def plain(prompt: str) -> int:
    flow.run("coder", promt="x")
    assert_type(flow.run("coder", returns=Size).value, Size)
    assert_type(flow.run("coder").value, Any)
    assert_type(flow.ask("Q", returns=Size).value, Size)
    assert_type(flow.ask("Q").value, str)
    assert_type(flow.choose("Q", ["a"]).value, str)
    return flow.run("coder", returns=str).value  # wrong


@flow(human_timeout=3)
def limited(prompt: str) -> int:
    return 3


assert_type(plain("x"), int)
assert_type(limited("x"), int)
name: str = plain.name
again: Flow[[str], int] = limited
"""


@pytest.mark.proves("PY-13", "PY-10", "PY-21")
def test_type_checker_sees_types_and_typos(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    words = ["-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", str(file)]
    ran = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    found = [line.split(":")[1] for line in ran.stdout.splitlines() if ": error:" in line]
    lines = PROGRAM.splitlines()
    wrong = [
        str(n)
        for n, line in enumerate(lines, 1)
        if any(one in line for one in ("timeot", "seconds=3", "promt", "# wrong"))
    ]
    assert list(dict.fromkeys(found)) == wrong, ran.stdout + ran.stderr


@pytest.mark.proves("PY-14")
def test_ask_visit_and_conversation_have_their_own_ids(gate, monkeypatch):
    monkeypatch.setattr("gatebell.app.environment.ancestors", list)
    gate.store.people.add("ada", [])
    ask_id = gate.human.request_interactive("Q", {"returns": Approval})
    visit = gate.human.claim(ask_id, "my-agent", "s1")
    assert visit.visit_id.startswith("t-") and visit.session_id == "my-agent/s1"
    assert visit.session == "s1" and visit.ask.id == ask_id
    gate.human.complete_interactive(ask_id, "completed", "yes")
    result = gate.human.wait(ask_id, Approval)
    assert (result.ask_id, result.session_id) == (ask_id, "my-agent/s1")
    assert gate.human.ask_id is None and not hasattr(result, "id")


def find_ports():
    for module in pkgutil.iter_modules(gatebell.ports.__path__, "gatebell.ports."):
        for one in vars(importlib.import_module(module.name)).values():
            if isinstance(one, type) and one.__module__ == module.name and Protocol in one.__mro__:
                yield one


@pytest.mark.proves("PY-15")
def test_ports_describe_every_call():
    ports = list(find_ports())
    assert len(ports) > 20
    missing = [
        f"{port.__name__}.{name}"
        for port in ports
        for name, one in vars(port).items()
        if (inspect.isfunction(one) or isinstance(one, property))
        and (not name.startswith("_") or name == "__call__")
        and not one.__doc__
    ]
    assert missing == [] and all(port.__doc__ for port in ports)


@pytest.mark.proves("PY-15")
def test_exports_have_docstrings_with_an_example():
    for name in gatebell.__all__:
        one = getattr(gatebell, name)
        doc = inspect.getdoc(one if name != "flow" else type(one))
        example = "from gatebell.errors" if name == "errors" else "Example:"
        assert doc and (example in doc or name in ("Flow", "GateError")), name
        for part, call in vars(one).items() if isinstance(one, type) else ():
            if inspect.isfunction(call) and not part.startswith("_") and not issubclass(one, tuple):
                assert call.__doc__, f"{name}.{part}"


@pytest.mark.proves("PY-15")
def test_examples_of_docstrings_are_python():
    for name in gatebell.__all__:
        doc = inspect.getdoc(getattr(gatebell, name)) or ""
        _, found, example = doc.partition("Example:\n")
        if found:
            ast.parse(textwrap.dedent(example))


@pytest.mark.proves("PY-16", "LAYER-2")
def test_warnings_of_a_workflow_go_to_the_log(caplog):
    store = MemoryStore()
    ScriptedPerson(store).will_answer("Go?", "yes")
    with caplog.at_level(logging.WARNING, "gatebell"):
        assert Workflow("w", phases=[ONCE]).run("go", store=store).approved
    (record,) = caplog.records
    assert record.name == "gatebell.workflow" and "waits in the inbox" in record.getMessage()


@pytest.mark.proves("PY-16")
def test_program_without_a_log_shows_warnings():
    program = (
        "from gatebell import *; from gatebell.testing import *; store = MemoryStore();"
        "ScriptedPerson(store).will_answer('Go?', 'yes');"
        "phase = Phase('go', human=HumanInput('Go?', 'approval'), terminal=True);"
        "print(Workflow('w', phases=[phase]).run('go', store=store).approved)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "True\n" and "waits in the inbox (gate answer a-" in ran.stderr


@pytest.mark.proves("PHASE-58", "S1-23", "S1-24")
@pytest.mark.parametrize("takes", ["state", "state, output", "state, output=None", "*given"])
def test_functions_of_a_phase_take_the_state_alone(takes):
    human = eval(f"lambda {takes}: HumanInput('Go?', 'approval')", {"HumanInput": HumanInput})
    after = eval(f"lambda {takes}: 'end'")
    phases = [
        Phase("a", agent=lambda _: "out", human=human, next=after),
        Phase("end", agent=lambda _: "end", terminal=True),
    ]
    result = Workflow("w", phases=phases).run("go", auto_approve(), store=MemoryStore())
    assert (result.phase, len(result.history)) == ("end", 1)


@pytest.mark.proves("PY-17", "LAW-3")
def test_outcome_compared_with_an_answer_is_an_error():
    store = MemoryStore(FakeClock())
    ScriptedPerson(store).will_answer("Deploy", "No")
    chosen = Gate(store).choose("Deploy?", ["Yes", "No"])
    for wrong in ("No", True, None, ["No"]):
        with pytest.raises(TypeError, match=r"compare \.value with"):
            assert chosen == wrong
    with pytest.raises(TypeError, match=r"compare \.value"):
        assert chosen in ("Yes", "No")
    again = Gate(store).wait(chosen.ask_id)
    assert again == chosen and chosen.value == "No" and len({chosen, again}) == 1
