"""The phases of a workflow, the state that its functions see, and the next phase."""

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
"""Names that a field of the user's state cannot have."""


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
    """For a role: text, or a function with the arguments of the agent's."""
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
    """The largest number of items to work on at once."""
    dangerous: bool = False
    """The function must not run twice: after a crash a person says whether it happened."""


class Response(NamedTuple):
    """A person's answer to the question of a phase."""

    phase: str
    ask_id: str
    type: AskKind
    value: str
    """`yes` or `no`; or the option, or the person's own words."""
    approved: bool | None
    """None for a choice."""
    reason: str
    """The note with the answer."""
    is_other: bool
    actor: str
    at: datetime


class State(Generic[_S]):
    """The state that a phase's functions see: your own fields, and the answers of people."""

    data: _S
    """Your own object."""
    history: tuple[Response, ...]
    """Every answer so far, in order, each with its phase."""
    human_response: Response | None
    """The answer in this phase; None if no person was asked."""
    approved: bool | None
    """Whether this phase was approved; None if it asked for no approval."""

    def __init__(
        self, data: _S, history: tuple[Response, ...] = (), response: Response | None = None
    ) -> None:
        # Through vars(), because __setattr__ refuses assignments.
        own = vars(self)
        own["data"], own["history"], own["human_response"] = data, history, response
        own["approved"] = response.approved if response else None

    def __setattr__(self, name: str, value: Any) -> None:
        raise UsageError(f"state.{name} = … changed the state, {LOST}")

    def answer_of(self, phase: str) -> Response | None:
        """Return the last answer to a phase."""
        return next((one for one in reversed(self.history) if one.phase == phase), None)

    def __getattr__(self, name: str) -> Any:
        # Through vars(), because a copy in the making has no data yet.
        data = vars(self).get("data")
        if not isinstance(data, dict):
            return getattr(data, name)
        if name not in data:
            raise AttributeError(
                f"the state has no {name!r}; it has {', '.join(data) or 'nothing'}"
            )
        return data[name]


class Lead(NamedTuple):
    """A possible next phase."""

    target: str
    when: str = ""
    """The answer that leads there."""
    certain: bool = True
    """False if a function decides, and this is only a name in its code."""


def describe_phase(phase: str) -> str:
    """Return the beginning of errors about a phase."""
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
        # Some built-in functions have no signature.
        return True
    return True


def leads(phase: Phase, names: Sequence[str]) -> list[Lead]:
    """Return the possible next phases, as far as the definition of a phase names them."""
    way = phase.next
    if isinstance(way, str):
        return [Lead(way)] if way else []
    if isinstance(way, dict):
        rest = [Lead(phase.otherwise, "otherwise")] if phase.otherwise else []
        return [*(Lead(target, answer) for answer, target in way.items()), *rest]
    if targets := list_declared(way):
        return [Lead(target) for target in targets]
    code = getattr(way, "__code__", None)
    mentioned = set(_list_texts(code)) if code else set()
    return [Lead(name, certain=False) for name in names if name in mentioned]


def list_declared(way: Any) -> tuple[str, ...]:
    """Return the phases that the annotation of a function lists as its results."""
    from typing import get_origin, get_type_hints

    try:
        annotation = get_type_hints(way).get("return")
    except (NameError, TypeError):
        return ()
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _list_texts(code: Any) -> Iterator[str]:
    for one in code.co_consts:
        if isinstance(one, str):
            yield one
        elif hasattr(one, "co_consts"):
            yield from _list_texts(one)


def route(phase: Phase, state: State[Any], output: Any, names: Sequence[str]) -> str:
    """Return the name of the next phase."""
    way = phase.next
    if isinstance(way, dict):
        return _look_up(phase, way, state.human_response)
    target = call_with_output(way, state, output) if callable(way) else way
    if target not in names:
        raise UsageError(
            f"{describe_phase(phase.name)} leads to {target!r}, which does not exist: "
            f"use {', '.join(names)}"
        )
    return str(target)


def _look_up(phase: Phase, table: dict[str, str], response: Response | None) -> str:
    # A person's own words are never an option, even if they look like one.
    listed = response and not response.is_other and table.get(response.value)
    if target := listed or phase.otherwise:
        return target
    what = f"was answered {response.value!r}" if response else "asked no person"
    raise UsageError(
        f"{describe_phase(phase.name)} {what}, and its table has no next phase for that: "
        "list it, or give otherwise="
    )
