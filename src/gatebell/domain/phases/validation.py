"""What can be wrong with a workflow: with one of its phases, its questions, or the ways on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import make_question
from gatebell.domain.asks.deadlines import make_escalations
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
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TYPES = (AskKind.APPROVAL, AskKind.CHOICE)
MORE = (
    *("context", "activity", "priority", "confidence", "requirement", "expires_seconds"),
    *("hard", "remind_every_seconds", "escalations"),
)
"""What the ask of a phase may carry beside its question."""

_MAX_NAME_LENGTH = 100
_NEEDS_AGENT = ("prompt", "returns", "update", "until", "for_each")
_YES_NO = ("yes", "no")


def check_phases(phases: Sequence[Phase]) -> tuple[Phase, ...]:
    """The phases with their names, or a UsageError that says which one makes no sense and why."""
    given = as_list(phases, "phases")
    if not given:
        raise UsageError("a workflow needs at least one phase")
    if not all(isinstance(one, Phase) for one in given):
        raise UsageError("phases are a list of Phase(…)")
    made = tuple(_with_name(number, one) for number, one in enumerate(given, 1))
    names = [one.name for one in made]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two phases are called {name!r}: give one of them another name=")
    for one in made:
        for why in _faults(one, names):
            raise UsageError(f"{describe_phase(one.name)} {why}")
    _must_come_to_an_end(made)
    _must_be_reached(made)
    return made


def _with_name(number: int, phase: Phase) -> Phase:
    name = phase.name
    if not name and phase.agent is None:
        raise UsageError(f"phase {number} has no agent, so it needs a name=")
    if not name:
        name = phase.agent if isinstance(phase.agent, str) else _name_of(phase.agent)
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise UsageError(f"phase {number} needs a name= of its own: text, on one line")
    if len(name) > _MAX_NAME_LENGTH:
        raise UsageError(f"the name of phase {number} is longer than {_MAX_NAME_LENGTH} characters")
    return phase._replace(name=name)


def _name_of(work: Any) -> str:
    name = getattr(work, "__name__", "")
    return "" if name == "<lambda>" else name


def _faults(phase: Phase, names: Sequence[str]) -> Iterator[str]:
    """What is wrong with one phase, as ends of sentences."""
    agent: Any = phase.agent
    human = phase.human
    if agent is None and human is None:
        yield "has neither an agent nor a human: give it one of them"
    if agent is not None and not isinstance(agent, str) and not callable(agent):
        yield f"has an agent that is neither a role's name nor a function: {agent!r}"
    for field in _NEEDS_AGENT:
        if agent is None and getattr(phase, field):
            yield f"has {field}= and no agent for it"
    if callable(agent) and phase.prompt:
        yield "has a prompt=, but its agent is a function, which gets the state"
    if phase.dangerous and (agent is None or isinstance(agent, str)):
        yield "is dangerous, which only a function in the place of an agent can be"
    items = 2 if phase.for_each else 1
    yield from _uncallable("agent", agent if callable(agent) else None, items)
    yield from _uncallable("prompt", phase.prompt if callable(phase.prompt) else None, items)
    yield from _uncallable("for_each", phase.for_each, 1)
    for field in ("update", "until"):
        yield from _uncallable(field, getattr(phase, field), 2)
    if phase.limit is not None and (not phase.for_each or phase.limit < 1):
        yield "has a limit=: that is how many items of for_each= are worked on at once, 1 or more"
    yield from _human_faults(human)
    yield from _next_faults(phase, names)


def _uncallable(field: str, work: Any, takes: int) -> Iterator[str]:
    if work is None:
        return
    words = "(state)" if takes == 1 else "(state, …), two things"
    if not callable(work):
        yield f"has {field}= that is no function: {work!r}"
    elif not accepts(work, takes):
        yield f"has {field}= that does not take {words}"
    elif field != "agent" and _is_async(work):
        yield f"has {field}= that is async: only an agent may be, the others are pure and quick"


def _is_async(work: Any) -> bool:
    # Imported here: the rules of other nouns do without it.
    import inspect

    return inspect.iscoroutinefunction(work)


def _human_faults(human: Any) -> Iterator[str]:
    if human is None:
        return
    if not isinstance(human, HumanInput):
        if callable(human):
            yield from _uncallable("human", human, 2)
        else:
            yield f"has a human= that is neither HumanInput(…) nor a function: {human!r}"
        return
    yield from input_faults(human)


def input_faults(human: HumanInput) -> Iterator[str]:
    """What is wrong with a question, as far as it can be told before it is asked."""
    prompt, options = human.prompt, human.options
    if human.type not in TYPES:
        yield (
            f"asks for '{human.type}': it is 'approval' or 'choice', and free text is a choice "
            "with the option 'Other…'"
        )
        return
    if callable(prompt):
        yield from _uncallable("human's prompt", prompt, 1)
        prompt = "asked later"
    if callable(options):
        yield from _uncallable("human's options", options, 1)
        # Whatever they will be, an approval has none.
        options = ("made later", "made later, too")
    try:
        offered = as_list(options, "options")
    except UsageError as error:
        yield f"asks what cannot be asked: {error}"
        return
    if not all(isinstance(text, str) for text in (prompt, *offered)):
        yield "has a question that is no text, or options that are no list of texts"
        return
    if not isinstance(human.more, dict):
        yield f"has a more= in its question that is no dict: {human.more!r}"
        return
    unknown = [name for name in human.more if name not in MORE]
    if unknown:
        yield f"has {unknown[0]!r} in its question: an ask of a phase takes {', '.join(MORE)}"
    try:
        make_question(human.type, prompt, options=offered)
        make_escalations(human.more.get("escalations", ()))
    except (UsageError, TypeError) as error:
        yield f"asks what cannot be asked: {error}"


def _next_faults(phase: Phase, names: Sequence[str]) -> Iterator[str]:
    way: Any = phase.next
    if phase.terminal:
        if way is not None or phase.otherwise:
            yield "is terminal and has a next=: it can only be one of them"
        return
    if not way:
        yield "leads nowhere: give it next=, or terminal=True"
    if phase.otherwise and not isinstance(way, dict):
        yield "has otherwise=, which belongs to a next= that is a table"
    if isinstance(way, dict):
        yield from _table_faults(phase, way)
    elif callable(way):
        yield from _uncallable("next", way, 2)
    elif way and not isinstance(way, str):
        yield f"has a next= that is no phase's name, table or function: {way!r}"
    for lead in leads(phase, names):
        if lead.target not in names:
            yield f"leads to {lead.target!r}, and there is no such phase: {', '.join(names)}"


def _table_faults(phase: Phase, table: dict[str, str]) -> Iterator[str]:
    if phase.human is None:
        yield "has a table of answers as next= and asks nobody"
    human, other = phase.human, False
    if not isinstance(human, HumanInput) or callable(options := human.options):
        return
    expected: tuple[str, ...] = _YES_NO
    if human.type == AskKind.CHOICE:
        question = make_question(AskKind.CHOICE, "asked later", options=tuple(options))
        expected, other = question.options, question.other
    for answer in table:
        if answer not in expected:
            yield f"has {answer!r} in its table, which nobody can answer: {', '.join(expected)}"
    missing = [answer for answer in expected if answer not in table]
    if (missing or other) and not phase.otherwise:
        what = repr(missing[0]) if missing else "'Other…'"
        yield f"does not say where {what} leads: list it in the table, or give otherwise="


def _must_come_to_an_end(phases: Sequence[Phase]) -> None:
    names = [one.name for one in phases]
    # Where a function decides, only running it tells.
    ends = {one.name for one in phases if one.terminal or _is_open(one)}
    if not any(one.terminal for one in phases):
        raise UsageError("no phase is terminal, so this would never end: say terminal=True")
    while more := {
        one.name
        for one in phases
        if one.name not in ends and any(lead.target in ends for lead in leads(one, names))
    }:
        ends |= more
    lost = [name for name in names if name not in ends]
    if lost:
        raise UsageError(
            f"{describe_phase(lost[0])} has no way out: no terminal phase can be reached"
        )


def _must_be_reached(phases: Sequence[Phase]) -> None:
    """Every phase can be reached from the first; where a function decides, only running it tells."""
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
