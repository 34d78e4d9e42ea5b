"""Workflows whose functions, handlers and observers misbehave."""

from __future__ import annotations

import asyncio
import importlib
import threading
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from tests.support.flow_harness import Crash, done, house
from tests.support.people import a_person, an_agent
from tests.support.waiting import eventually

from gatebell import HumanInput, Phase, Workflow
from gatebell.app.wiring import open_store
from gatebell.domain.asks.answers import Given
from gatebell.errors import RefusedError, UsageError
from gatebell.services.asks import answer_ask
from gatebell.testing import MemoryStore, ScriptedPerson, auto_approve

__all__ = ["house"]

GO = HumanInput("Go?", "approval")


def end(agent=lambda state: state.data):
    return Phase("end", agent=agent, human=GO, terminal=True)


# Shared objects


class Shared(NamedTuple):
    plan: list[str] = []  # noqa: RUF012 - the mistake that this is about


PLAN = {"plan": []}


@pytest.mark.proves("PHASE-40", "PHASE-19")
@pytest.mark.parametrize("state", [Shared, lambda: PLAN])
def test_states_share_no_objects(house, state):
    def update(state, output):
        (state.plan if isinstance(state, Shared) else state["plan"]).append(output)

    flow = Workflow("w", state, phases=[Phase("a", agent=lambda _: "x", update=update, human=GO, next="end"), end()])  # fmt: skip
    house.go(flow)
    house.answer_and_drive("yes")
    assert house.answer_and_drive("yes").result["state"] == {"plan": ["x"]}
    assert (Shared().plan, PLAN) == ([], {"plan": []})


@pytest.mark.proves("PHASE-40", "PHASE-19")
@pytest.mark.parametrize("returns", [None, {"type": "object"}])
def test_recorded_output_is_not_changed_by_functions(house, returns):
    def update(state, output):
        output["n"] += 1
        state["n"] = output["n"]

    def human(_, output):
        output["n"] += 1
        return HumanInput(f"{output['n']}?", "approval")

    flow = Workflow("w", {}, phases=[Phase("a", agent=lambda _: {"n": 1}, returns=returns, update=update, human=human, next="end"), end()])  # fmt: skip
    assert house.go(flow).reason == "3?"
    house.answer_and_drive("yes")
    over = house.answer_and_drive("yes")
    assert (over.state, over.result["state"]) == ("completed", {"n": 2})


@pytest.mark.proves("PHASE-40", "PHASE-25")
def test_observer_cannot_change_the_recorded_events():
    def redacting(event):
        event.data.clear()

    def update(_, output):
        return {"plan": output["plan"]}

    flow = Workflow("w", {}, phases=[Phase("a", agent=lambda _: {"plan": 1}, update=update, human=GO, next="end"), end()])  # fmt: skip
    seen = []
    result = flow.run("go", auto_approve(), store=MemoryStore(), observer=redacting)
    assert result.state == {"plan": 1}

    def change_nested(event):
        if isinstance(event.data.get("output"), dict):
            seen.append(event.data["output"].pop("plan"))

    assert flow.run("go", auto_approve(), store=MemoryStore(), observer=change_nested).output == {"plan": 1}  # fmt: skip
    assert seen == [1, 1]


# Errors at build time and at run time


@dataclass
class Needy:
    goal: str


@pytest.mark.proves("PHASE-16")
def test_state_that_cannot_be_built_is_reported():
    with pytest.raises(UsageError, match=r"the state of 'w' raised TypeError.*'goal'"):
        Workflow("w", Needy, phases=[end()])


@pytest.mark.proves("PHASE-16", "S1-B3")
def test_no_update_brings_in_our_names(house):
    flow = Workflow("w", {}, phases=[Phase("a", agent=lambda _: 1, update=lambda _s, _o: {"approved": True}, terminal=True)])  # fmt: skip
    assert "has a field 'approved', which is the name of people's answers" in house.go(flow).reason


@pytest.mark.proves("PHASE-17")
@pytest.mark.parametrize("items", [None, 3, "abc", (1 / 0 for _ in "a"), [object()]])
def test_invalid_items_name_their_phase(house, items):
    flow = Workflow("w", phases=[Phase("a", agent=lambda _, item: item, for_each=lambda _: items, terminal=True)])  # fmt: skip
    assert house.go(flow).reason.startswith("UsageError: phase 'a': ")


@pytest.mark.proves("PHASE-17")
def test_prompt_that_is_not_text_reaches_no_agent(house):
    coder = house.agent("coder", done())
    over = house.go(Workflow("w", phases=[Phase("a", agent="coder", prompt=lambda _: None, terminal=True)]))  # fmt: skip
    assert over.reason == "UsageError: phase 'a': prompt returned None, which is not a text"
    assert coder.sent == []


@pytest.mark.proves("PHASE-16", "PHASE-17")
def test_state_that_is_not_json_names_the_function(house):
    flow = Workflow("w", {}, phases=[Phase("a", agent=lambda _: 1, update=lambda _s, _o: {"x": float("nan")}, terminal=True)])  # fmt: skip
    told = "UsageError: the state after phase 'a': update is not JSON: nan is not JSON"
    assert house.go(flow).reason == told


async def later(*_):
    return False


@pytest.mark.proves("PHASE-1")
@pytest.mark.parametrize(
    "phase",
    [
        Phase("a", agent=later, until=later, terminal=True),
        Phase("a", agent=later, update=later, terminal=True),
        Phase("a", agent="coder", prompt=later, terminal=True),
        Phase("a", human=later, terminal=True),
        Phase("a", human=HumanInput(later, "approval"), terminal=True),
        Phase("a", agent=later, next=later),
    ],
)
def test_only_an_agent_may_be_async(phase):
    with pytest.raises(UsageError, match=r"phase 'a' has an async .*="):
        Workflow("w", phases=[phase, end()])


@pytest.mark.proves("PHASE-17")
@pytest.mark.parametrize(
    ("human", "words"),
    [
        (HumanInput("?", "choice", lambda _: None), "phase 'a': human's options raised TypeError"),
        (HumanInput("?", "choice", lambda _: "XY"), "expected a list for options"),
        (HumanInput("?", "approval", more={"requirement": 3}), "phase 'a' asks what cannot be"),
        (HumanInput("?", "approval", more={"priority": "soon"}), "phase 'a' asks what cannot be"),
        (HumanInput("?", "approval", more={"context": float("nan")}), "phase 'a' asks what cannot"),
    ],
)
def test_question_that_cannot_be_asked_names_its_phase(house, human, words):
    over = house.go(Workflow("w", phases=[Phase("a", human=human, terminal=True)]))
    assert over.state == "failed" and words in over.reason


@pytest.mark.proves("PHASE-1", "S1-28")
def test_options_may_come_one_by_one(house):
    human = HumanInput("?", "choice", lambda _: (one for one in "XY"))
    house.go(Workflow("w", phases=[Phase("a", human=human, terminal=True)]))
    assert house.ask().question.options == ("X", "Y")


@pytest.mark.proves("PHASE-1")
def test_unnamed_extra_fields_of_a_question_are_refused():
    with pytest.raises(
        UsageError, match="phase 'a' has a more= in its question that is not a dict"
    ):
        Workflow("w", phases=[Phase("a", human=HumanInput("?", "approval", (), None), terminal=True)])  # fmt: skip


# Items


@pytest.mark.proves("PHASE-41", "LAW-5")
def test_result_of_one_item_is_not_used_for_another(house):
    orders, did = iter([["a", "b"], ["b", "a"]]), []

    def agent(_, item):
        did.append(item)
        if item == "b":
            raise Crash
        return item

    flow = Workflow("w", phases=[Phase("x", agent=agent, for_each=lambda _: next(orders), limit=1, terminal=True)])  # fmt: skip
    house.start(flow)
    house.crash()
    over = house.drive()
    assert (over.state, did) == ("stuck", ["a", "b"])
    assert "step('x'), was made with other arguments before" in over.reason


@pytest.mark.proves("PHASE-41", "LAW-5")
def test_question_about_a_dangerous_item_names_the_item(house):
    def agent(_, item):
        if item == "bob":
            raise Crash

    flow = Workflow("w", phases=[Phase("pay", agent=agent, for_each=lambda _: ["ann", "bob"], limit=1, dangerous=True, terminal=True)])  # fmt: skip
    house.start(flow)
    house.crash()
    house.drive()
    assert 'Its arguments: [["bob"],{}]' in house.ask().activity


# Answers


class Yes:
    def approval(self, prompt, ask_id):
        return True

    def choice(self, prompt, options, ask_id):
        return options[0]


class Boss(Yes):
    def caller_in(self, _):
        return a_person("boss", verified=True)


at_top = Workflow("at_top", phases=[Phase("a", human=GO, terminal=True)])
publishing = Workflow("publishing", phases=[Phase("a", human=HumanInput("Publish?", "choice", ["Yes", "No"]), terminal=True)])  # fmt: skip


@pytest.mark.proves("PHASE-42", "LAW-3")
def test_handler_for_another_person_works_in_tests_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = str(tmp_path / "gate.db")
    with pytest.raises(RefusedError, match="answers for others: it works in tests only"):
        at_top.run("go", Boss(), store=path)
    assert open_store(path).runs.newest(1) == []
    assert at_top.run("go", Boss(), store=MemoryStore()).history[0]["actor"] == "person:boss"


@pytest.mark.proves("PHASE-42")
def test_choice_by_an_agent_is_asked_again(house):
    house.go(publishing)
    first = house.ask().id
    house.answer("Yes", who=an_agent())
    assert house.drive().state == "waiting_human" and house.ask().id != first
    over = house.answer_and_drive("No")
    assert [(one["value"], one["actor"]) for one in over.result["history"]] == [("No", "person:ada")]  # fmt: skip


@pytest.mark.proves("PHASE-42", "PHASE-21")
def test_handler_in_an_agent_process_chooses_nothing(monkeypatch, caplog):
    store = MemoryStore()
    ScriptedPerson(store).will_answer("Publish?", "No")
    monkeypatch.setattr(
        "gatebell.app.wiring.caller", lambda _, via, *__: an_agent()._replace(via=via)
    )
    assert publishing.run("go", Yes(), store=store).history[0]["value"] == "No"
    said = caplog.text
    assert "only a person decides a-" in said and "waits in the inbox" in said


class Slow(Yes):
    """Wait until another person has answered."""

    def __init__(self, store):
        self.store, self.ended = store, []

    async def approval(self, prompt, ask_id):
        answer_ask.answer(self.store, ask_id, a_person("ada"), Given("no", "I was first"))
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.append(ask_id)


@pytest.mark.proves("PHASE-44", "PHASE-20")
@pytest.mark.parametrize("verb", ["run", "arun"])
def test_async_handler_does_not_delay_an_answer_from_elsewhere(verb, caplog):
    handler = Slow(store := MemoryStore())
    came = getattr(at_top, verb)("go", handler, store=store)
    result = asyncio.run(asyncio.wait_for(came, 30)) if verb == "arun" else came
    assert (result.approved, result.history[0]["reason"]) == (False, "I was first")
    assert handler.ended == [result.history[0]["id"]]
    assert "was already answered by person:ada" in caplog.text


@pytest.mark.proves("PHASE-20")
def test_answer_before_a_handler_error_counts(caplog):
    store = MemoryStore()

    class Falling(Yes):
        def approval(self, prompt, ask_id):
            answer_ask.answer(store, ask_id, a_person("ada"), Given("no"))
            raise KeyError("afterwards")

    assert at_top.run("go", Falling(), store=store).approved is False
    said = caplog.text
    assert "the handler raised KeyError" in said and "was already answered by person:ada" in said
    assert "waits in the inbox" not in said


@pytest.mark.proves("PHASE-44", "LAW-4")
@pytest.mark.parametrize(
    ("context", "shown"), [("it deletes", "it deletes"), ({"deletes": 3}, '{\n  "deletes": 3\n}')]
)
def test_handler_is_given_the_context(context, shown):
    prompts = []

    class Keeping(Yes):
        def approval(self, prompt, ask_id):
            prompts.append(prompt)
            return False

    asks = HumanInput("Go?", "approval", more={"context": context})
    Workflow("w", phases=[Phase("a", human=asks, terminal=True)]).run("go", Keeping(), store=MemoryStore())  # fmt: skip
    assert prompts == [f"Go?\n\n{shown}"]


@pytest.mark.proves("PHASE-23")
def test_workflow_loadable_only_by_its_package_is_not_run(tmp_path, monkeypatch):
    package = tmp_path / "leaning"
    package.mkdir()
    (package / "words.py").write_text("GO = 'Go?'")
    (package / "flows.py").write_text(
        "from gatebell import HumanInput, Phase, Workflow\nfrom .words import GO\n"
        "made = Workflow('w', phases=[Phase('a', human=HumanInput(GO, 'approval'), terminal=True)])"
    )
    monkeypatch.syspath_prepend(tmp_path)
    flow = importlib.import_module("leaning.flows").made
    with pytest.raises(UsageError, match="has a relative import, and a worker loads it"):
        flow.run("go", Yes(), store=str(tmp_path / "gate.db"))
    assert flow.run("go", Yes(), store=MemoryStore()).approved


# Readers and callers that stop


def long_way(began, go_on):
    def first(_):
        began.set()
        go_on.wait(30)

    return Workflow("w", phases=[Phase("a", agent=first, next="b"), Phase("b", agent=lambda _: 1, next="end"), end()])  # fmt: skip


def is_left(store):
    run = store.runs.get(1)
    labels = [call.label for call in store.runs.calls(1)]
    return run.state == "ready" and labels == ["phase a", "a"]


@pytest.mark.proves("PHASE-43", "PHASE-26")
def test_reader_that_stops_starts_no_other_phase():
    store, began, go_on = MemoryStore(), threading.Event(), threading.Event()
    events = long_way(began, go_on).execute("go", store=store)
    assert next(events).name == "workflow:started" and began.wait(30)
    events.close()
    go_on.set()
    assert eventually(lambda: is_left(store))


@pytest.mark.proves("PHASE-43", "PHASE-11")
def test_cancelled_async_call_starts_no_other_phase():
    store, began, go_on = MemoryStore(), threading.Event(), threading.Event()

    async def main():
        task = asyncio.create_task(long_way(began, go_on).arun("go", store=store))
        await asyncio.to_thread(began.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    go_on.set()
    assert eventually(lambda: is_left(store))


@pytest.mark.proves("PHASE-11", "PHASE-26")
def test_execute_inside_an_event_loop_is_refused():
    async def main():
        at_top.execute("go", store=MemoryStore())

    with pytest.raises(UsageError, match=r"execute\(\) would hold up the event loop"):
        asyncio.run(main())
    with pytest.raises(UsageError, match="the input of a workflow is a text"):
        at_top.execute(3, store=MemoryStore())
