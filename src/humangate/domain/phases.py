"""Phases: what a workflow may look like, what its functions see, and where it goes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, get_args

from humangate.domain.asks import make_question
from humangate.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

_S = TypeVar("_S")

TYPES = ("approval", "choice")
MORE = (
    *("context", "going_on", "priority", "confidence", "requirement", "expires_seconds"),
    *("hard", "remind_every_seconds", "escalations"),
)
"""What the ask of a phase may carry beside its question."""
OURS = ("approved", "human_response", "history", "answer_of", "data")
"""Names that a state of the user's own cannot have."""
_LONGEST_NAME = 100
_NEEDS_AGENT = ("prompt", "returns", "update", "until", "for_each")
_YES_NO = ("yes", "no")


class HumanInput(NamedTuple):
    """What a phase asks a person."""

    prompt: str | Callable[[Any], str]
    """Text, or a function of the state."""
    type: str
    """`approval` or `choice`."""
    options: Sequence[str] | Callable[[Any], Sequence[str]] = ()
    """Of a choice; `Other…` among them lets people write their own."""
    more: Mapping[str, Any] = {}
    """What every ask may carry: context, priority, requirement, expires_seconds …"""


class Phase(NamedTuple):
    """One part of a workflow: an agent works, a person may be asked, then it goes on."""

    name: str = ""
    """Without one, its agent's."""
    agent: str | Callable[..., Any] | None = None
    """A role, or a function of the state (with `for_each`: of the state and one item)."""
    prompt: str | Callable[..., str] = ""
    """For a role: text, or a function like the agent's."""
    returns: Any = None
    """A JSON Schema or class that the output must fit; without one a role's output is its signal."""
    update: Callable[[Any, Any], Any] | None = None
    """Makes the next state of (state, output); pure, for it runs at every replay."""
    human: HumanInput | Callable[[Any, Any], HumanInput | None] | None = None
    """What is asked after the agent, or a function of (state, output); None asks nobody."""
    next: str | dict[str, str] | Callable[[Any, Any], str] | None = None
    """A phase, a table from answers to phases, or a function of (state, output)."""
    terminal: bool = False
    """The workflow ends here."""
    until: Callable[[Any, Any], bool] | None = None
    """The agent works again until this is true of (state, output)."""
    for_each: Callable[[Any], Sequence[Any]] | None = None
    """Items of the state: the agent works on all of them at once, and the output is a list."""
    otherwise: str = ""
    """Where an answer leads that the table does not list."""
    limit: int | None = None
    """How many items are worked on at once."""
    dangerous: bool = False
    """Of a function: what must not happen twice. Interrupted, a person says whether it happened."""


class Response(NamedTuple):
    """What a person answered to a phase."""

    phase: str
    id: str
    """Of the ask."""
    type: str
    value: str
    """`yes` or `no`; or the option, or the person's own words."""
    approved: bool | None
    """None for a choice."""
    reason: str
    """What they said with it."""
    is_other: bool
    actor: str
    at: datetime


class State(Generic[_S]):
    """The state as a phase's functions see it: each field of yours, and what people answered."""

    def __init__(
        self, data: _S, history: tuple[Response, ...] = (), response: Response | None = None
    ) -> None:
        self.data = data
        """Your own object."""
        self.history = history
        """Every answer so far, in order, each with its phase."""
        self.human_response = response
        """What was answered in this phase; None where nobody was asked."""
        self.approved = response.approved if response else None
        """Whether this phase was approved; None where no approval was asked for."""

    def answer_of(self, phase: str) -> Response | None:
        """The last answer to a phase."""
        return next((one for one in reversed(self.history) if one.phase == phase), None)

    def __getattr__(self, name: str) -> Any:
        # Looked up like this because a copy that is being made has no data yet.
        data = vars(self).get("data")
        if not isinstance(data, dict):
            return getattr(data, name)
        if name not in data:
            raise AttributeError(
                f"the state has no {name!r}; it has {', '.join(data) or 'nothing'}"
            )
        return data[name]


class Lead(NamedTuple):
    """A way from a phase to another."""

    target: str
    when: str = ""
    """The answer that leads there."""
    certain: bool = True
    """Otherwise a function decides, and this is only what its code names."""


def named(phase: str) -> str:
    """How errors begin."""
    return f"phase {phase!r}"


def checked(phases: Sequence[Phase]) -> tuple[Phase, ...]:
    """The phases with their names, or a UsageError that says which one makes no sense and why."""
    given = tuple(phases)
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
            raise UsageError(f"{named(one.name)} {why}")
    _must_come_to_an_end(made)
    return made


def _with_name(number: int, phase: Phase) -> Phase:
    name = phase.name
    if not name and phase.agent is None:
        raise UsageError(f"phase {number} has no agent, so it needs a name=")
    if not name:
        name = phase.agent if isinstance(phase.agent, str) else _name_of(phase.agent)
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise UsageError(f"phase {number} needs a name= of its own: text, on one line")
    if len(name) > _LONGEST_NAME:
        raise UsageError(f"the name of phase {number} is longer than {_LONGEST_NAME} characters")
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


def accepts(work: Callable[..., Any], number: int) -> bool:
    """Whether a function can be called with so many things."""
    # Imported here: the rules of other nouns do without it.
    import inspect

    try:
        inspect.signature(work).bind(*range(number))
    except TypeError:
        return False
    except ValueError:
        # Built-in functions do not always tell what they take.
        return True
    return True


def _is_async(work: Any) -> bool:
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
            f"asks for {human.type!r}: it is 'approval' or 'choice', and free text is a choice "
            "with the option 'Other…'"
        )
        return
    if callable(prompt):
        yield from _uncallable("human's prompt", prompt, 1)
        prompt = "asked later"
    if callable(options):
        yield from _uncallable("human's options", options, 1)
        # Whatever they will be, an approval has none.
        options = ("made later",)
    texts = [options] if isinstance(options, str) else [prompt, *options]
    if isinstance(options, str) or not all(isinstance(text, str) for text in texts):
        yield "has a question that is no text, or options that are no list of texts"
        return
    if not isinstance(human.more, dict):
        yield f"has a more= in its question that is no dict: {human.more!r}"
        return
    unknown = [name for name in human.more if name not in MORE]
    if unknown:
        yield f"has {unknown[0]!r} in its question: an ask of a phase takes {', '.join(MORE)}"
    try:
        make_question(human.type, prompt, options=tuple(options))
    except UsageError as error:
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
    if human.type == "choice":
        question = make_question("choice", "asked later", options=tuple(options))
        expected, other = question.options, question.other
    for answer in table:
        if answer not in expected:
            yield f"has {answer!r} in its table, which nobody can answer: {', '.join(expected)}"
    missing = [answer for answer in expected if answer not in table]
    if (missing or other) and not phase.otherwise:
        what = repr(missing[0]) if missing else "'Other…'"
        yield f"does not say where {what} leads: list it in the table, or give otherwise="


def leads(phase: Phase, names: Sequence[str]) -> list[Lead]:
    """Where a phase leads, as far as that stands in its definition."""
    way = phase.next
    if isinstance(way, str):
        return [Lead(way)] if way else []
    if isinstance(way, dict):
        rest = [Lead(phase.otherwise, "otherwise")] if phase.otherwise else []
        return [*(Lead(target, answer) for answer, target in way.items()), *rest]
    if way is None or not callable(way):
        return []
    if declared := _declared(way):
        return [Lead(target) for target in declared]
    code = getattr(way, "__code__", None)
    mentioned = set(_texts(code)) if code else set()
    return [Lead(name, certain=False) for name in names if name in mentioned]


def _declared(way: Any) -> tuple[str, ...]:
    """The phases that a function may return, where its annotation lists them."""
    from typing import get_origin, get_type_hints

    try:
        told = get_type_hints(way).get("return")
    except (NameError, TypeError):
        return ()
    return get_args(told) if get_origin(told) is Literal else ()


def _texts(code: Any) -> Iterator[str]:
    for one in code.co_consts:
        if isinstance(one, str):
            yield one
        elif hasattr(one, "co_consts"):
            yield from _texts(one)


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
        raise UsageError(f"{named(lost[0])} has no way out: no terminal phase can be reached")


def _is_open(phase: Phase) -> bool:
    return callable(phase.next) and not _declared(phase.next)


def route(phase: Phase, state: State[Any], output: Any, names: Sequence[str]) -> str:
    """The phase after this one."""
    way = phase.next
    if isinstance(way, dict):
        return _listed(phase, way, state.human_response)
    target = way(state, output) if callable(way) else way
    if target not in names:
        raise UsageError(
            f"{named(phase.name)} leads to {target!r}, and there is no such phase: "
            f"{', '.join(names)}"
        )
    return str(target)


def _listed(phase: Phase, table: dict[str, str], response: Response | None) -> str:
    # Somebody's own words are no option, even if they read like one.
    listed = response and not response.is_other and table.get(response.value)
    if target := listed or phase.otherwise:
        return target
    what = f"was answered {response.value!r}" if response else "asked nobody"
    raise UsageError(
        f"{named(phase.name)} {what}, and its table leads nowhere from there: list it, or give "
        "otherwise="
    )
