"""Valid phases, and the message for each fault of invalid ones."""

from __future__ import annotations

import functools
from typing import Literal

import pytest

from gatebell.domain.phases.phases import HumanInput, Phase, accepts
from gatebell.domain.phases.validation import MORE, check_phases, input_faults
from gatebell.errors import UsageError

YES = HumanInput("Go on?", "approval")
WHICH = HumanInput("Which?", "choice", ["Fast", "Slow"])
END = Phase("end", agent="closer", terminal=True)
NO_LIMIT = "has a wrong limit=: with for_each=, it is the number of items at once, 1 or more"


def to_end(_state, _output) -> Literal["end"]:
    return "end"


def to_itself(_state, _output) -> Literal["a"]:
    return "a"


async def is_late(state, _item=None):
    return state


@pytest.mark.proves("PHASE-1", "S1-B8", "S1-P6", "S1-27", "S1-28", "S1-B15", "S1-21")
@pytest.mark.parametrize(
    ("phases", "words"),
    [
        ([], "at least one phase"),
        (["plan"], "expected a list of Phase(…) for phases"),
        ([Phase(human=YES, next="end"), END], "phase 1 has no agent, so it needs a name="),
        ([Phase(agent=lambda _: 1, next="end"), END], "phase 1 needs a name= of its own: text, on one line"),
        ([Phase("a\nb", agent="x", next="end"), END], "phase 1 needs a name= of its own: text, on one line"),
        ([Phase(3, agent="x", next="end"), END], "phase 1 needs a name= of its own: text, on one line"),
        ([Phase("x" * 101, agent="x", next="end"), END], "more than 100 characters: shorten it"),
        ([END, END], "two phases have the name 'end': give one of them another name="),
        ([Phase("a", next="end"), END], "phase 'a' has neither an agent nor a human: give it one of them"),
        ([Phase("a", agent=3, next="end"), END], "neither a role's name nor a function: 3"),
        ([Phase("a", human=YES, prompt="x", next="end"), END], "has prompt= but no agent: give it an agent="),
        ([Phase("a", human=YES, returns=dict, next="end"), END], "has returns= but no agent: give it an agent="),
        ([Phase("a", human=YES, update=max, next="end"), END], "has update= but no agent: give it an agent="),
        ([Phase("a", human=YES, until=max, next="end"), END], "has until= but no agent: give it an agent="),
        ([Phase("a", human=YES, for_each=max, next="end"), END], "has for_each= but no agent: give it an agent="),
        ([Phase("a", agent=lambda _: 1, prompt="x", next="end"), END], "has a prompt=, but its agent is a function, which gets the state: remove prompt="),
        ([Phase("a", agent=lambda: 1, next="end"), END], "agent= that does not take (state)"),
        (
            [Phase("a", agent=lambda _: 1, for_each=lambda _: [], next="end"), END],
            "agent= that does not take (state, item)",
        ),
        ([Phase("a", agent="x", prompt=lambda: "", next="end"), END], "prompt= that does not take (state)"),
        ([Phase("a", agent="x", for_each=lambda: [1], next="end"), END], "for_each= that does not take (state)"),
        ([Phase("a", agent="x", update=is_late, next="end"), END], "an async update=: only an agent may be async, use a plain function"),
        ([Phase(agent=functools.partial(max), next="end"), END], "phase 1 needs a name= of its own: text, on one line"),
        ("plan", "expected a list for phases, got one text: use a list of texts"),
        (
            [Phase("a", human=HumanInput("?", "approval", more={"escalations": "ada"}), next="end"), END],
            "expected a list for escalations, got one text: use a list of texts",
        ),
        ([Phase("a", agent="x", next=to_itself), END], "phase 'a' cannot reach a terminal phase: let it lead to one"),
        ([Phase("a", agent="x", update=3, next="end"), END], "update= that is not a function: 3"),
        ([Phase("a", agent="x", dangerous=True, next="end"), END], "is dangerous, which is only for a function as the agent: remove dangerous="),
        ([Phase("a", human=YES, dangerous=True, next="end"), END], "is dangerous, which is only for a function as the agent: remove dangerous="),
        ([Phase("a", agent="x", limit=2, next="end"), END], NO_LIMIT),
        (
            [Phase("a", agent="x", for_each=lambda _: [], limit=0, next="end"), END],
            NO_LIMIT,
        ),
        ([Phase("a", human="yes?", next="end"), END], "neither HumanInput(…) nor a function: 'yes?'"),
        ([Phase("a", human=lambda: None, next="end"), END], "human= that does not take (state) or (state, output)"),
        (
            [Phase("a", human=HumanInput("Why?", "text"), next="end"), END],
            "phase 'a' asks for 'text': use 'approval' or 'choice'; for free text, use a choice with the option 'Other…'",
        ),
        ([Phase("a", human=HumanInput("Why?", "choice"), next="end"), END], "a choice needs options: give two or more"),
        ([Phase("a", human=HumanInput("?", "choice", ["", "x"]), next="end"), END], "or one is empty: write different options"),
        ([Phase("a", human=HumanInput("?", "choice", ["x", "x"]), next="end"), END], "two options are equal, or one is empty: write different options"),
        ([Phase("a", human=HumanInput("?", "choice", "xy"), next="end"), END], "expected a list for options, got one text: use a list of texts"),
        ([Phase("a", human=HumanInput("?", "choice", [1]), next="end"), END], "not a list of texts"),
        ([Phase("a", human=HumanInput(" ", "approval"), next="end"), END], "the question is empty: write one"),
        ([Phase("a", human=HumanInput(3, "approval"), next="end"), END], "has a prompt that is not a text, or options that are not a list of texts"),
        (
            [Phase("a", human=HumanInput("?", "approval", ["x"]), next="end"), END],
            "leave them out, or ask for a choice",
        ),
        (
            [Phase("a", human=HumanInput("?", "approval", lambda _: []), next="end"), END],
            "leave them out, or ask for a choice",
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
            f"has an unknown 'secret' in its question: use {', '.join(MORE)}",
        ),
        ([Phase("a", agent="x", next="end", terminal=True), END], "is terminal and has a next=: remove one of them"),
        ([Phase("a", agent="x", otherwise="a", terminal=True)], "is terminal and has a next=: remove one of them"),
        ([Phase("a", agent="x"), END], "phase 'a' has no next phase: give it next=, or terminal=True"),
        ([Phase("a", agent="x", next="end", otherwise="end"), END], "has otherwise=, which is only for a table: make next= a table, or remove otherwise="),
        ([Phase("a", agent="x", next=3), END], "not a phase's name, a table or a function: 3"),
        ([Phase("a", agent="x", next=lambda: "end"), END], "next= that does not take (state) or (state, output)"),
        ([Phase("a", agent="x", next="b"), END], "leads to 'b', which does not exist: use a, end"),
        (
            [Phase("a", human=YES, next={"yes": "end", "no": "b"}), END],
            "leads to 'b', which does not exist: use a, end",
        ),
        ([Phase("a", human=WHICH, next={"Fast": "end"}, otherwise="b"), END], "leads to 'b', which does not exist: use a, end"),
        ([Phase("a", agent="x", next=to_end), Phase("b", human=YES, terminal=True)], "leads to 'end', which does not exist: use a, b"),
        ([Phase("a", agent="x", next={"yes": "end"}), END], "has a table of answers as next=, but asks no person: give it human="),
        ([Phase("a", human=YES, next={"yes": "end", "maybe": "a"}), END], "which is not an answer: use yes, no"),
        ([Phase("a", human=YES, next={"yes": "end"}), END], "does not say where 'no' leads: list it in the table, or give otherwise="),
        ([Phase("a", human=WHICH, next={"Fast": "end"}), END], "does not say where 'Slow' leads: list it in the table, or give otherwise="),
        (
            [Phase("a", human=HumanInput("?", "choice", ["X", "Other…"]), next={"X": "end"}), END],
            "does not say where 'Other…' leads: list it in the table, or give otherwise=",
        ),
        ([Phase("a", agent="x", next="a")], "no phase is terminal, so the workflow would never end: give one terminal=True"),
        (
            [Phase("a", agent="x", next="b"), Phase("b", agent="y", next="a"), END],
            "phase 'a' cannot reach a terminal phase: let it lead to one",
        ),
    ],
)  # fmt: skip
def test_invalid_phase_is_refused_when_built(phases, words):
    with pytest.raises(UsageError) as refused:
        check_phases(phases)
    assert str(refused.value).endswith(words)


@pytest.mark.proves("PHASE-1", "S1-21", "S1-25", "S1-49", "S1-22")
def test_valid_phase_gets_its_names():
    def planner(state):
        return state

    made = check_phases([
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
def test_first_fault_of_a_question_is_enough():
    assert len(list(input_faults(HumanInput("Why?", "text", [3])))) == 1
    assert len(list(input_faults(HumanInput("Why?", "choice", {3}, {"secret": True})))) == 1
    assert len(list(input_faults(HumanInput("Why?", "choice", [3], {"secret": True})))) == 1


@pytest.mark.proves("PHASE-2")
def test_built_in_functions_are_believed():
    assert accepts(max, 7) is True and accepts(len, 2) is False


@pytest.mark.proves("PHASE-1", "PHASE-2")
@pytest.mark.parametrize(
    "phase",
    [
        Phase("x" * 100, agent="x", next="end"),
        Phase("a", agent=lambda state, _item: state, for_each=lambda _: [], limit=1, next="end"),
        Phase("a", agent=is_late, next="end"),
        # Its target is known only after running it.
        Phase("a", agent="x", next=lambda state, _output: state.way),
    ],
)
def test_phase_at_its_limits_is_taken(phase):
    assert check_phases([phase, END]) == (phase, END)


@pytest.mark.proves("PHASE-10")
@pytest.mark.parametrize(
    "name",
    [
        *("context", "activity", "priority", "confidence", "requirement", "timeout"),
        *("hard", "remind_every", "escalations"),
    ],
)
def test_question_of_a_phase_has_the_fields_of_asks(name):
    value = () if name == "escalations" else 60
    assert list(input_faults(HumanInput("Go on?", "approval", more={name: value}))) == []


@pytest.mark.proves("PHASE-1")
def test_extra_fields_must_be_a_dict():
    (fault,) = input_faults(HumanInput("Q?", "approval", more=None))
    assert "not a dict: None" in fault
