"""Whole workflows of phases: by the inbox, by handlers, in memory and on disk."""

from __future__ import annotations

import asyncio
import io
import re
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest
from tests.support.flow_harness import Crash, done, house, needs
from tests.support.people import a_person, an_agent
from tests.support.waiting import eventually

from gatebell import Gate, HumanInput, Phase, Workflow, cli_prompt
from gatebell.api.phase_executor import MAX_ROUNDS
from gatebell.api.phases import Reply
from gatebell.app.project_files import read_flow_digest
from gatebell.app.wiring import open_store, open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.errors import GateError, RefusedError, UnfinishedError, UsageError
from gatebell.services.asks import answer_ask
from gatebell.services.people import manage_people
from gatebell.services.runs import manage_runs
from gatebell.testing import FakeClock, MemoryStore, ScriptedPerson, auto_approve

__all__ = ["house"]


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path, monkeypatch):
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    if request.param == "memory":
        yield MemoryStore()
        return
    made = open_throwaway_store(str(tmp_path / "gate.db"), FakeClock())
    yield made
    made.close()


class Script:
    """A handler that gives scripted answers and records the questions."""

    def __init__(self, *replies):
        self._replies = list(replies)
        self.asked = []

    def approval(self, prompt, ask_id):
        self.asked.append((prompt, ask_id))
        return self._replies.pop(0)

    def choice(self, prompt, options, ask_id):
        self.asked.append((prompt, tuple(options), ask_id))
        return self._replies.pop(0)


class AsyncScript(Script):
    async def approval(self, prompt, ask_id):
        await asyncio.sleep(0)
        return super().approval(prompt, ask_id)

    async def choice(self, prompt, options, ask_id):
        await asyncio.sleep(0)
        return super().choice(prompt, options, ask_id)


# The documented examples


@dataclass
class Plan:
    goal: str = ""
    plan: list[str] = field(default_factory=list)


def with_goal(state, given):
    state.goal = given


def planner(state):
    said = [one.reason for one in state.history if one.reason]
    return {"plan": [f"build {state.goal}", *said]}


def plan(state, output):
    return Plan(state.goal, output["plan"])


def executor(state):
    return {"built": state.plan}


checkpoint = Workflow(
    "checkpoint",
    Plan,
    with_goal,
    [
        Phase(
            agent=planner,
            update=plan,
            human=HumanInput(lambda s: "Approve plan?\n" + "\n".join(s.plan), "approval"),
            next=lambda s, _: "execute" if s.approved else "planner",
        ),
        Phase("execute", agent=executor, terminal=True),
    ],
)


@pytest.mark.proves(
    "S1-10", "S1-29", "S1-16", "S1-26", "S1-63", "S1-68", "S1-B7", "S1-15", "PHASE-10"
)
def test_plan_is_approved_each_time_it_is_made(house):
    waiting = house.go(checkpoint, "a login")
    assert (waiting.state, waiting.reason) == ("waiting_human", "Approve plan?\nbuild a login")
    again = house.answer_and_drive("no", "with tests")
    assert again.reason == "Approve plan?\nbuild a login\nwith tests"
    over = house.answer_and_drive("yes")
    assert over.state == "completed"
    assert over.result["output"] == {"built": ["build a login", "with tests"]}
    assert over.result["state"] == {"goal": "a login", "plan": ["build a login", "with tests"]}
    told = [(one["phase"], one["approved"], one["reason"]) for one in over.result["history"]]
    assert told == [("planner", False, "with tests"), ("planner", True, "")]


@pytest.mark.proves("S1-10", "S1-29", "S1-35", "S1-37", "S1-40", "S1-B16", "S1-66", "PHASE-11")
@pytest.mark.parametrize("kind", [Script, AsyncScript])
def test_handler_answers_while_the_program_runs(store, kind):
    handler = kind(Reply(False, "with tests"), True)
    result = checkpoint.run("a login", handler, store=store)
    assert result.state == Plan("a login", ["build a login", "with tests"])
    assert (result.phase, result.approved) == ("execute", None)
    prompts, ids = zip(*handler.asked, strict=True)
    assert prompts == ("Approve plan?\nbuild a login", "Approve plan?\nbuild a login\nwith tests")
    assert [one["id"] for one in result.history] == list(ids) and len(set(ids)) == 2
    asks = [store.asks.get(one) for one in ids]
    assert [(ask.decision, ask.note, ask.settled_via) for ask in asks] == [
        ("rejected", "with tests", "handler"), ("approved", "", "handler"),
    ]  # fmt: skip


@dataclass
class Label:
    label: str
    confidence: float


classify = Workflow(
    "classify",
    {"text": ""},
    lambda _, given: {"text": given},
    [
        Phase(
            "classify",
            agent=lambda s: Label("spam", 0.9 if "win" in s.text else 0.5),
            returns=Label,
            human=lambda _, output: (
                HumanInput(f'Verify: "{output.label}"?', "approval") if output.confidence < 0.8 else None
            ),
            terminal=True,
        )
    ],
)  # fmt: skip


@pytest.mark.proves("S1-13", "S1-30", "S1-23", "S1-50", "S1-67", "S1-B10", "S1-25")
def test_doubtful_results_are_asked_and_include_the_answer(house):
    sure = house.go(classify, "win now")
    assert (sure.state, sure.result["approved"], house.store.asks.count()) == ("completed", None, 0)
    house.go(classify, "hello")
    assert house.ask().question.prompt == 'Verify: "spam"?'
    over = house.answer_and_drive("no", "it is a friend")
    assert (over.result["approved"], over.result["history"][0]["reason"]) == (
        False,
        "it is a friend",
    )
    assert over.result["output"] == {"label": "spam", "confidence": 0.5}


@pytest.mark.proves("S1-13", "S1-30", "S1-B10", "S1-67")
def test_only_doubtful_results_reach_the_handler(store):
    handler = Script(False)
    assert classify.run("win now", handler, store=store).approved is None
    assert handler.asked == []
    assert classify.run("hello", handler, store=store).approved is False


@dataclass
class Review:
    approved: bool
    needs_human: bool = False
    human_prompt: str = ""
    human_options: list[str] = field(default_factory=list)


def reviewer(state):
    if len(state.history) >= 2:
        return Review(approved=True)
    return Review(
        approved=False,
        needs_human=True,
        human_prompt="What now?",
        human_options=["Redesign", "Fix"],
    )


def after_review(state, output):
    if output.approved:
        return "done"
    if state.human_response and state.human_response.value == "Redesign":
        return "planner"
    return "coder"


dynamic = Workflow(
    "dynamic",
    phases=[
        Phase("planner", agent=lambda _: "planned", next="coder"),
        Phase("coder", agent=lambda _: "coded", next="reviewer"),
        Phase(
            agent=reviewer,
            returns=Review,
            human=lambda _, output: (
                HumanInput(output.human_prompt, "choice", output.human_options)
                if output.needs_human
                else None
            ),
            next=after_review,
        ),
        Phase("done", agent=lambda _: "done", terminal=True),
    ],
)


def phases_of(calls):
    return [call.label.removeprefix("phase ") for call in calls if call.label.startswith("phase ")]


@pytest.mark.proves("S1-11", "S1-31", "S1-32", "S1-B3", "S1-B24")
def test_agent_that_needs_help_writes_the_question(house):
    house.go(dynamic)
    assert house.ask().question.options == ("Redesign", "Fix")
    house.answer_and_drive("Redesign")
    over = house.answer_and_drive("Fix")
    assert over.state == "completed"
    assert phases_of(house.calls().values()) == [
        "planner", "coder", "reviewer", "planner", "coder", "reviewer", "coder", "reviewer", "done",
    ]  # fmt: skip


@pytest.mark.proves("S1-11", "S1-31", "S1-32", "S1-36", "S1-19")
def test_handler_is_given_the_proposal_of_the_agent(store):
    handler = Script("Redesign", "Fix")
    result = dynamic.run("go", handler, store=store)
    assert [one[:2] for one in handler.asked] == [("What now?", ("Redesign", "Fix"))] * 2
    assert [one["value"] for one in result.history] == ["Redesign", "Fix"]


def worker(name):
    return Phase(name, agent=lambda _: name, terminal=True)


branching = Workflow(
    "branching",
    phases=[
        Phase(
            "planner",
            agent=lambda _: "a plan",
            human=HumanInput(
                "Choose approach:", "choice", ["Fast", "Thorough", "Custom", "Other…"]
            ),
            next={"Fast": "fast_path", "Thorough": "thorough_path", "Custom": "custom_path"},
            otherwise="custom_path",
        ),
        worker("fast_path"),
        worker("thorough_path"),
        worker("custom_path"),
    ],
)
WAYS = [
    ("Fast", "fast_path"), ("Thorough", "thorough_path"), ("Custom", "custom_path"),
    ({"other": "my own way"}, "custom_path"),
]  # fmt: skip


@pytest.mark.proves("S1-14", "S1-33", "S1-20", "S1-B6", "S1-17")
@pytest.mark.parametrize(("answer", "path"), WAYS)
def test_chosen_option_picks_the_path(house, answer, path):
    house.go(branching)
    over = house.answer_and_drive(answer)
    assert (over.result["phase"], over.result["output"]) == (path, path)
    told = over.result["history"][0]
    own = isinstance(answer, dict)
    assert (told["value"], told["is_other"]) == ("my own way" if own else answer, own)


@pytest.mark.proves("S1-14", "S1-33", "S1-20", "S1-B6", "S1-36")
@pytest.mark.parametrize(("answer", "path"), WAYS)
def test_option_of_the_handler_picks_the_path(store, answer, path):
    handler = Script(Reply(answer["other"], other=True) if isinstance(answer, dict) else answer)
    assert branching.run("go", handler, store=store).phase == path
    assert handler.asked[0][1] == ("Fast", "Thorough", "Custom", "Other…")


build = Workflow(
    "build",
    phases=[
        Phase(
            "what",
            human=HumanInput("What do you want to build?", "choice", ["App", "API", "Library"]),
            next="planner",
        ),
        Phase("planner", agent=lambda s: f"plan of an {s.answer_of('what').value}", next="execute"),
        Phase("execute", agent=lambda s: [s.approved, s.human_response], terminal=True),
    ],
)


@pytest.mark.proves("S1-34", "S1-22", "S1-B2", "S1-B11")
def test_phase_without_agent_asks_and_continues(house):
    house.go(build)
    over = house.answer_and_drive("API")
    assert over.result["output"] == [None, None]
    assert house.calls()["4"].value == "plan of an API"


@pytest.mark.proves("S1-34", "S1-22", "S1-B11")
def test_human_function_without_agent_gets_no_output(store):
    seen = []
    alone = Workflow("alone", phases=[
        Phase("ask", human=lambda _, output: seen.append(output) or HumanInput("?", "approval"), terminal=True),
    ])  # fmt: skip
    if not store.path:
        assert alone.run("go", Script(True), store=store).approved is True
        assert set(seen) == {None}
    assert build.run("go", Script("App"), store=store).history[0]["value"] == "App"


article = Workflow(
    "article",
    phases=[
        Phase(
            "research",
            agent=lambda _: "facts",
            human=HumanInput("Enough research?", "approval"),
            next={"yes": "write", "no": "research"},
        ),
        Phase(
            "write",
            agent=lambda s: f"draft {len(s.history)}",
            human=HumanInput("Publish?", "approval"),
            next={"yes": "publish", "no": "write"},
        ),
        Phase("publish", agent=lambda s: [one.value for one in s.history], terminal=True),
    ],
)


@pytest.mark.proves("S1-12", "S1-B4", "S1-B19", "S1-B24", "S1-65", "S1-64")
def test_publication_waits_for_two_approvals(house):
    house.go(article)
    first = house.ask().id
    house.answer_and_drive("yes")
    assert house.ask("Publish?").id != first
    with pytest.raises(GateError, match="already answered"):
        answer_ask.answer(house.store, first, a_person("bob"), Given("no"))
    house.answer_and_drive("no", "too long")
    over = house.answer_and_drive("yes")
    assert over.result["output"] == ["yes", "no", "yes"]
    told = [(one["phase"], one["approved"]) for one in over.result["history"]]
    assert told == [("research", True), ("write", False), ("write", True)]


@pytest.mark.proves("S1-12", "S1-15", "S1-B7")
def test_handler_passes_both_approvals_and_a_revision(store):
    result = article.run("go", Script(True, Reply(False, "too long"), True), store=store)
    assert result.output == ["yes", "no", "yes"]
    assert [one["reason"] for one in result.history] == ["", "too long", ""]


# Roles


@pytest.mark.proves("PHASE-12", "S1-B7", "S1-P1")
def test_roles_work_in_phases_and_read_the_rejection(house):
    coder = house.agent("coder", done("first try"), done("second try"))
    flow = Workflow("roles", {"n": 0}, phases=[
        Phase(
            agent="coder", prompt=lambda s: f"Round {s.n}", update=lambda s, _: {"n": s["n"] + 1},
            human=lambda _, signal: HumanInput(f"{signal.summary}: fine?", "approval"),
            next=lambda s, _: "end" if s.approved else "coder",
        ),
        Phase("end", agent=lambda s: s.n, terminal=True),
    ])  # fmt: skip
    assert house.go(flow, "Add login").reason == "first try: fine?"
    assert "Round 0" in coder.sent[0] and "Add login" in coder.sent[0]
    house.answer_and_drive("no", "no tests")
    assert "Round 1" in coder.sent[1] and "no tests" in coder.sent[1]
    assert house.answer_and_drive("yes").result["output"] == 2


@pytest.mark.proves("PHASE-12", "S1-11")
def test_role_may_need_a_person_within_its_phase(house):
    house.agent(
        "coder", needs("Which flow?"), {"status": "DONE", "value": {"label": "x", "confidence": 1}}
    )
    flow = Workflow("asks", phases=[Phase(agent="coder", returns=Label, update=lambda _, o: {"label": o.label}, terminal=True)])  # fmt: skip
    assert house.go(flow).reason == "Which flow?"
    over = house.answer_and_drive("PKCE")
    assert over.result["state"] == {"label": "x"} and over.result["history"] == []


@pytest.mark.proves("PHASE-13")
@pytest.mark.parametrize("status", ["ERROR", "BLOCKED"])
def test_agent_that_cannot_continue_stops_the_workflow(house, status):
    house.agent("coder", {"status": status, "reason": "no key"})
    flow = Workflow("stops", phases=[Phase(agent="coder", next="end"), worker("end")])
    over = house.go(flow)
    why = f"phase 'coder': coder reported {status}: no key"
    assert (over.state, over.reason) == (
        "stuck", f"{why}. Once that is fixed: gate resume 1 --from 2",
    )  # fmt: skip
    house.agent("coder", done())
    house.fork("2")
    assert house.drive().result["output"] == "end"


@pytest.mark.proves("PHASE-14", "S1-B17", "S1-P1")
def test_person_sees_the_outputs_of_all_items(house):
    flow = Workflow(
        "each",
        {"files": ["a", "b", "c"], "seen": []},
        phases=[
            Phase(
                "check",
                agent=lambda _, item: {"file": item},
                for_each=lambda s: s.files,
                limit=2,
                update=lambda s, outputs: {**s, "seen": [one["file"] for one in outputs]},
                human=lambda _, outputs: HumanInput(f"{len(outputs)} files?", "approval"),
                next="nothing",
            ),
            Phase("nothing", agent=lambda _, item: item, for_each=lambda _: [], next="end"),
            Phase("end", agent=lambda s: s.seen, terminal=True),
        ],
    )
    assert house.go(flow).reason == "3 files?"
    assert house.answer_and_drive("yes").result["output"] == ["a", "b", "c"]


@pytest.mark.proves("PHASE-14", "PHASE-13")
def test_roles_work_on_each_item_with_own_prompts(house):
    coder = house.agent("coder", lambda order, _: {"status": "BLOCKED" if "bad" in order.text else "DONE", "summary": "x"})  # fmt: skip
    flow = Workflow("each", {"files": ["a", "b"]}, phases=[
        Phase(agent="coder", prompt=lambda _, item: f"file {item}", for_each=lambda s: s.files,
              update=lambda _, outputs: {"files": [one.summary for one in outputs]}, next="again"),
        Phase("again", agent="coder", prompt=lambda _, item: f"bad {item}", for_each=lambda s: s.files, next="end"),
        worker("end"),
    ])  # fmt: skip
    over = house.go(flow)
    assert over.state == "stuck"
    assert over.reason.startswith("phase 'again': coder reported BLOCKED: x. Once")
    assert {"file a", "file b"} <= {word for text in coder.sent for word in ("file a", "file b") if word in text}  # fmt: skip


@pytest.mark.proves("PHASE-15", "S1-P1")
def test_phase_repeats_until_it_is_done(house):
    flow = Workflow("until", {"n": 0}, phases=[
        Phase("count", agent=lambda s: s.n + 1, update=lambda _, output: {"n": output},
              until=lambda s, output: s.n == output == 3, terminal=True),
    ])  # fmt: skip
    over = house.go(flow)
    assert over.result["state"] == {"n": 3}
    assert [call.name for call in house.calls().values()] == ["log", "step", "step", "step"]


@pytest.mark.proves("PHASE-15")
def test_endless_phase_is_stopped(house, monkeypatch):
    monkeypatch.setattr("gatebell.api.phase_executor.MAX_ROUNDS", 5)
    assert MAX_ROUNDS == 1000
    never = Workflow("never", phases=[Phase("a", agent=lambda _: 1, until=lambda _s, _o: False, terminal=True)])  # fmt: skip
    assert house.go(never).reason == "phase 'a' worked 5 times, and until= was never true"
    round_ = Workflow("round", phases=[Phase("a", human=lambda _s, _o: None, next=lambda _s, _o: "a"), worker("b")])  # fmt: skip
    assert house.go(round_).reason == "went through 5 phases, and none of them was terminal"


# Checks at build time and at run time


class Strange:
    pass


@dataclass
class Taken:
    approved: bool = False


@pytest.mark.proves("PHASE-16", "S1-B3", "S1-B8")
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"name": ""}, "a workflow needs a name"),
        ({"human_timeout": 0}, "human_timeout must be a number of seconds above 0"),
        ({"state": Strange()}, "is a dict, dataclass, NamedTuple or pydantic model"),
        ({"state": {"x": object()}}, "cannot be written as JSON"),
        ({"state": Taken}, "has a field 'approved', which is the name of people's answers"),
        ({"state": {"history": []}}, "has a field 'history'"),
        ({"start": lambda _: None}, "the start= of 'w' is a function of (state, input)"),
        ({"phases": []}, "at least one phase"),
        ({"phases": [Phase("a", agent="x", returns=complex, terminal=True)]}, "phase 'a' has a returns="),
    ],
)  # fmt: skip
def test_invalid_workflow_cannot_be_built(wrong, words):
    given = {"name": "w", "phases": [worker("end")]} | wrong
    with pytest.raises(UsageError) as refused:
        Workflow(**given)
    assert words in str(refused.value)


def broken(*_):
    return {}["x"]


@pytest.mark.proves("PHASE-17", "S1-B15", "S1-B5")
@pytest.mark.parametrize(
    ("phase", "words"),
    [
        (Phase("a", agent="coder", prompt=broken, terminal=True), "phase 'a': prompt raised KeyError"),
        (Phase("a", agent=len, for_each=broken, terminal=True), "phase 'a': for_each raised KeyError"),
        (Phase("a", agent=lambda _: 1, update=broken, terminal=True), "phase 'a': update raised KeyError"),
        (Phase("a", agent=lambda _: 1, update=lambda _s, _o: 3, terminal=True), "phase 'a': update returned 3 and not a Plan"),
        (Phase("a", agent=lambda _: 1, update=lambda _s, _o: Plan(3), terminal=True), "the state after phase 'a': update does not fit Plan"),
        (Phase("a", agent=lambda _: 1, until=broken, terminal=True), "phase 'a': until raised KeyError"),
        (Phase("a", human=broken, terminal=True), "phase 'a': human raised KeyError"),
        (Phase("a", human=lambda _s, _o: True, terminal=True), "phase 'a': human returned True, which is not a HumanInput"),
        (Phase("a", human=HumanInput(broken, "approval"), terminal=True), "phase 'a': human's prompt raised KeyError"),
        (Phase("a", human=HumanInput("?", "choice", broken), terminal=True), "phase 'a': human's options raised KeyError"),
        (Phase("a", human=HumanInput("?", "choice", lambda _: []), terminal=True), "phase 'a' has a question that is not valid"),
        (Phase("a", human=HumanInput(lambda _: " ", "approval"), terminal=True), "question is empty"),
        (Phase("a", human=lambda _s, _o: HumanInput("?", "text"), terminal=True), "phase 'a' asks for 'text'"),
        (Phase("a", agent=lambda _: 1, next=broken), "phase 'a': next raised KeyError"),
        (Phase("a", agent=lambda _: 1, next=lambda _s, _o: "elsewhere"), "phase 'a' leads to 'elsewhere'"),
        (Phase("a", agent=lambda _: {"label": 1}, returns=Label, terminal=True), "InvalidAnswerError"),
    ],
)  # fmt: skip
def test_error_names_its_phase_and_fails_the_run(house, phase, words):
    if isinstance(phase.agent, str):
        house.agent("coder", done())
    accepting = phase._replace(agent=lambda _, item: item) if phase.for_each else phase
    more = [] if phase.terminal else [worker("end")]
    over = house.go(Workflow("w", Plan(), phases=[accepting, *more]))
    assert over.state == "failed" and words in over.reason
    assert house.pending() == []


@pytest.mark.proves("PHASE-17")
def test_failed_function_runs_again_when_resumed(house):
    tries = []
    flow = Workflow("w", phases=[Phase("a", agent=lambda _: tries.append(1) or 1 // (len(tries) - 1), terminal=True)])  # fmt: skip
    assert house.go(flow).state == "failed"
    assert house.resume().result["output"] == 1


@pytest.mark.proves("PHASE-17")
def test_output_that_does_not_fit_runs_again(house):
    given = iter([{"label": 1}, {"label": "spam", "confidence": 1}])
    flow = Workflow("w", phases=[Phase("a", agent=lambda _: next(given), returns=Label, terminal=True)])  # fmt: skip
    assert house.go(flow).state == "failed"
    assert house.resume().result["output"] == {"label": "spam", "confidence": 1.0}


@pytest.mark.proves("PHASE-12")
def test_role_reads_why_its_output_does_not_fit(house):
    values = [{"label": 1}, {"label": "spam", "confidence": 1}]
    coder = house.agent("coder", *({"status": "DONE", "value": one} for one in values))
    flow = Workflow("w", phases=[Phase(agent="coder", returns=Label, terminal=True)])
    assert house.go(flow).result["output"] == {"label": "spam", "confidence": 1.0}
    assert "confidence" in coder.sent[1]


@pytest.mark.proves("PHASE-14")
def test_so_many_items_are_worked_on_at_once(house):
    active, most = set(), []

    def agent(_, item):
        active.add(item)
        most.append(len(active))
        threading.Event().wait(0.01)
        active.discard(item)

    flow = Workflow("w", phases=[Phase("a", agent=agent, for_each=lambda _: range(6), limit=1, terminal=True)])  # fmt: skip
    assert house.go(flow).state == "completed" and most == [1] * 6


@pytest.mark.proves("PHASE-17", "LAW-5")
def test_interrupted_dangerous_phase_becomes_a_question(house):
    done_ = []

    def publish(_):
        done_.append(1)
        raise Crash

    flow = Workflow("w", phases=[Phase(agent=publish, dangerous=True, terminal=True)])
    house.start(flow)
    house.crash()
    assert house.drive().reason.startswith("Did step('publish') happen?")
    over = house.answer_and_drive({"what": "It happened", "result": '"page 7"'})
    assert (over.result["output"], done_) == ("page 7", [1])


@pytest.mark.proves("PHASE-18")
def test_functions_that_only_look_change_nothing(house):
    flow = Workflow("w", {"plan": ["a"]}, phases=[
        Phase("a", agent=lambda s: len(s.plan), human=HumanInput(lambda s: str(s.plan.append("y")), "approval"),
              next=lambda s, _: s.plan.append("z") or "end"),
        Phase("end", agent=lambda s: s.plan, terminal=True),
    ])  # fmt: skip
    house.go(flow)
    assert house.answer_and_drive("yes").result["output"] == ["a"]


# Waiting, replaying, crashing


@pytest.mark.proves("S1-P2", "S1-P3", "S1-P4", "S1-B13", "S1-B24", "PHASE-19")
def test_replay_rebuilds_the_state_without_asking_again(house):
    worked = []
    flow = Workflow("w", {"n": []}, phases=[
        Phase("a", agent=lambda s: worked.append("a") or len(s.n), update=lambda s, o: {"n": [*s["n"], o]},
              human=HumanInput(lambda s: f"{s.n}?", "approval"), next="b"),
        Phase("b", agent=lambda s: worked.append("b") or s.n, human=HumanInput("b?", "approval"), terminal=True),
    ])  # fmt: skip
    house.go(flow)
    house.answer_and_drive("yes", "first")
    house.another_driver()
    house.driver = house.another_driver()
    over = house.answer_and_drive("yes")
    assert worked == ["a", "b"] and house.store.asks.count() == 2
    assert over.result["state"] == {"n": [0]} and over.result["history"][0]["reason"] == "first"


@pytest.mark.proves("S1-B13", "LAW-3")
def test_unanswered_phase_gets_stuck_and_asks_again(house):
    flow = Workflow("w", phases=[Phase("a", human=HumanInput("Go?", "approval"), terminal=True)], human_timeout=60)  # fmt: skip
    house.go(flow)
    first = house.ask().id
    house.clock.advance(61)
    assert house.drive().state == "stuck"
    house.resume()
    assert house.ask().id != first
    house.stop("enough")
    assert house.pending() == [] and house.run().state == "stuck"


@pytest.mark.proves("S1-B13", "PHASE-10")
def test_question_of_a_phase_has_every_ask_option(house):
    more = {"priority": "urgent", "context": {"diff": 1}, "timeout": 5}
    flow = Workflow("w", phases=[Phase("a", human=HumanInput("Go?", "approval", more=more), terminal=True)])  # fmt: skip
    house.go(flow)
    assert (house.ask().priority, house.ask().question.context) == (0, {"diff": 1})


# Handlers


class Raising(Script):
    def approval(self, prompt, ask_id):
        super().approval(prompt, ask_id)
        raise ConnectionError("chat is down")


ask_once = Workflow("ask_once", phases=[Phase("a", human=HumanInput("Go on?", "approval"), next={"yes": "b", "no": "b"}), Phase("b", human=HumanInput("Which?", "choice", ["X", "Y"]), terminal=True)])  # fmt: skip


@pytest.mark.proves("S1-B14", "S1-B12", "PHASE-20")
def test_failing_handler_leaves_the_ask_to_the_inbox(caplog):
    store = MemoryStore()
    ScriptedPerson(store).will_answer("Go on?", "yes").will_answer("Which?", "Y")
    handler = Raising(True, "Z")
    result = ask_once.run("go", handler, store=store)
    assert [one["actor"] for one in result.history] == ["person:tester"] * 2
    said = caplog.text
    first, second = [one["id"] for one in result.history]
    assert f"the handler raised ConnectionError: chat is down. {first} waits in the inbox" in said
    assert f"the options are 'X', 'Y'. {second} waits in the inbox" in said
    assert len(handler.asked) == 2, "each is handed over once"


@pytest.mark.proves("S1-B15", "S1-B18", "LAW-3", "LAW-6")
@pytest.mark.parametrize("said", ["sure", 1, None, object()])
def test_nothing_but_a_clear_yes_of_a_handler_approves(said, caplog):
    store = MemoryStore()
    ScriptedPerson(store).will_answer("Go on?", "no").will_answer("Which?", "X")
    result = ask_once.run("go", Script(said, "X"), store=store)
    assert result.history[0]["approved"] is False
    assert "waits in the inbox" in caplog.text


@pytest.mark.proves("S1-B18")
def test_approval_word_is_an_approval():
    assert ask_once.run("go", Script("approved", "X"), store=MemoryStore()).history[0]["approved"]


@pytest.mark.proves("PHASE-21", "LAW-3", "WHO-2")
def test_handler_in_an_agent_process_approves_nothing(monkeypatch, caplog):
    store = MemoryStore()
    ScriptedPerson(store).will_answer("Go on?", "yes").will_answer("Which?", "X")
    monkeypatch.setattr(
        "gatebell.app.wiring.caller", lambda _, via, *__: an_agent()._replace(via=via)
    )
    result = ask_once.run("go", Script(True, "X"), store=store)
    assert result.history[0]["actor"] == "person:tester"
    assert "only a person decides" in caplog.text


@pytest.mark.proves("S1-B12", "PHASE-20")
def test_ask_without_a_handler_waits_and_is_announced(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    path = str(tmp_path / "gate.db")
    open_store(path).close()
    results = []
    thread = threading.Thread(target=lambda: results.append(ask_once.run("go", store=path)))
    thread.start()
    gate = Gate(path)
    monkeypatch.setattr(Gate, "caller", lambda _: a_person("ada"))
    for answer in ("yes", "X"):
        (ask,) = eventually(gate.pending)
        # Whoever is quick could answer before it is said.
        eventually(lambda ask=ask: f"waits in the inbox (gate answer {ask.id}" in caplog.text)
        gate.answer(ask.id, answer)
        eventually(lambda ask=ask: gate.store.asks.get(ask.id).delivered_at)
    thread.join(30)
    gate.store.close()
    assert [one["actor"] for one in results[0].history] == ["person:ada"] * 2
    assert "Go on?" in caplog.text and "Which?" in caplog.text


@pytest.mark.proves("PHASE-20", "ASK-10")
def test_where_several_decide_the_handler_is_one_of_them(caplog):
    store = MemoryStore()
    for name in ("ada", "bob"):
        manage_people.add(store, a_person("root"), name)
    two = HumanInput("Go on?", "approval", more={"requirement": {"n": 2}})
    flow = Workflow("two", phases=[Phase("a", human=two, terminal=True)])

    class Ada(Script):
        def caller_in(self, _):
            return a_person("ada", verified=True)

    def bob_comes():
        for ask in store.asks.pending(9):
            bob = a_person("bob", verified=True)
            answer_ask.answer(store, ask.id, bob, Given("yes"))
            return True
        return False

    store.visitors.append(bob_comes)
    result = flow.run("go", Ada(True), store=store)
    assert (result.approved, result.history[0]["actor"]) == (
        True,
        "person:ada, person:bob",
    )
    assert "other people must decide, too" in caplog.text


@pytest.mark.proves("PHASE-20")
def test_inbox_may_answer_before_the_handler(caplog):
    store = MemoryStore()

    class Slow(Script):
        def approval(self, prompt, ask_id):
            answer_ask.answer(store, ask_id, a_person("bob"), Given("no", "I was first"))
            return True

    result = ask_once.run("go", Slow("X"), store=store)
    assert (result.history[0]["approved"], result.history[0]["reason"]) == (False, "I was first")
    assert "was already answered by person:bob" in caplog.text


@pytest.mark.proves("PHASE-20")
def test_questions_of_the_agent_do_not_reach_the_handler(house, monkeypatch, caplog):
    house.agent("coder", needs("Which way?", options=["L", "R"]), done())
    ScriptedPerson(house.store).will_answer("Which way?", "L")
    monkeypatch.setattr("gatebell.app.runtime.build_driver", lambda *_: house.driver)
    flow = Workflow("w", phases=[Phase(agent="coder", human=HumanInput("Fine?", "approval"), terminal=True)])  # fmt: skip
    house.flow = flow
    handler = Script(True)
    assert flow.run("go", handler, store=house.store, in_place=True).approved is True
    assert [one[0] for one in handler.asked] == ["Fine?"]
    assert "Which way?" in caplog.text


@pytest.mark.proves("S1-51", "PHASE-22")
@pytest.mark.parametrize("odd", [object(), Workflow, lambda _: True])
def test_invalid_handler_is_refused_before_the_start(odd):
    store = MemoryStore()
    with pytest.raises(UsageError, match="a handler for human_input has a method approval"):
        ask_once.run("go", odd, store=store)
    assert store.runs.newest(1) == []


@pytest.mark.proves("S1-39", "S1-53", "S1-B25")
def test_auto_approve_works_in_stores_made_for_tests_only(store, tmp_path):
    result = ask_once.run("go", auto_approve(), store=store)
    assert [one["value"] for one in result.history] == ["yes", "X"]
    assert result.history[0]["actor"] == "person:tester"
    path = str(tmp_path / "real.db")
    with pytest.raises(RefusedError, match="works in tests only"):
        ask_once.run("go", auto_approve(), store=path)
    real = open_store(path)
    assert real.runs.newest(1) == []
    real.close()


def type_lines(monkeypatch, *lines):
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


@pytest.mark.proves("S1-38", "S1-52", "S1-B15", "LAW-8")
def test_cli_prompt_asks_until_it_is_an_answer(monkeypatch, capsys):
    type_lines(monkeypatch, "", "maybe", "NO", "too \x1b[1m early", "5", "0", "nothing", "2")
    result = ask_once.run("go", cli_prompt(), store=MemoryStore())
    assert [(one["value"], one["reason"]) for one in result.history] == [("no", "too \x1b[1m early"), ("Y", "")]  # fmt: skip
    shown = capsys.readouterr().out
    assert shown.count("That is neither yes nor no.") == 2
    assert shown.count("That is none of them.") == 3 and "  2) Y" in shown


@pytest.mark.proves("S1-38", "S1-20", "S1-B6")
@pytest.mark.parametrize(
    ("typed", "value"),
    [(["Other…", "", "by hand"], "by hand"), (["3", "own"], "own"), (["fast"], "Fast"), (["Fast"], "Fast")],
)  # fmt: skip
def test_cli_prompt_takes_names_numbers_and_own_words(monkeypatch, typed, value):
    type_lines(monkeypatch, *typed)
    flow = Workflow("w", phases=[Phase("a", human=HumanInput("?", "choice", ["Fast", "Slow", "Other…"]), terminal=True)])  # fmt: skip
    assert flow.run("go", cli_prompt(), store=MemoryStore()).history[0]["value"] == value


@pytest.mark.proves("S1-38", "S1-B14")
def test_leaving_cli_prompt_leaves_the_ask(monkeypatch, caplog):
    store = MemoryStore()
    ScriptedPerson(store).will_answer("Go on?", "yes").will_answer("Which?", "X")
    type_lines(monkeypatch)
    result = ask_once.run("go", cli_prompt(), store=store)
    assert [one["actor"] for one in result.history] == ["person:tester"] * 2
    assert "the handler raised EOFError" in caplog.text


@pytest.mark.proves("S1-38")
def test_names_that_are_numbers_are_names(monkeypatch):
    type_lines(monkeypatch, "3", "2")
    flow = Workflow("w", phases=[Phase("a", human=HumanInput("?", "choice", ["2", "1", "5"]), terminal=True)])  # fmt: skip
    assert flow.run("go", cli_prompt(), store=MemoryStore()).history[0]["value"] == "2"


# Programs


@pytest.mark.proves("S1-40", "PHASE-11")
@pytest.mark.parametrize("kind", [Script, AsyncScript])
def test_async_call_awaits_its_handler_in_its_own_loop(store, kind):
    loops = []

    class Here(kind):
        def choice(self, prompt, options, ask_id):
            if kind is AsyncScript:
                return self._later(prompt, options, ask_id)
            return super().choice(prompt, options, ask_id)

        async def _later(self, *given):
            loops.append(asyncio.get_running_loop())
            return await super().choice(*given)

    async def main():
        loops.append(asyncio.get_running_loop())
        return await ask_once.arun("go", Here(True, "Y"), store=store)

    result = asyncio.run(main())
    assert [one["value"] for one in result.history] == ["yes", "Y"]
    assert len(set(map(id, loops))) == 1 and len(loops) == (2 if kind is AsyncScript else 1)


@pytest.mark.proves("PHASE-11")
def test_cancelled_async_call_leaves_the_run_waiting(caplog):
    store, began = MemoryStore(), threading.Event()

    class Never(Script):
        async def approval(self, prompt, ask_id):
            began.set()
            await asyncio.Event().wait()

    async def main():
        task = asyncio.create_task(ask_once.arun("go", Never(), store=store))
        await asyncio.to_thread(began.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert store.runs.get(1).state == "waiting_human" and len(store.asks.pending(9)) == 1


@pytest.mark.proves("PHASE-11")
def test_run_does_not_hold_up_an_event_loop():
    async def main():
        with pytest.raises(UsageError, match="await arun"):
            ask_once.run("go", store=MemoryStore())

    asyncio.run(main())


@pytest.mark.proves("PHASE-11")
def test_agent_may_be_async(store):
    async def agent(state):
        await asyncio.sleep(0)
        return state.n

    flow = Workflow("w", {"n": 7}, phases=[Phase("a", agent=agent, terminal=True)])
    assert flow.run("go", store=MemoryStore()).output == 7


@pytest.mark.proves("PHASE-23", "S1-P2")
def test_workflow_without_result_raises_with_its_run():
    flow = Workflow("w", phases=[Phase("a", agent=broken, terminal=True)])
    with pytest.raises(
        UnfinishedError, match=r"run 1 is failed: StepFailedError.*gate resume 1"
    ) as error:
        flow.run("go", store=MemoryStore())
    assert (error.value.run_id, error.value.exit_code) == (1, 13)
    with pytest.raises(UnfinishedError, match=r"run 1 is stuck: a-... timed out"):
        ask_once.run("go", store=MemoryStore())

    async def main():
        await flow.arun("go", store=MemoryStore())

    with pytest.raises(UnfinishedError):
        asyncio.run(main())


@pytest.mark.proves("PHASE-23")
def test_workflow_that_a_program_cannot_run_is_refused(tmp_path, monkeypatch):
    path = str(tmp_path / "gate.db")
    inside = Workflow("inside", phases=[worker("a")])
    with pytest.raises(UsageError, match="at the top of a Python file"):
        inside.run("go", store=path)
    with pytest.raises(UsageError, match="the input of a workflow is a text"):
        inside.run({"goal": 1}, store=MemoryStore())
    monkeypatch.setitem(ask_once._module, "__name__", "_gate_flow_x")
    with pytest.raises(UsageError, match="runs it while it is being loaded"):
        ask_once.run("go", store=MemoryStore())


@pytest.mark.proves("PHASE-24")
def test_ctrl_c_leaves_a_waiting_run_as_it_is(caplog):
    store = MemoryStore()

    class Leaving(Script):
        def approval(self, prompt, ask_id):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask_once.run("go", Leaving(), store=store)
    assert store.runs.get(1).state == "waiting_human"
    assert "run 1 is left as it is: gate status 1" in caplog.text


@pytest.mark.proves("PHASE-24")
def test_run_of_a_program_is_found_by_its_file(store):
    result = ask_once.run("go", auto_approve(), store=store)
    run = manage_runs.get(store, result.run_id)
    assert (run.flow, run.source, bool(run.source_digest)) == ("ask_once", __file__, True)
    assert (run.branch, run.prompt) == ("", "go")


# Events


@pytest.mark.proves("S1-41", "S1-42", "S1-43", "S1-44", "S1-66", "S1-B21", "PHASE-25")
def test_observers_get_every_event_once_in_order(store):
    told = []
    result = checkpoint.run("x", Script(False, True), store=store, observer=told.append)
    assert [(one.name, one.phase) for one in told] == [
        ("workflow:started", ""),
        ("agent:completed", "planner"), ("input:requested", "planner"), ("input:received", "planner"),
        ("agent:completed", "planner"), ("input:requested", "planner"), ("input:received", "planner"),
        ("agent:completed", "execute"), ("workflow:ended", ""),
    ]  # fmt: skip
    first, second = (one.data["id"] for one in told if one.name == "input:received")
    assert first != second and told[2].data["id"] == first
    assert told[2].data["type"] == "approval" and told[3].data["approved"] is False
    assert told[3].data["actor"].startswith("person:") and told[3].data["at"]
    assert told[-1].data["result"]["state"] == {"goal": "x", "plan": ["build x"]}
    assert result.run_id == told[0].data["run"]


@pytest.mark.proves("PHASE-25", "S1-41")
def test_log_holds_each_event_once(house):
    house.go(checkpoint, "x")
    house.answer_and_drive("no")
    house.answer_and_drive("yes")
    told = [text.split(" {")[0] for _, text in house.said if text.startswith("phase: ")]
    assert told == [
        "phase: agent:completed planner ", "phase: input:requested planner", "phase: input:received planner",
        "phase: agent:completed planner ", "phase: input:requested planner", "phase: input:received planner",
        "phase: agent:completed execute ",
    ]  # fmt: skip


@pytest.mark.proves("PHASE-25")
def test_event_arrives_while_the_next_phase_works():
    told, seen = [], []
    flow = Workflow("w", phases=[
        Phase("a", agent=lambda _: 1, next="b"),
        Phase("b", agent=lambda _: seen.append([one.name for one in told]), terminal=True),
    ])  # fmt: skip
    flow.run("go", store=MemoryStore(), observer=told.append)
    assert seen == [["workflow:started", "agent:completed"]]


@pytest.mark.proves("PHASE-25")
def test_events_of_another_driver_arrive_too(house, monkeypatch):
    """Another process drives it, so the observer gets no call."""
    told = []
    monkeypatch.setattr("gatebell.app.runtime.build_driver", lambda *_: house.driver)
    house.flow, house.source = ask_once, read_flow_digest(__file__)
    drive = house.driver.drive

    def elsewhere(run, keeper):
        return threading.Thread(target=lambda: drive(run, keeper=keeper)).start() or run

    monkeypatch.setattr(house.driver, "drive", elsewhere)
    ScriptedPerson(house.store).will_answer("Go on?", "yes").will_answer("Which?", "X")
    ask_once.run("go", store=house.store, observer=told.append)
    assert [one.name for one in told] == [
        "workflow:started", *["input:requested", "input:received"] * 2, "workflow:ended",
    ]  # fmt: skip


@pytest.mark.proves("PHASE-25")
def test_failing_observer_changes_nothing(caplog):
    assert ask_once.run("go", auto_approve(), store=MemoryStore(), observer=broken).phase == "b"
    assert "the observer raised KeyError: 'x'" in caplog.text


@pytest.mark.proves("PHASE-26", "S1-P2")
def test_executing_gives_events_as_they_come(store):
    names = [one.name for one in article.execute("go", auto_approve(), store=store)]
    assert names == [
        "workflow:started", *["agent:completed", "input:requested", "input:received"] * 2,
        "agent:completed", "workflow:ended",
    ]  # fmt: skip
    with pytest.raises(UsageError):
        list(article.execute(3, store=store))


@pytest.mark.proves("PHASE-26")
def test_reader_that_stops_leaves_the_run_unchanged():
    store = MemoryStore()
    events = ask_once.execute("go", auto_approve(), store=store)
    assert next(events).name == "workflow:started"
    events.close()
    assert store.runs.get(1) is not None


@pytest.mark.proves("PHASE-26")
def test_executing_tells_when_the_program_itself_breaks(monkeypatch):
    def breaks(*_, **__):
        raise RuntimeError("no driver")

    store = MemoryStore()
    monkeypatch.setattr("gatebell.api.workflow_runner.WorkflowRun.start", breaks)
    with pytest.raises(RuntimeError, match="no driver"):
        list(ask_once.execute("go", store=store))

    async def main():
        await ask_once.arun("go", store=store)

    with pytest.raises(RuntimeError, match="no driver"):
        asyncio.run(main())


@pytest.mark.proves("S1-B9", "PHASE-10")
def test_every_example_in_the_docs_can_be_built(monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "phases.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 6
    for block in blocks:
        module = ModuleType("docs_phases")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        names = vars(module)
        exec(compile(block, "docs/phases.md", "exec", dont_inherit=True), names)
        made = [one for one in names.values() if isinstance(one, Workflow)]
        assert all(one.mermaid() for one in made)
