"""Phases: what a workflow is made of, what its functions see, and where it goes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, get_args

from gatebell.domain.text.options import suggest_fields
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from gatebell.domain.enums import AskKind

_S = TypeVar("_S")

OURS = ("approved", "human_response", "history", "answer_of", "data")
"""Names that a state of the user's own cannot have."""


LOST = "which is lost here: return the value, and set it in update="
"""The end of an error about code that changes a state that it may only read."""


@suggest_fields
class HumanInput(NamedTuple):
    """A question that a phase asks a person.

    Example:
        HumanInput("Release it?", "approval", more={"timeout": 3600})
        HumanInput("Which one?", "choice", ["Fast", "Thorough", "Other…"])
    """

    prompt: str | Callable[[Any], str]
    """Text, or a function of the state."""
    type: str
    """`approval` or `choice`."""
    options: Sequence[str] | Callable[[Any], Sequence[str]] = ()
    """The options of a choice; `Other…` among them lets people write their own."""
    more: Mapping[str, Any] = {}
    """Options that every ask takes: `context`, `timeout`, `priority`, `requirement` …"""


@suggest_fields
class Phase(NamedTuple):
    """One part of a workflow: an agent works, a person may be asked, the next phase comes.

    Example:
        Phase("plan", agent="architect", human=HumanInput("Good?", "approval"), next="build")
    """

    name: str = ""
    """The name; by default that of its agent."""
    agent: str | Callable[..., Any] | None = None
    """A role, or a function of the state (with `for_each`: of the state and one item)."""
    prompt: str | Callable[..., str] = ""
    """For a role: text, or a function like the agent's."""
    returns: Any = None
    """A type or JSON Schema for the output; without it a role's output is its signal."""
    update: Callable[[Any, Any], Any] | None = None
    """Makes the next state from (state, output); pure, because it runs at every replay."""
    human: HumanInput | Callable[..., HumanInput | None] | None = None
    """The question after the agent's work, or a function of (state) or (state, output).

    A function that returns None asks nothing.
    """
    next: str | dict[str, str] | Callable[..., str] | None = None
    """A phase, a table from answers to phases, or a function of (state) or (state, output)."""
    terminal: bool = False
    """The workflow ends here."""
    until: Callable[[Any, Any], bool] | None = None
    """The agent works again until this function of (state, output) is true."""
    for_each: Callable[[Any], Sequence[Any]] | None = None
    """A function of the state that returns items; the agent works on all of them at once."""
    otherwise: str = ""
    """The phase after an answer that the table does not list."""
    limit: int | None = None
    """How many items are worked on at once."""
    dangerous: bool = False
    """The function must not run twice: after a crash a person says whether it happened."""


class Response(NamedTuple):
    """What a person answered to a phase."""

    phase: str
    ask_id: str
    type: AskKind
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

    data: _S
    """Your own object."""
    history: tuple[Response, ...]
    """Every answer so far, in order, each with its phase."""
    human_response: Response | None
    """What was answered in this phase; None where nobody was asked."""
    approved: bool | None
    """Whether this phase was approved; None where no approval was asked for."""

    def __init__(
        self, data: _S, history: tuple[Response, ...] = (), response: Response | None = None
    ) -> None:
        # Not by assignment, which is refused.
        own = vars(self)
        own["data"], own["history"], own["human_response"] = data, history, response
        own["approved"] = response.approved if response else None

    def __setattr__(self, name: str, value: Any) -> None:
        raise UsageError(f"state.{name} = … changed the state, {LOST}")

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


def describe_phase(phase: str) -> str:
    """How errors begin."""
    return f"phase {phase!r}"


def call_with_output(work: Callable[..., Any], state: Any, output: Any) -> Any:
    """Call a function of (state) or (state, output)."""
    return work(state, output) if accepts(work, 2) else work(state)


def accepts(work: Callable[..., Any], number: int) -> bool:
    """Tell whether a function takes so many arguments."""
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


def leads(phase: Phase, names: Sequence[str]) -> list[Lead]:
    """Where a phase leads, as far as that stands in its definition."""
    way = phase.next
    if isinstance(way, str):
        return [Lead(way)] if way else []
    if isinstance(way, dict):
        rest = [Lead(phase.otherwise, "otherwise")] if phase.otherwise else []
        return [*(Lead(target, answer) for answer, target in way.items()), *rest]
    if targets := list_declared(way):
        return [Lead(target) for target in targets]
    code = getattr(way, "__code__", None)
    mentioned = set(_texts(code)) if code else set()
    return [Lead(name, certain=False) for name in names if name in mentioned]


def list_declared(way: Any) -> tuple[str, ...]:
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


def route(phase: Phase, state: State[Any], output: Any, names: Sequence[str]) -> str:
    """The phase after this one."""
    way = phase.next
    if isinstance(way, dict):
        return _look_up(phase, way, state.human_response)
    target = call_with_output(way, state, output) if callable(way) else way
    if target not in names:
        raise UsageError(
            f"{describe_phase(phase.name)} leads to {target!r}, and there is no such phase: "
            f"{', '.join(names)}"
        )
    return str(target)


def _look_up(phase: Phase, table: dict[str, str], response: Response | None) -> str:
    # Somebody's own words are no option, even if they read like one.
    listed = response and not response.is_other and table.get(response.value)
    if target := listed or phase.otherwise:
        return target
    what = f"was answered {response.value!r}" if response else "asked nobody"
    raise UsageError(
        f"{describe_phase(phase.name)} {what}, and its table leads nowhere from there: list it, or give "
        "otherwise="
    )
