"""One drive of a workflow: from its first phase, through the recorded calls, to the next ones."""

from __future__ import annotations

import copy
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.api import flows
from gatebell.api.phase_plan import call_user, make_json
from gatebell.api.schemas import build_schema, convert
from gatebell.api.workflow_runner import watching
from gatebell.domain.enums import AskKind, SignalStatus
from gatebell.domain.lists import as_items
from gatebell.domain.people.principals import is_person
from gatebell.domain.phases import records
from gatebell.domain.phases.phases import (
    LOST,
    HumanInput,
    State,
    call_with_output,
    describe_phase,
)
from gatebell.domain.phases.records import as_json, mark, response_json
from gatebell.domain.phases.validation import input_faults
from gatebell.domain.runs.flow_terms import ErrorAction
from gatebell.errors import StepFailedError, UsageError
from gatebell.services.runs.run_journal import Parked, current

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gatebell.api.phase_plan import Plan
    from gatebell.domain.asks.outcomes import Outcome
    from gatebell.domain.phases.phases import Phase, Response
    from gatebell.domain.phases.records import PhaseEvent
    from gatebell.domain.runs.signals import Signal

MAX_ROUNDS = 1_000
"""A run with more phases, or more rounds of one phase, is taken for one that never ends."""


class PhaseExecutor:
    """Drives a workflow from its first phase, through the recorded calls, to the next ones."""

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
                return self._build_result(phase, output, response)
            phase = self._plan.target(phase, view, output)
        return flows.stuck(f"went through {MAX_ROUNDS} phases, and none of them was terminal")

    def _view(self, response: Response | None = None) -> State[Any]:
        # A copy: code that changes it must not change the state.
        return State(copy.deepcopy(self._state), self._history, response)

    def _build_result(self, phase: Phase, output: Any, response: Response | None) -> dict[str, Any]:
        return {
            "phase": phase.name,
            "state": as_json(self._state),
            "output": as_json(output),
            "approved": response.approved if response else None,
            "history": [response_json(one) for one in self._history],
        }

    # Agents

    def _work(self, phase: Phase) -> tuple[Any, str]:
        """Return the output of a phase's agent, or the reason why the run is stuck."""
        for _ in range(MAX_ROUNDS):
            output = self._run_each(phase) if phase.for_each else self._run_once(phase)
            for one in output if phase.for_each else [output]:
                if isinstance(one, _Refusal):
                    return None, f"{one.reason}. Once that is fixed: {self._again()}"
            if phase.update:
                what = f"{describe_phase(phase.name)}: update"
                self._state = self._plan.change_state(self._state, phase.update, output, what)
            if not phase.until or call_user(
                f"{describe_phase(phase.name)}: until", phase.until, self._view(), output
            ):
                return output, ""
        return (
            None,
            f"{describe_phase(phase.name)} worked {MAX_ROUNDS} times, and until= was never true",
        )

    def _again(self) -> str:
        """Return the command that tries the last call again; its record is kept."""
        return f"gate resume {self._branch.drive.run.id} --from {self._branch.count}"

    def _run_each(self, phase: Phase) -> list[Any]:
        items = call_user(f"{describe_phase(phase.name)}: for_each", _items, phase, self._view())
        if not items:
            return []
        works = [lambda item=item: self._run_agent(phase, (item,)) for item in items]
        with _EventReport(self._branch, phase):
            made = flows.parallel(*works, limit=phase.limit)
        return [_output(phase, one) for one in made]

    def _run_once(self, phase: Phase) -> Any:
        with _EventReport(self._branch, phase):
            made = self._run_agent(phase, ())
        return _output(phase, made)

    def _run_agent(self, phase: Phase, item: tuple[Any, ...]) -> Any:
        """Return the agent's result as the journal has it: JSON, or a role's signal."""
        view, agent = self._view(), phase.agent
        if not isinstance(agent, str):
            return _run_function(phase, view, item)
        prompt = phase.prompt
        if callable(prompt):
            prompt = call_user(f"{describe_phase(phase.name)}: prompt", prompt, view, *item)
        if not isinstance(prompt, str):
            raise UsageError(
                f"{describe_phase(phase.name)}: prompt returned {prompt!r}, which is not a text"
            )
        schema = None if phase.returns is None else build_schema(phase.returns)
        # The phase names the agent that failed, so the error must come back here.
        return flows.run(agent, prompt, returns=schema, on_error=ErrorAction.RETURN)

    # People

    def _ask(self, phase: Phase, output: Any) -> Response | None:
        view, human = self._view(), phase.human
        if human is not None and not isinstance(human, HumanInput):
            what = f"{describe_phase(phase.name)}: human"
            human = call_user(what, call_with_output, human, view, output)
        if human is None:
            return None
        if not isinstance(human, HumanInput):
            raise UsageError(
                f"{describe_phase(phase.name)}: human returned {human!r}, which is not a HumanInput(…)"
            )
        prompt, options = human.prompt, human.options
        if callable(prompt):
            prompt = call_user(f"{describe_phase(phase.name)}: human's prompt", prompt, view)
        if callable(options):
            what = f"{describe_phase(phase.name)}: human's options"
            options = call_user(what, _list_options, options, view, what)
        for why in input_faults(HumanInput(prompt, human.type, options, human.more)):
            raise UsageError(f"{describe_phase(phase.name)} {why}")
        more: Any = human.more
        ask: Callable[[], Outcome] = (
            partial(flows.approve, prompt, **more)
            if human.type == AskKind.APPROVAL
            else partial(flows.choose, prompt, options, **more)
        )
        # Agents may answer a choice in the inbox, but a phase asks for a person's answer.
        while not is_person((response := self._ask_once(phase, ask)).actor):
            pass
        return response

    def _ask_once(self, phase: Phase, ask: Callable[[], Outcome]) -> Response:
        with _EventReport(self._branch, phase):
            try:
                outcome = ask()
            except (UsageError, TypeError, ValueError) as error:
                why = f"{describe_phase(phase.name)} asks what cannot be asked: {error}"
                raise UsageError(why) from error
        answered = self._branch.drive.store.asks.get(outcome.ask_id)
        assert answered, "it has just been read"
        return records.response(phase.name, answered)


class _Refusal(NamedTuple):
    """An agent could not do it."""

    reason: str


class _EventReport:
    """Around a call: reports its events to the observer, and new ones to the log."""

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
                words = f"{event.name} {event.phase} {_describe(event)}"
                drive.needs.log.write(drive.run, self._path, "phase", words)
            if observer:
                observer(event)

    def _events(self, call: Any) -> list[PhaseEvent]:
        if call is None:
            return []
        ask = self._branch.drive.store.asks.get(call.ask_id) if call.ask_id else None
        return records.events_of(self._phase.name, call, ask)


def _describe(event: PhaseEvent) -> str:
    """Return the data of an event as one line of the log; the record has the output."""
    import json

    data = {name: one for name, one in event.data.items() if name != "output"}
    return json.dumps(data, ensure_ascii=False) if data else ""


def _run_function(phase: Phase, view: State[Any], item: tuple[Any, ...]) -> Any:
    """Run a function in the place of an agent as a step; its error names the phase."""
    try:
        # The record has the item, so that another item never gets this result.
        return flows.step(
            lambda *_: _call_function(phase, view, item),
            *as_json(item),
            name=phase.name,
            dangerous=phase.dangerous,
        )
    except StepFailedError as error:
        raise StepFailedError(
            error.kind, error.message, error.path, error.where, describe_phase(phase.name)
        ) from error


def _list_options(options: Callable[[Any], Any], view: State[Any], what: str) -> Any:
    made = options(view)
    # One text is refused later, by the check that also sees options without a function.
    return made if isinstance(made, str) else tuple(as_items(made, what))


def _items(phase: Phase, view: State[Any]) -> list[Any]:
    assert phase.for_each, "it was checked before"
    items = phase.for_each(view)
    if isinstance(items, str):
        raise TypeError(f"{items!r} is one text: for_each returns a list of items")
    found = as_items(items, f"{describe_phase(phase.name)}: for_each")
    make_json(found, f"{describe_phase(phase.name)}: the items of for_each")
    return found


def _call_function(phase: Phase, view: State[Any], item: tuple[Any, ...]) -> Any:
    """Call a function in the place of an agent; return its result as JSON that fits."""
    assert callable(phase.agent), "it was checked before"
    before = as_json(view.data)
    made = phase.agent(view, *item)
    made = as_json(wait_for(made) if inspect.isawaitable(made) else made)
    if as_json(view.data) != before:
        raise UsageError(f"the agent's function changed the state, {LOST}")
    if phase.returns is not None:
        convert(phase.returns, made)
    return made


def _output(phase: Phase, raw: Any) -> Any:
    """Return the output of an agent for the functions of the workflow.

    It is a copy, because those functions may change it, and the record must not change.
    """
    raw = copy.deepcopy(raw)
    if not isinstance(phase.agent, str):
        return raw if phase.returns is None else convert(phase.returns, raw)
    signal: Signal = raw
    if signal.status in (SignalStatus.ERROR, SignalStatus.BLOCKED):
        why = signal.reason or signal.own_words or "no reason given"
        return _Refusal(
            f"{describe_phase(phase.name)}: {phase.agent} reported {signal.status}: {why}"
        )
    return signal if phase.returns is None else convert(phase.returns, signal.value)


def wait_for(reply: Awaitable[Any]) -> Any:
    import asyncio

    return asyncio.run(await_reply(reply))


async def await_reply(reply: Awaitable[Any]) -> Any:
    return await reply
