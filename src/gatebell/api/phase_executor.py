"""One drive of a workflow: from its first phase, along what is recorded, and on."""

from __future__ import annotations

import copy
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.api import flows
from gatebell.api.schemas import schema_of, shaped
from gatebell.api.workflow_runner import watching
from gatebell.domain.asks.forms import faults
from gatebell.domain.enums import AskKind, SignalStatus
from gatebell.domain.lists import as_items
from gatebell.domain.people.principals import is_person
from gatebell.domain.phases import records
from gatebell.domain.phases.phases import (
    LOST,
    OURS,
    HumanInput,
    State,
    accepts,
    describe_phase,
    route,
)
from gatebell.domain.phases.records import as_json, mark, response_json
from gatebell.domain.phases.validation import input_faults
from gatebell.domain.runs.flow_terms import ErrorAction
from gatebell.domain.text.display import plain
from gatebell.errors import GateError, StepFailedError, UsageError
from gatebell.services.runs.run_journal import Parked, current

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from gatebell.domain.asks.outcomes import Outcome
    from gatebell.domain.phases.phases import Phase, Response
    from gatebell.domain.phases.records import PhaseEvent
    from gatebell.domain.runs.signals import Signal

MAX_ROUNDS = 1_000
"""So many phases, and rounds of one phase, before a run is taken for one that never ends."""


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

    def fresh(self) -> Any:
        what = f"the state of {self.name!r}"
        made = _called(what, self.state) if callable(self.state) else self.state
        # What it is made of may be shared with every other one: a default, or a list of the module's.
        made = {} if made is None else copy.deepcopy(made)
        try:
            known = made if isinstance(made, dict) else schema_of(type(made)).get("properties", {})
            self._must_fit(made, "the state")
        except GateError as error:
            raise UsageError(
                f"{what} is a dict, dataclass, NamedTuple or pydantic model of what JSON can hold: "
                f"{error}"
            ) from error
        _must_not_be_ours(known, what)
        return made

    def _must_fit(self, state: Any, what: str) -> Any:
        """The state as JSON, if it is what it says it is."""
        told = _json_of(state, what)
        if not isinstance(state, dict):
            for where, why in faults(schema_of(type(state)), told):
                raise UsageError(f"{what} does not fit {type(state).__name__}: {where} {why}")
        return told

    def first_state(self, prompt: str) -> Any:
        state = self.fresh()
        if self.start:
            state = self.changed(state, self.start, prompt, "start")
        return state

    def changed(self, state: Any, work: Callable[[Any, Any], Any], given: Any, what: str) -> Any:
        """The state after a function of the user's; it may change what it gets, or return another."""
        made = _called(what, work, state, given)
        made = state if made is None else made
        if type(made) is not type(state):
            raise UsageError(f"{what} returned {made!r} and not a {type(state).__name__}")
        self._must_fit(made, f"what {what} made of the state")
        if isinstance(made, dict):
            _must_not_be_ours(made, f"what {what} made of the state")
        return made

    def target(self, phase: Phase, state: State[Any], output: Any) -> Phase:
        names = [one.name for one in self.phases]
        found = _called(f"{describe_phase(phase.name)}: next", route, phase, state, output, names)
        return self.phases[names.index(found)]


class PhaseExecutor:
    """One drive of a workflow: from its first phase, along what is recorded, and on."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._branch = current.get()
        self._state: Any = None
        self._history: tuple[Response, ...] = ()

    def go(self, prompt: str) -> Any:
        self._state = self._plan.first_state(prompt)
        phase = self._plan.phases[0]
        for _ in range(MAX_ROUNDS):
            flows.log(mark(phase.name))
            output: Any = None
            if phase.agent is not None:
                output, why = self._work(phase)
                if why:
                    return flows.stuck(why)
            response = self._ask(phase, output)
            self._history += (response,) if response else ()
            view = self._view(response)
            if phase.terminal:
                return self._came_to(phase, output, response)
            phase = self._plan.target(phase, view, output)
        return flows.stuck(f"went through {MAX_ROUNDS} phases, and none of them was terminal")

    def _view(self, response: Response | None = None) -> State[Any]:
        # A copy: whoever changes it while they only look at it changes nothing.
        return State(copy.deepcopy(self._state), self._history, response)

    def _came_to(self, phase: Phase, output: Any, response: Response | None) -> dict[str, Any]:
        return {
            "phase": phase.name,
            "state": as_json(self._state),
            "output": as_json(output),
            "approved": response.approved if response else None,
            "history": [response_json(one) for one in self._history],
        }

    # Agents

    def _work(self, phase: Phase) -> tuple[Any, str]:
        """The output of a phase's agent, or why it is at its end."""
        for _ in range(MAX_ROUNDS):
            output = self._each(phase) if phase.for_each else self._once(phase)
            for one in output if phase.for_each else [output]:
                if isinstance(one, _Refusal):
                    return None, f"{one.reason}. Once that is fixed: {self._again()}"
            if phase.update:
                what = f"{describe_phase(phase.name)}: update"
                self._state = self._plan.changed(self._state, phase.update, output, what)
            if not phase.until or _called(
                f"{describe_phase(phase.name)}: until", phase.until, self._view(), output
            ):
                return output, ""
        return (
            None,
            f"{describe_phase(phase.name)} worked {MAX_ROUNDS} times, and until= was never true",
        )

    def _again(self) -> str:
        """How the last call is tried again; its record stays as it is."""
        return f"gate resume {self._branch.drive.run.id} --from {self._branch.count}"

    def _each(self, phase: Phase) -> list[Any]:
        items = _called(f"{describe_phase(phase.name)}: for_each", _items, phase, self._view())
        if not items:
            return []
        works = [lambda item=item: self._raw(phase, (item,)) for item in items]
        with _Telling(self._branch, phase):
            made = flows.parallel(*works, limit=phase.limit)
        return [_output(phase, one) for one in made]

    def _once(self, phase: Phase) -> Any:
        with _Telling(self._branch, phase):
            made = self._raw(phase, ())
        return _output(phase, made)

    def _raw(self, phase: Phase, item: tuple[Any, ...]) -> Any:
        """What the journal keeps of an agent's work: JSON, or a role's signal."""
        view, agent = self._view(), phase.agent
        if not isinstance(agent, str):
            return _called_agent(phase, view, item)
        prompt = phase.prompt
        if callable(prompt):
            prompt = _called(f"{describe_phase(phase.name)}: prompt", prompt, view, *item)
        if not isinstance(prompt, str):
            raise UsageError(f"{describe_phase(phase.name)}: prompt returned {prompt!r}, no text")
        schema = None if phase.returns is None else schema_of(phase.returns)
        # A phase tells itself which agent failed.
        return flows.run(agent, prompt, returns=schema, on_error=ErrorAction.RETURN)

    # People

    def _ask(self, phase: Phase, output: Any) -> Response | None:
        view, human = self._view(), phase.human
        if human is not None and not isinstance(human, HumanInput):
            human = _called(f"{describe_phase(phase.name)}: human", human, view, output)
        if human is None:
            return None
        if not isinstance(human, HumanInput):
            raise UsageError(
                f"{describe_phase(phase.name)}: human returned {human!r}, no HumanInput(…)"
            )
        prompt, options = human.prompt, human.options
        if callable(prompt):
            prompt = _called(f"{describe_phase(phase.name)}: human's prompt", prompt, view)
        if callable(options):
            what = f"{describe_phase(phase.name)}: human's options"
            options = _called(what, _listed, options, view, what)
        for why in input_faults(HumanInput(prompt, human.type, options, human.more)):
            raise UsageError(f"{describe_phase(phase.name)} {why}")
        more: Any = human.more
        ask: Callable[[], Outcome] = (
            partial(flows.pause, prompt, **more)
            if human.type == AskKind.APPROVAL
            else partial(flows.ask, prompt, AskKind.CHOICE, options=options, **more)
        )
        # Agents may answer a choice in the inbox; here that is nobody's answer.
        while not is_person((response := self._answered(phase, ask)).actor):
            pass
        return response

    def _answered(self, phase: Phase, ask: Callable[[], Outcome]) -> Response:
        with _Telling(self._branch, phase):
            try:
                asked = ask()
            except (UsageError, TypeError, ValueError) as error:
                why = f"{describe_phase(phase.name)} asks what cannot be asked: {error}"
                raise UsageError(why) from error
        answered = self._branch.drive.store.asks.get(asked.id)
        assert answered, "it has just been read"
        return records.response(phase.name, answered)


class _Refusal(NamedTuple):
    """An agent could not do it."""

    reason: str


class _Telling:
    """Around a call: whoever looks on is told what it comes to, and the log what is new."""

    def __init__(self, branch: Any, phase: Phase) -> None:
        self._branch, self._phase = branch, phase

    def __enter__(self) -> None:
        self._path = f"{self._branch.count + 1}"
        before = self._branch.drive.calls.get(self._path)
        self._before = {event.key for event in self._events(before)}

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not issubclass(kind, Parked):
            return
        drive = self._branch.drive
        observer = watching.get(None)
        for event in self._events(drive.calls.get(self._path)):
            if event.key not in self._before:
                words = f"{event.name} {event.phase} {_brief(event)}"
                drive.needs.log.write(drive.run, self._path, "phase", words)
            if observer:
                observer(event)

    def _events(self, call: Any) -> list[PhaseEvent]:
        if call is None:
            return []
        ask = self._branch.drive.store.asks.get(call.ask_id) if call.ask_id else None
        return records.events_of(self._phase.name, call, ask)


def _brief(event: PhaseEvent) -> str:
    """What an event says, on one line of the log; an output stands in the record."""
    import json

    told = {name: one for name, one in event.data.items() if name != "output"}
    return json.dumps(told, ensure_ascii=False) if told else ""


def _called(what: str, work: Callable[..., Any], *given: Any) -> Any:
    """A function of the user's; what it raises says where it stands."""
    try:
        return work(*given)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{what} raised {type(error).__name__}: {error}") from error


def _called_agent(phase: Phase, view: State[Any], item: tuple[Any, ...]) -> Any:
    """What a function in the place of an agent gives; what it raises names the phase."""
    try:
        # Its item stands in the record, so that no other one gets what came of it.
        return flows.step(
            lambda *_: _returned(phase, view, item),
            *as_json(item),
            name=phase.name,
            dangerous=phase.dangerous,
        )
    except StepFailedError as error:
        raise StepFailedError(
            error.kind, error.message, error.path, error.where, describe_phase(phase.name)
        ) from error


def _listed(options: Callable[[Any], Any], view: State[Any], what: str) -> Any:
    made = options(view)
    # What is one text is told by the check that also sees those of no function.
    return made if isinstance(made, str) else tuple(as_items(made, what))


def _items(phase: Phase, view: State[Any]) -> list[Any]:
    assert phase.for_each, "it was looked at before"
    items = phase.for_each(view)
    if isinstance(items, str):
        raise TypeError(f"{items!r} is one text, and no list of items")
    found = as_items(items, f"{describe_phase(phase.name)}: for_each")
    _json_of(found, f"{describe_phase(phase.name)}: what for_each gave")
    return found


def _returned(phase: Phase, view: State[Any], item: tuple[Any, ...]) -> Any:
    """What a function in the place of an agent gives, as JSON that fits."""
    assert callable(phase.agent), "it was looked at before"
    before = as_json(view.data)
    made = phase.agent(view, *item)
    made = as_json(settled(made) if inspect.isawaitable(made) else made)
    if as_json(view.data) != before:
        raise UsageError(f"the agent's function changed the state, {LOST}")
    if phase.returns is not None:
        shaped(phase.returns, made)
    return made


def _output(phase: Phase, raw: Any) -> Any:
    """The output of an agent as the workflow's functions get it: a copy, for the record stays."""
    raw = copy.deepcopy(raw)
    if not isinstance(phase.agent, str):
        return raw if phase.returns is None else shaped(phase.returns, raw)
    signal: Signal = raw
    if signal.status in (SignalStatus.ERROR, SignalStatus.BLOCKED):
        why = signal.reason or signal.own_words or "no reason given"
        return _Refusal(
            f"{describe_phase(phase.name)}: {phase.agent} reported {signal.status}: {why}"
        )
    return signal if phase.returns is None else shaped(phase.returns, signal.value)


def _json_of(value: Any, what: str) -> Any:
    try:
        return plain(as_json(value))
    except (UsageError, RecursionError) as error:
        raise UsageError(f"{what} is no JSON: {error}") from error


def _must_not_be_ours(fields: Iterable[str], what: str) -> None:
    for field in fields:
        if field in OURS:
            raise UsageError(
                f"{what} has a field {field!r}, which is the name of what people answer: call it "
                "otherwise"
            )


def _must_have_schema(phase: Phase) -> None:
    if phase.returns is None:
        return
    try:
        schema_of(phase.returns)
    except UsageError as error:
        raise UsageError(
            f"{describe_phase(phase.name)} has a returns= that says nothing: {error}"
        ) from error


def settled(reply: Awaitable[Any]) -> Any:
    import asyncio

    return asyncio.run(awaited(reply))


async def awaited(reply: Awaitable[Any]) -> Any:
    return await reply
