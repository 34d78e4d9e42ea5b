"""Checks of a workflow: its phases, their questions, and the next phases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.ask_options import KNOWN, read_options
from gatebell.domain.asks.questions import make_question
from gatebell.domain.enums import AskKind
from gatebell.domain.lists import as_list
from gatebell.domain.phases.phases import (
    HumanInput,
    Phase,
    accepts,
    describe_phase,
    leads,
    list_declared,
)
from gatebell.domain.text.options import suggest_option
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TYPES = (AskKind.APPROVAL, AskKind.CHOICE)
MORE = tuple(name for name in KNOWN if name not in ("attachments", "default", "secret", "owner"))
"""The options that the ask of a phase takes."""

_MAX_NAME_LENGTH = 100
_NEEDS_AGENT = ("prompt", "returns", "update", "until", "for_each")
_YES_NO = ("yes", "no")


def check_phases(phases: Sequence[Phase]) -> tuple[Phase, ...]:
    """Return the phases with their names, or raise a UsageError about the first fault."""
    given = as_list(phases, "phases")
    if not given:
        raise UsageError("a workflow needs at least one phase")
    if not all(isinstance(one, Phase) for one in given):
        raise UsageError("expected a list of Phase(…) for phases")
    made = tuple(_add_name(number, one) for number, one in enumerate(given, 1))
    names = [one.name for one in made]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two phases have the name {name!r}: give one of them another name=")
    for one in made:
        for why in _list_faults(one, names):
            raise UsageError(f"{describe_phase(one.name)} {why}")
    _must_come_to_an_end(made)
    _must_be_reached(made)
    return made


def _add_name(number: int, phase: Phase) -> Phase:
    name = phase.name
    if not name and phase.agent is None:
        raise UsageError(f"phase {number} has no agent, so it needs a name=")
    if not name:
        name = phase.agent if isinstance(phase.agent, str) else _find_name(phase.agent)
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise UsageError(f"phase {number} needs a name= of its own: text, on one line")
    if len(name) > _MAX_NAME_LENGTH:
        raise UsageError(
            f"the name of phase {number} has more than {_MAX_NAME_LENGTH} characters: shorten it"
        )
    return phase._replace(name=name)


def _find_name(work: Any) -> str:
    name = getattr(work, "__name__", "")
    return "" if name == "<lambda>" else name


def _list_faults(phase: Phase, names: Sequence[str]) -> Iterator[str]:
    """Yield the faults of one phase, as ends of sentences."""
    agent: Any = phase.agent
    human = phase.human
    if agent is None and human is None:
        yield "has neither an agent nor a human: give it one of them"
    if agent is not None and not isinstance(agent, str) and not callable(agent):
        yield f"has an agent that is neither a role's name nor a function: {agent!r}"
    for field in _NEEDS_AGENT:
        if agent is None and getattr(phase, field):
            yield f"has {field}= but no agent: give it an agent="
    if callable(agent) and phase.prompt:
        yield "has a prompt=, but its agent is a function, which gets the state: remove prompt="
    if phase.dangerous and (agent is None or isinstance(agent, str)):
        yield "is dangerous, which is only for a function as the agent: remove dangerous="
    items = 2 if phase.for_each else 1
    yield from _check_callable("agent", agent if callable(agent) else None, items)
    yield from _check_callable("prompt", phase.prompt if callable(phase.prompt) else None, items)
    yield from _check_callable("for_each", phase.for_each, 1)
    for field in ("update", "until"):
        yield from _check_callable(field, getattr(phase, field), 2)
    if phase.limit is not None and (not phase.for_each or phase.limit < 1):
        yield "has a wrong limit=: with for_each=, it is the number of items at once, 1 or more"
    yield from _list_human_faults(human)
    yield from _list_next_faults(phase, names)


def _check_callable(field: str, work: Any, *takes: int) -> Iterator[str]:
    if work is None:
        return
    second = "item" if field in ("agent", "prompt") else "output"
    words = " or ".join("(state)" if count == 1 else f"(state, {second})" for count in takes)
    if not callable(work):
        yield f"has {field}= that is not a function: {work!r}"
    elif not any(accepts(work, count) for count in takes):
        yield f"has {field}= that does not take {words}"
    elif field != "agent" and _is_async(work):
        yield f"has an async {field}=: only an agent may be async, use a plain function"


def _is_async(work: Any) -> bool:
    # Imported here: other parts of the domain do not need it.
    import inspect

    return inspect.iscoroutinefunction(work)


def _list_human_faults(human: Any) -> Iterator[str]:
    if human is None:
        return
    if not isinstance(human, HumanInput):
        if callable(human):
            yield from _check_callable("human", human, 1, 2)
        else:
            yield f"has a human= that is neither HumanInput(…) nor a function: {human!r}"
        return
    yield from input_faults(human)


def input_faults(human: HumanInput) -> Iterator[str]:
    """Yield the faults of a question that are known before it is asked."""
    prompt, options = human.prompt, human.options
    if human.type not in TYPES:
        yield (
            f"asks for '{human.type}': use 'approval' or 'choice'; for free text, use a choice "
            "with the option 'Other…'"
        )
        return
    if callable(prompt):
        yield from _check_callable("human's prompt", prompt, 1)
        prompt = "asked later"
    if callable(options):
        yield from _check_callable("human's options", options, 1)
        # Placeholders: an approval must not have options, even later ones.
        options = ("made later", "made later, too")
    try:
        offered = as_list(options, "options")
    except UsageError as error:
        yield f"has a question that is not valid: {error}"
        return
    if not all(isinstance(text, str) for text in (prompt, *offered)):
        yield "has a prompt that is not a text, or options that are not a list of texts"
        return
    if not isinstance(human.more, dict):
        yield f"has a more= in its question that is not a dict: {human.more!r}"
        return
    unknown = [name for name in human.more if name not in MORE]
    if unknown:
        near = suggest_option(unknown[0], MORE) or f": use {', '.join(MORE)}"
        yield f"has an unknown {unknown[0]!r} in its question{near}"
    else:
        try:
            make_question(human.type, prompt, options=offered)
            read_options("a phase", human.more)
        except (UsageError, TypeError) as error:
            yield f"has a question that is not valid: {error}"


def _list_next_faults(phase: Phase, names: Sequence[str]) -> Iterator[str]:
    way: Any = phase.next
    if phase.terminal:
        if way is not None or phase.otherwise:
            yield "is terminal and has a next=: remove one of them"
        return
    if not way:
        yield "has no next phase: give it next=, or terminal=True"
    if phase.otherwise and not isinstance(way, dict):
        yield "has otherwise=, which is only for a table: make next= a table, or remove otherwise="
    if isinstance(way, dict):
        yield from _list_table_faults(phase, way)
    elif callable(way):
        yield from _check_callable("next", way, 1, 2)
    elif way and not isinstance(way, str):
        yield f"has a next= that is not a phase's name, a table or a function: {way!r}"
    for lead in leads(phase, names):
        if lead.target not in names:
            yield f"leads to {lead.target!r}, which does not exist: use {', '.join(names)}"


def _list_table_faults(phase: Phase, table: dict[str, str]) -> Iterator[str]:
    if phase.human is None:
        yield "has a table of answers as next=, but asks no person: give it human="
    human, other = phase.human, False
    if not isinstance(human, HumanInput) or callable(options := human.options):
        return
    expected: tuple[str, ...] = _YES_NO
    if human.type == AskKind.CHOICE:
        question = make_question(AskKind.CHOICE, "asked later", options=tuple(options))
        expected, other = question.options, question.other
    for answer in table:
        if answer not in expected:
            yield f"has {answer!r} in its table, which is not an answer: use {', '.join(expected)}"
    missing = [answer for answer in expected if answer not in table]
    if (missing or other) and not phase.otherwise:
        what = repr(missing[0]) if missing else "'Other…'"
        yield f"does not say where {what} leads: list it in the table, or give otherwise="


def _must_come_to_an_end(phases: Sequence[Phase]) -> None:
    names = [one.name for one in phases]
    # The result of a function is known only when it runs.
    ends = {one.name for one in phases if one.terminal or _is_open(one)}
    if not any(one.terminal for one in phases):
        raise UsageError(
            "no phase is terminal, so the workflow would never end: give one terminal=True"
        )
    while more := {
        one.name
        for one in phases
        if one.name not in ends and any(lead.target in ends for lead in leads(one, names))
    }:
        ends |= more
    lost = [name for name in names if name not in ends]
    if lost:
        raise UsageError(
            f"{describe_phase(lost[0])} cannot reach a terminal phase: let it lead to one"
        )


def _must_be_reached(phases: Sequence[Phase]) -> None:
    """Refuse phases that cannot be reached, unless a function decides on the way."""
    by_name = {one.name: one for one in phases}
    reached, new = set[str](), {phases[0].name}
    while new:
        reached |= new
        if any(_is_open(by_name[name]) for name in new):
            return
        targets = {lead.target for name in new for lead in leads(by_name[name], list(by_name))}
        new = targets - reached
    if lost := [one.name for one in phases if one.name not in reached]:
        raise UsageError(
            f"{describe_phase(lost[0])} is never reached: let another phase lead to it, or remove it"
        )


def _is_open(phase: Phase) -> bool:
    return callable(phase.next) and not list_declared(phase.next)
