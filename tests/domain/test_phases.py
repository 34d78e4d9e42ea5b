"""Phases: what may be built, where it leads, what its functions see, and what is told of it."""

from __future__ import annotations

import copy
import enum
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

import pytest

from gatebell.domain.asks.asks import Ask, Origin, make_question
from gatebell.domain.phases import diagrams
from gatebell.domain.phases.phases import (
    HumanInput,
    Phase,
    Response,
    State,
    accepts,
    leads,
    route,
)
from gatebell.domain.phases.records import (
    as_json,
    events,
    events_of,
    mark,
    response,
    response_json,
)
from gatebell.domain.phases.validation import checked, input_faults
from gatebell.domain.runs.runs import FlowCall
from gatebell.errors import UsageError

AT = datetime(2026, 1, 1, tzinfo=UTC)
YES = HumanInput("Go on?", "approval")
WHICH = HumanInput("Which?", "choice", ["Fast", "Slow"])
END = Phase("end", agent="closer", terminal=True)


def answered(value="yes", *, approved=True, is_other=False, phase="plan"):
    return Response(phase, "a-1", "approval", value, approved, "", is_other, "person:ada", AT)


def to_end(_state, _output) -> Literal["end"]:
    return "end"


def unreadable(_state, _output) -> Unknown:  # noqa: F821 - nobody can read this annotation
    return "end"


@pytest.mark.proves("PHASE-1", "S1-B8", "S1-P6", "S1-27", "S1-28", "S1-B15", "S1-21")
@pytest.mark.parametrize(
    ("phases", "words"),
    [
        ([], "at least one phase"),
        (["plan"], "a list of Phase"),
        ([Phase(human=YES, next="end"), END], "phase 1 has no agent, so it needs a name"),
        ([Phase(agent=lambda _: 1, next="end"), END], "phase 1 needs a name= of its own"),
        ([Phase("a\nb", agent="x", next="end"), END], "phase 1 needs a name= of its own"),
        ([Phase(3, agent="x", next="end"), END], "phase 1 needs a name= of its own"),
        ([Phase("x" * 101, agent="x", next="end"), END], "longer than 100"),
        ([END, END], "two phases are called 'end'"),
        ([Phase("a", next="end"), END], "phase 'a' has neither an agent nor a human"),
        ([Phase("a", agent=3, next="end"), END], "neither a role's name nor a function: 3"),
        ([Phase("a", human=YES, prompt="x", next="end"), END], "has prompt= and no agent"),
        ([Phase("a", human=YES, returns=dict, next="end"), END], "has returns= and no agent"),
        ([Phase("a", human=YES, update=max, next="end"), END], "has update= and no agent"),
        ([Phase("a", human=YES, until=max, next="end"), END], "has until= and no agent"),
        ([Phase("a", human=YES, for_each=max, next="end"), END], "has for_each= and no agent"),
        ([Phase("a", agent=lambda _: 1, prompt="x", next="end"), END], "which gets the state"),
        ([Phase("a", agent=lambda: 1, next="end"), END], "agent= that does not take (state)"),
        (
            [Phase("a", agent=lambda _: 1, for_each=lambda _: [], next="end"), END],
            "agent= that does not take (state, …), two things",
        ),
        ([Phase("a", agent="x", prompt=lambda: "", next="end"), END], "prompt= that does not take"),
        ([Phase("a", agent="x", update=3, next="end"), END], "update= that is no function: 3"),
        ([Phase("a", agent="x", dangerous=True, next="end"), END], "is dangerous, which only"),
        ([Phase("a", human=YES, dangerous=True, next="end"), END], "is dangerous, which only"),
        ([Phase("a", agent="x", limit=2, next="end"), END], "has a limit="),
        (
            [Phase("a", agent="x", for_each=lambda _: [], limit=0, next="end"), END],
            "has a limit=",
        ),
        ([Phase("a", human="yes?", next="end"), END], "neither HumanInput(…) nor a function"),
        ([Phase("a", human=lambda _: None, next="end"), END], "human= that does not take"),
        (
            [Phase("a", human=HumanInput("Why?", "text"), next="end"), END],
            "phase 'a' asks for 'text': it is 'approval' or 'choice', and free text is a choice",
        ),
        ([Phase("a", human=HumanInput("Why?", "choice"), next="end"), END], "needs options"),
        ([Phase("a", human=HumanInput("?", "choice", ["", "x"]), next="end"), END], "none may be empty"),
        ([Phase("a", human=HumanInput("?", "choice", ["x", "x"]), next="end"), END], "must differ"),
        ([Phase("a", human=HumanInput("?", "choice", "xy"), next="end"), END], "got one text"),
        ([Phase("a", human=HumanInput("?", "choice", [1]), next="end"), END], "no list of texts"),
        ([Phase("a", human=HumanInput(" ", "approval"), next="end"), END], "needs a question"),
        ([Phase("a", human=HumanInput(3, "approval"), next="end"), END], "is no text"),
        (
            [Phase("a", human=HumanInput("?", "approval", ["x"]), next="end"), END],
            "no other kind has them",
        ),
        (
            [Phase("a", human=HumanInput("?", "approval", lambda _: []), next="end"), END],
            "no other kind has them",
        ),
        (
            [Phase("a", human=HumanInput(lambda: "?", "approval"), next="end"), END],
            "human's prompt= that does not take (state)",
        ),
        (
            [Phase("a", human=HumanInput("?", "choice", lambda: ["x"]), next="end"), END],
            "human's options= that does not take (state)",
        ),
        (
            [Phase("a", human=HumanInput("?", "approval", more={"secret": 1}), next="end"), END],
            "has 'secret' in its question",
        ),
        ([Phase("a", agent="x", next="end", terminal=True), END], "is terminal and has a next="),
        ([Phase("a", agent="x", otherwise="a", terminal=True)], "is terminal and has a next="),
        ([Phase("a", agent="x"), END], "phase 'a' leads nowhere: give it next=, or terminal=True"),
        ([Phase("a", agent="x", next="end", otherwise="end"), END], "which belongs to a next="),
        ([Phase("a", agent="x", next=3), END], "no phase's name, table or function: 3"),
        ([Phase("a", agent="x", next=lambda _: "end"), END], "next= that does not take"),
        ([Phase("a", agent="x", next="b"), END], "leads to 'b', and there is no such phase: a, end"),
        (
            [Phase("a", human=YES, next={"yes": "end", "no": "b"}), END],
            "leads to 'b', and there is no such phase",
        ),
        ([Phase("a", human=WHICH, next={"Fast": "end"}, otherwise="b"), END], "leads to 'b'"),
        ([Phase("a", agent="x", next=to_end), Phase("b", human=YES, terminal=True)], "leads to 'end'"),
        ([Phase("a", agent="x", next={"yes": "end"}), END], "and asks nobody"),
        ([Phase("a", human=YES, next={"yes": "end", "maybe": "a"}), END], "which nobody can answer: yes, no"),
        ([Phase("a", human=YES, next={"yes": "end"}), END], "does not say where 'no' leads"),
        ([Phase("a", human=WHICH, next={"Fast": "end"}), END], "does not say where 'Slow' leads"),
        (
            [Phase("a", human=HumanInput("?", "choice", ["X", "Other…"]), next={"X": "end"}), END],
            "does not say where 'Other…' leads",
        ),
        ([Phase("a", agent="x", next="a")], "no phase is terminal"),
        (
            [Phase("a", agent="x", next="b"), Phase("b", agent="y", next="a"), END],
            "phase 'a' has no way out",
        ),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_when_it_is_built(phases, words):
    with pytest.raises(UsageError) as refused:
        checked(phases)
    assert words in str(refused.value)


@pytest.mark.proves("PHASE-1", "S1-21", "S1-25", "S1-49", "S1-22")
def test_what_can_work_gets_its_names():
    def planner(state):
        return state

    made = checked([
        Phase(agent=planner, next="coder"),
        Phase(agent="coder", prompt=lambda _: "go", human=lambda _s, _o: None, next="ask"),
        Phase("ask", human=HumanInput("?", "choice", lambda _: ["x"]), next={"x": "each"}),
        Phase("each", agent="x", for_each=lambda _: [1], limit=2, next=lambda _s, _o: "route"),
        Phase("route", human=WHICH, next={"Fast": "end", "Slow": "planner"}),
        Phase("own", agent=max, human=HumanInput("?", "choice", ["X", "Other…"]), next={"X": "end"}, otherwise="end"),
        END,
    ])  # fmt: skip
    assert [one.name for one in made] == ["planner", "coder", "ask", "each", "route", "own", "end"]


@pytest.mark.proves("PHASE-1")
def test_of_a_question_that_makes_no_sense_the_first_reason_is_enough():
    assert len(list(input_faults(HumanInput("Why?", "text", [3])))) == 1
    assert len(list(input_faults(HumanInput("Why?", "choice", {3}, {"secret": True})))) == 1
    assert len(list(input_faults(HumanInput("Why?", "choice", [3], {"secret": True})))) == 1


@pytest.mark.proves("PHASE-2")
def test_built_in_functions_that_tell_nothing_of_themselves_are_believed():
    assert accepts(max, 7) and not accepts(len, 2)


@pytest.mark.proves("PHASE-3", "S1-24", "S1-14", "S1-B5")
def test_the_way_goes_by_name_by_table_or_by_function():
    names = ["plan", "fast", "own", "end"]
    plain = State({})
    assert route(Phase("plan", next="end"), plain, None, names) == "end"
    by_output = Phase("plan", next=lambda _s, output: "fast" if output["sure"] else "end")
    assert route(by_output, plain, {"sure": True}, names) == "fast"
    table = Phase("plan", human=WHICH, next={"Fast": "fast"}, otherwise="own")
    chosen = State({}, response=answered("Fast", approved=None))
    assert route(table, chosen, None, names) == "fast"
    for other in (
        answered("Slow", approved=None),
        answered("Fast", approved=None, is_other=True),
        None,
    ):
        assert route(table, State({}, response=other), None, names) == "own"


@pytest.mark.proves("PHASE-3", "S1-B5")
def test_a_way_to_nowhere_names_the_phase_and_what_was_answered():
    table = Phase("plan", human=WHICH, next={"Fast": "fast"})
    with pytest.raises(UsageError, match="phase 'plan' was answered 'Slow', and its table"):
        route(table, State({}, response=answered("Slow")), None, ["plan"])
    with pytest.raises(UsageError, match="phase 'plan' asked nobody, and its table"):
        route(table, State({}), None, ["plan"])
    with pytest.raises(UsageError, match="phase 'plan' leads to None, and there is no such phase"):
        route(Phase("plan", next=lambda _s, _o: None), State({}), None, ["plan"])


@pytest.mark.proves("PHASE-4", "S1-54", "S1-55", "S1-B2", "S1-B3", "S1-B4")
def test_functions_see_the_users_fields_and_what_people_answered():
    first, second = answered(phase="plan"), answered("no", approved=False, phase="write")
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
    assert State(answered()).value == "yes"


@pytest.mark.proves("PHASE-5")
def test_where_a_function_leads_is_read_from_its_annotation_or_its_code():
    names = ["plan", "fast", "end"]

    def nested(state, _output):
        def inner():
            return "fast" if state else "end"

        return inner()

    told = {lead.target: lead.certain for lead in leads(Phase("plan", next=nested), names)}
    assert told == {"fast": False, "end": False}
    assert [lead.certain for lead in leads(Phase("plan", next=to_end), names)] == [True]
    assert [lead.target for lead in leads(Phase("plan", next=unreadable), names)] == ["end"]
    assert leads(Phase("plan", next=max), names) == []
    assert leads(Phase("plan", terminal=True), names) == []


# Records


def an_ask(kind="approval", **settled):
    options = ("Fast", "Other…") if kind == "choice" else ()
    question = make_question(kind, "Go on?", options=options)
    return Ask("a-1", question, Origin(), AT, "digest")._replace(**settled)


def a_call(path, name, label="", **more):
    return FlowCall(1, path, name, label, "", AT, **more)


@pytest.mark.proves("PHASE-6", "S1-41", "S1-42", "S1-43", "S1-44", "S1-B21")
def test_the_journal_tells_events_in_their_order():
    settled = {
        "status": "answered", "decision": "rejected", "note": "too long",
        "settled_by": "person:ada", "settled_at": AT,
    }  # fmt: skip
    calls = [
        a_call("0", "setup"),
        a_call("1", "log", mark("plan"), state="recorded"),
        a_call("2", "step", state="recorded", value={"plan": 1}, ended_at=AT),
        a_call("3", "pause", state="recorded", ask_id="a-1", ended_at=AT),
        a_call("4", "log", mark("each"), state="recorded"),
        a_call("5", "parallel", state="recorded", ended_at=AT, value=[{"$signal": {"status": "DONE", "value": 7}}, {"$plain": {"$x": 1}}, 3]),
        a_call("5.1.1", "run", state="recorded", value={"status": "DONE"}, ended_at=AT),
        a_call("6", "run", state="recorded", value={"status": "DONE", "summary": "ok"}, ended_at=AT),
        a_call("7", "run", state="open"),
        a_call("8", "ask", state="waiting", ask_id="a-2"),
    ]  # fmt: skip
    told = events(calls, {"a-1": an_ask(**settled), "a-2": an_ask("choice")})
    assert [(one.name, one.phase) for one in told] == [
        ("agent:completed", "plan"), ("input:requested", "plan"), ("input:received", "plan"),
        ("agent:completed", "each"), ("agent:completed", "each"), ("input:requested", "each"),
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
        {"id": "a-1", "prompt": "Go on?", "type": "choice", "options": ["Fast", "Other…"]},
    ]  # fmt: skip
    assert len({one.key for one in told}) == len(told)


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
        with pytest.raises(UsageError, match="JSON has no word for"):
            as_json(odd)


# Pictures


def many(count):
    phases = [
        Phase(f"p{number}", agent="coder" if number % 2 else len, human=WHICH if number % 3 == 0 else None,
              next={"Fast": f"p{number + 1}", "Slow": f"p{max(1, number - 5)}"} if number % 3 == 0 else f"p{number + 1}")
        for number in range(1, count)
    ]  # fmt: skip
    return checked([*phases, Phase(f"p{count}", agent="closer", terminal=True)])


@pytest.mark.proves("PHASE-8")
def test_a_workflow_of_fifty_phases_draws_itself():
    phases = many(50)
    edges = sum(2 if one.human else 1 for one in phases[:-1])
    text = diagrams.mermaid("fifty", phases)
    assert all(f'["p{number}<br/>' in text for number in range(1, 51)) and 'title: "fifty"' in text
    assert text.count(" --> ") + text.count(" -->|") == edges
    assert '  p50(["p50<br/>closer"])' in text


@pytest.mark.proves("PHASE-8", "LAW-8")
def test_a_picture_tells_what_happens_and_nothing_in_it_is_markup():
    phases = checked([
        Phase('a"]<b>', agent="x", for_each=lambda _: [], human=lambda _s, _o: None, next=lambda _s, _o: "end"),
        Phase("b", agent=len, until=lambda _s, _o: True, human=HumanInput("Really? <script>", "approval"),
              next={"yes": "end", "no": 'a"]<b>'}),
        Phase("c", human=HumanInput(lambda _: "?", "choice", ["x"]), next="c2"),
        Phase("c2", human=HumanInput("?", "choice", ["x"]), next="end"),
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


@pytest.mark.proves("PHASE-1")
def test_what_is_no_dict_is_the_only_fault_that_is_told_of_it():
    (fault,) = input_faults(HumanInput("Q?", "approval", more=None))
    assert "no dict: None" in fault
