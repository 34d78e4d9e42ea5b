"""A workflow that was checked: its phases, its state, and the functions of its author."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from gatebell.api.schemas import build_schema
from gatebell.domain.asks.forms import faults
from gatebell.domain.phases.phases import OURS, State, accepts, describe_phase, route
from gatebell.domain.phases.records import as_json
from gatebell.domain.text.display import plain
from gatebell.errors import GateError, StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gatebell.domain.phases.phases import Phase


class Plan:
    """A workflow's phases and state, checked."""

    def __init__(
        self,
        name: str,
        phases: tuple[Phase, ...],
        state: Any,
        start: Callable[[Any, str], Any] | None,
    ) -> None:
        self.name, self.phases, self.state, self.start = name, phases, state, start
        if start is not None and not (callable(start) and accepts(start, 2)):
            raise UsageError(f"the start= of {name!r} is a function of (state, input)")
        for phase in phases:
            _must_have_schema(phase)

    def make_state(self) -> Any:
        what = f"the state of {self.name!r}"
        made = call_user(what, self.state) if callable(self.state) else self.state
        # A copy: its parts may be shared with other states, such as a list of the module.
        made = {} if made is None else copy.deepcopy(made)
        try:
            known = (
                made if isinstance(made, dict) else build_schema(type(made)).get("properties", {})
            )
            self._must_fit(made, "the state")
        except GateError as error:
            raise UsageError(
                f"{what} is a dict, dataclass, NamedTuple or pydantic model of what JSON can hold: "
                f"{error}"
            ) from error
        _must_not_be_ours(known, what)
        return made

    def _must_fit(self, state: Any, what: str) -> Any:
        """Return the state as JSON, if it fits its own type."""
        json_state = make_json(state, what)
        if not isinstance(state, dict):
            for where, why in faults(build_schema(type(state)), json_state):
                raise UsageError(f"{what} does not fit {type(state).__name__}: {where} {why}")
        return json_state

    def first_state(self, prompt: str) -> Any:
        state = self.make_state()
        if self.start:
            state = self.change_state(state, self.start, prompt, "start")
        return state

    def change_state(
        self, state: Any, work: Callable[[Any, Any], Any], given: Any, what: str
    ) -> Any:
        """Return the state after a function of the user, which may change it or return another."""
        made = call_user(what, work, state, given)
        made = state if made is None else made
        if type(made) is not type(state):
            raise UsageError(f"{what} returned {made!r} and not a {type(state).__name__}")
        self._must_fit(made, f"the state after {what}")
        if isinstance(made, dict):
            _must_not_be_ours(made, f"the state after {what}")
        return made

    def target(self, phase: Phase, state: State[Any], output: Any) -> Phase:
        names = [one.name for one in self.phases]
        found = call_user(f"{describe_phase(phase.name)}: next", route, phase, state, output, names)
        return self.phases[names.index(found)]


def call_user(what: str, work: Callable[..., Any], *given: Any) -> Any:
    """Call a function of the user; its error says which one it is."""
    try:
        return work(*given)
    except (UsageError, StoreError):
        raise
    except Exception as error:
        raise UsageError(f"{what} raised {type(error).__name__}: {error}") from error


def make_json(value: Any, what: str) -> Any:
    try:
        return plain(as_json(value))
    except (UsageError, RecursionError) as error:
        raise UsageError(f"{what} is not JSON: {error}") from error


def _must_not_be_ours(fields: Iterable[str], what: str) -> None:
    for field in fields:
        if field in OURS:
            raise UsageError(
                f"{what} has a field {field!r}, which is the name of people's answers: give it "
                "another name"
            )


def _must_have_schema(phase: Phase) -> None:
    if phase.returns is None:
        return
    try:
        build_schema(phase.returns)
    except UsageError as error:
        raise UsageError(
            f"{describe_phase(phase.name)} has a returns= without a schema: {error}"
        ) from error
