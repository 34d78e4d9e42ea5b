"""Phases: building, targets, visible state, and events."""

from __future__ import annotations

import copy
import enum
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

import pytest

from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.questions import make_question
from gatebell.domain.phases import diagrams
from gatebell.domain.phases.phases import (
    OURS,
    HumanInput,
    Phase,
    Response,
    State,
    leads,
    route,
)
from gatebell.domain.phases.records import (
    PhaseEvent,
    as_json,
    events,
    events_of,
    mark,
    response,
    response_json,
)
from gatebell.domain.phases.validation import check_phases
from gatebell.domain.runs.runs import FlowCall
from gatebell.errors import UsageError

AT = datetime(2026, 1, 1, tzinfo=UTC)
YES = HumanInput("Go on?", "approval")
WHICH = HumanInput("Which?", "choice", ["Fast", "Slow"])
END = Phase("end", agent="closer", terminal=True)


def build_response(value="yes", *, approved=True, is_other=False, phase="plan"):
    return Response(phase, "a-1", "approval", value, approved, "", is_other, "person:ada", AT)


def to_end(_state, _output) -> Literal["end"]:
    return "end"


def unreadable(_state, _output) -> Unknown:  # noqa: F821 - this annotation cannot be evaluated
    return "end"


def maybe(_state, _output) -> str | None:
    return "end"


@pytest.mark.proves("PHASE-3", "S1-24", "S1-14", "S1-B5")
def test_next_phase_comes_from_name_table_or_function():
    names = ["plan", "fast", "own", "end"]
    plain = State({})
    assert route(Phase("plan", next="end"), plain, None, names) == "end"
    by_output = Phase("plan", next=lambda _s, output: "fast" if output["sure"] else "end")
    assert route(by_output, plain, {"sure": True}, names) == "fast"
    table = Phase("plan", human=WHICH, next={"Fast": "fast"}, otherwise="own")
    chosen = State({}, response=build_response("Fast", approved=None))
    assert route(table, chosen, None, names) == "fast"
    for other in (
        build_response("Slow", approved=None),
        build_response("Fast", approved=None, is_other=True),
        None,
    ):
        assert route(table, State({}, response=other), None, names) == "own"


@pytest.mark.proves("PHASE-3", "S1-B5")
def test_unknown_next_phase_names_the_phase_and_the_answer():
    table = Phase("plan", human=WHICH, next={"Fast": "fast"})
    with pytest.raises(UsageError, match="phase 'plan' was answered 'Slow', and its table"):
        route(table, State({}, response=build_response("Slow")), None, ["plan"])
    with pytest.raises(UsageError, match="phase 'plan' asked no person, and its table"):
        route(table, State({}), None, ["plan"])
    with pytest.raises(UsageError, match="phase 'plan' leads to None, which does not exist"):
        route(Phase("plan", next=lambda _s, _o: None), State({}), None, ["plan"])


@pytest.mark.proves("PHASE-4", "S1-54", "S1-55", "S1-B2", "S1-B3", "S1-B4")
def test_functions_see_user_fields_and_answers():
    first, second = (
        build_response(phase="plan"),
        build_response("no", approved=False, phase="write"),
    )
    state = State({"plan": ["a"]}, (first, second), second)
    assert (state.plan, state.data) == (["a"], {"plan": ["a"]})
    assert (state.approved, state.human_response) == (False, second)
    assert [one.phase for one in state.history] == ["plan", "write"]
    assert state.answer_of("plan") is first and state.answer_of("publish") is None
    later = State({}, (first, second))
    assert (later.approved, later.human_response) == (None, None)
    with pytest.raises(AttributeError, match="the state has no 'plan'; it has nothing"):
        _ = later.plan
    assert copy.deepcopy(state).plan == ["a"]
    assert State(build_response()).value == "yes"


@pytest.mark.proves("PHASE-5")
def test_targets_are_read_from_annotation_or_code():
    names = ["plan", "fast", "end"]

    def choose(state, _output):
        def inner():
            return "fast" if state else "end"

        return inner()

    told = {lead.target: lead.certain for lead in leads(Phase("plan", next=choose), names)}
    assert told == {"fast": False, "end": False}
    assert [lead.certain for lead in leads(Phase("plan", next=to_end), names)] == [True]
    assert [lead.target for lead in leads(Phase("plan", next=unreadable), names)] == ["end"]
    assert [lead.target for lead in leads(Phase("plan", next=maybe), names)] == ["end"]
    assert leads(Phase("plan", next=max), names) == []
    assert leads(Phase("plan", next=""), names) == leads(Phase("plan"), names) == []
    table = Phase("plan", human=WHICH, next={"Fast": "fast"}, otherwise="end")
    assert leads(table, names) == [("fast", "Fast", True), ("end", "otherwise", True)]
    assert leads(Phase("plan", terminal=True), names) == []


@pytest.mark.proves("PHASE-4", "PHASE-16")
def test_names_of_ours_are_those_of_the_state():
    assert {*OURS} == {*vars(State({})), "answer_of"}


# Records


def an_ask(kind="approval", **settled):
    options = ("Fast", "Other…") if kind == "choice" else ()
    question = make_question(kind, "Go on?", options=options)
    return Ask("a-1", question, Origin(), AT, "digest")._replace(**settled)


def a_call(path, name, label="", **more):
    return FlowCall(1, path, name, label, "", AT, **more)


@pytest.mark.proves("PHASE-6", "S1-41", "S1-42", "S1-43", "S1-44", "S1-B21")
def test_journal_gives_events_in_their_order():
    settled = {
        "status": "answered", "decision": "rejected", "note": "too long",
        "settled_by": "person:ada", "settled_at": AT,
    }  # fmt: skip
    calls = [
        a_call("0", "setup"),
        a_call("0", "step", state="recorded", value="before any phase", ended_at=AT),
        a_call("1", "log", mark("plan"), state="recorded"),
        a_call("2", "step", state="recorded", value={"plan": 1}, ended_at=AT),
        a_call("2", "log", "I was here", state="recorded"),
        a_call("2", "step", state="failed", error={}, ended_at=AT),
        a_call("3", "pause", state="recorded", ask_id="a-1", ended_at=AT),
        a_call("4", "log", mark("each"), state="recorded"),
        a_call("5", "parallel", state="recorded", ended_at=AT, value=[{"$signal": {"status": "DONE", "value": 7}}, {"$plain": {"$x": 1}}, 3]),
        a_call("5.1.1", "run", state="recorded", value={"status": "DONE"}, ended_at=AT),
        a_call("6", "run", state="recorded", value={"status": "DONE", "summary": "ok"}, ended_at=AT),
        a_call("6", "run", state="recorded", value={"status": "DONE", "value": 8}, ended_at=AT),
        a_call("6", "pause", state="open"),
        a_call("7", "run", state="open"),
        a_call("8", "ask", state="waiting", ask_id="a-2"),
    ]  # fmt: skip
    told = events(calls, {"a-1": an_ask(**settled), "a-2": an_ask("choice")})
    assert [(one.name, one.phase) for one in told] == [
        ("agent:completed", "plan"), ("input:requested", "plan"), ("input:received", "plan"),
        ("agent:completed", "each"), ("agent:completed", "each"), ("agent:completed", "each"),
        ("input:requested", "each"),
    ]  # fmt: skip
    assert [one.data for one in told] == [
        {"output": {"plan": 1}},
        {"id": "a-1", "prompt": "Go on?", "type": "approval"},
        {
            "id": "a-1", "value": "no", "approved": False, "reason": "too long",
            "actor": "person:ada", "at": "2026-01-01T00:00:00.000000+00:00",
        },
        {"output": [7, {"$x": 1}, 3]},
        {"output": {"status": "DONE", "summary": "ok"}},
        {"output": 8},
        {"id": "a-1", "prompt": "Go on?", "type": "choice", "options": ["Fast", "Other…"]},
    ]  # fmt: skip
    assert [one.key for one in told[:3]] == [
        ("agent:completed", "2", ""), ("input:requested", "3", "a-1"), ("input:received", "3", "a-1"),
    ]  # fmt: skip
    # The start and the end of a run belong to no call.
    assert PhaseEvent("run:started", "", AT, {}).key == ("run:started", "", "")
    # Runs of every store hold this line.
    assert mark("plan") == "phase plan"


@pytest.mark.proves("PHASE-6", "S1-18", "S1-19", "S1-20", "S1-B6", "S1-B18")
def test_one_decision_has_one_meaning():
    assert response("plan", an_ask(decision="approved"))[3:5] == ("yes", True)
    assert response("plan", an_ask(decision="rejected"))[3:5] == ("no", False)
    chosen = response("plan", an_ask("choice", value="Fast"))
    assert (chosen.value, chosen.approved, chosen.is_other) == ("Fast", None, False)
    own = response("plan", an_ask("choice", value={"other": "by hand"}))
    assert (own.value, own.approved, own.is_other) == ("by hand", None, True)
    assert response_json(own)["at"] == "2026-01-01T00:00:00.000000+00:00"
    received = events_of("plan", a_call("1", "ask", state="recorded", ended_at=AT), an_ask("choice", value="Fast"))[1]  # fmt: skip
    assert "approved" not in received.data


class Colour(enum.Enum):
    RED = "red"


class Pair(NamedTuple):
    left: int
    right: tuple


@dataclass
class Whole:
    pair: Pair
    colours: set


class Model:
    def model_dump(self, mode):
        return {"mode": mode}


@pytest.mark.proves("PHASE-7")
def test_values_become_json():
    made = as_json({"whole": Whole(Pair(1, (2.5, None, True)), {Colour.RED}), 7: Model()})
    assert made == {
        "whole": {"pair": {"left": 1, "right": [2.5, None, True]}, "colours": ["red"]},
        "7": {"mode": "json"},
    }
    for odd in (object(), Whole):
        with pytest.raises(UsageError, match="cannot be written as JSON"):
            as_json(odd)


# Pictures


def many(count):
    phases = [
        Phase(f"p{number}", agent="coder" if number % 2 else len, human=WHICH if number % 3 == 0 else None,
              next={"Fast": f"p{number + 1}", "Slow": f"p{max(1, number - 5)}"} if number % 3 == 0 else f"p{number + 1}")
        for number in range(1, count)
    ]  # fmt: skip
    return check_phases([*phases, Phase(f"p{count}", agent="closer", terminal=True)])


@pytest.mark.proves("PHASE-8")
def test_workflow_of_fifty_phases_draws_itself():
    phases = many(50)
    edges = sum(2 if one.human else 1 for one in phases[:-1])
    text = diagrams.mermaid("fifty", phases)
    assert all(f'["p{number}<br/>' in text for number in range(1, 51)) and 'title: "fifty"' in text
    assert text.count(" --> ") + text.count(" -->|") == edges
    assert '  p50(["p50<br/>closer"])' in text


@pytest.mark.proves("PHASE-8", "LAW-8")
def test_picture_of_phases_escapes_markup():
    phases = check_phases([
        Phase('a"]<b>', agent="x", for_each=lambda _: [], human=lambda _s, _o: None, next=lambda _s, _o: "end"),
        Phase("b", agent=len, until=lambda _s, _o: True, human=HumanInput("Really? <script>", "approval"),
              next={"yes": "end", "no": 'a"]<b>'}),
        Phase("c", human=HumanInput(lambda _: "?", "choice", ["x", "y"]), next="c2"),
        Phase("c2", human=HumanInput("?", "choice", ["x", "y"]), next="end"),
        END,
    ])  # fmt: skip
    text = diagrams.mermaid("<t>", phases)
    assert 'title: "#60;t#62;"' in text
    assert "a#34;#93;#60;b#62;<br/>x, for each<br/>may ask a person" in text
    assert (
        "asks for an approval: Really? #60;script#62;" in text
        and "b<br/>Python, until it is done" in text
    )
    assert "p1 -.-> p5" in text and 'p2 -->|"no"| p1' in text
    assert '<br/>asks for a choice"' in text and "asks for a choice: ?" in text


@pytest.mark.proves("PHASE-8")
def test_picture_is_text_that_mermaid_draws():
    same_way = HumanInput("Which?", "choice", ["Fast", "Slow"])
    phases = check_phases([
        Phase("ask", human=same_way, next={"Fast": "write", "Slow": "write"}),
        Phase("write", agent="coder", until=lambda _s, _o: True, human=lambda _s, _o: None, next="~" + "x" * 80),
        Phase("~" + "x" * 80, agent="closer", terminal=True),
    ])  # fmt: skip
    assert diagrams.mermaid("Ship it", phases) == "\n".join([
        "---",
        'title: "Ship it"',
        "---",
        "flowchart TD",
        '  p1["ask<br/>asks for a choice: Which?"]',
        '  p2["write<br/>coder, until it is done<br/>may ask a person"]',
        f'  p3(["#126;{"x" * 78}…<br/>closer"])',
        '  p1 -->|"Fast, Slow"| p2',
        "  p2 --> p3",
    ])  # fmt: skip
