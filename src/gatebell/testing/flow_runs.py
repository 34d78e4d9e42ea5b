"""Runs of flows in tests: no program is started, nothing sleeps."""

from __future__ import annotations

import os
import tempfile
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.app import runtime, wiring
from gatebell.domain.enums import RunState
from gatebell.domain.runs.roles import Role
from gatebell.errors import UnfinishedError, UsageError
from gatebell.ports.flows import LoadedFlow
from gatebell.services.asks.apply_deadlines import fall_due
from gatebell.services.runs import manage_runs
from gatebell.services.runs.claims import is_due
from gatebell.services.runs.dependencies import OneFlow
from gatebell.services.runs.drive_run import Driver
from gatebell.services.runs.manage_runs import RunRequest
from gatebell.testing.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.api.flows import Flow
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.agents import AgentFunction, Driver as AgentDriver
    from gatebell.testing.agents import ScriptedAgent
    from gatebell.testing.person import ScriptedPerson

_A_DAY_SECONDS = 86_400.0


class FlowRun(NamedTuple):
    """How a flow ended in a test."""

    state: RunState
    """`completed` or `stuck`."""
    result: Any
    """What the flow returned, as JSON; None if it is stuck."""
    reason: str
    """Why it is stuck; empty if it is not."""
    store: MemoryStore
    """The store of the run, with its asks."""


def run_flow(
    flow: Flow[..., Any],
    prompt: str = "",
    *,
    agents: Mapping[str, ScriptedAgent] | None = None,
    person: ScriptedPerson | None = None,
    store: MemoryStore | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> FlowRun:
    """Run a flow to its end, in memory: agents and people follow their scripts.

    Calls are recorded and replayed as in a real run. While the flow waits, the person acts; if the
    person has nothing to do, the clock jumps to the next deadline or to the end of a `flow.sleep`.

    Args:
        flow: a function with `@flow`, or a Workflow
        prompt: the prompt of the run
        agents: the agent for each role that the flow names
        person: answers the asks of the flow and of its agents
        store: the store of the run; without it, that of the person, or a new one
        folder: the folder of agents and `flow.read`; without it, an empty one that is removed

    Raises:
        UnfinishedError: The flow raised an error, or a script is too short; the text says where.
        UsageError: This is not a flow.

    Example:
        coder = ScriptedAgent([{"status": "DONE"}])
        person = ScriptedPerson().will_answer("Deploy", "yes")
        assert run_flow(release, agents={"coder": coder}, person=person).state == "completed"
    """
    if not hasattr(flow, "gatebell_flow"):
        raise UsageError(f"run_flow() takes a function with @flow above it, not {flow!r}")
    for name, one in (agents or {}).items():
        if not hasattr(one, "new_session"):
            raise UsageError(f"agents={{{name!r}: …}} takes a ScriptedAgent([…]), not {one!r}")
    if isinstance(person, type):
        raise UsageError("person= takes a person, not the class: ScriptedPerson()")
    if person is not None:
        store = person.join(store)
    store = store or MemoryStore()
    if folder is not None:
        return _run(flow, prompt, _Scripts(agents or {}), store, os.fspath(folder))
    with tempfile.TemporaryDirectory(prefix="gatebell-flow-") as empty:
        return _run(flow, prompt, _Scripts(agents or {}), store, empty)


class _Scripts:
    """The agents of a test, as the roles and the programs of a run."""

    def __init__(self, agents: Mapping[str, ScriptedAgent]) -> None:
        self._agents = agents

    def find(self, run: Run, name: str) -> Role:
        """Return a role without instructions, if the test has an agent for it."""
        if name not in self._agents:
            raise UsageError(
                f"the flow calls the agent {name!r}: give it a script, "
                f"agents={{{name!r}: ScriptedAgent([…])}}"
            )
        return Role(name, "", cli="scripted")

    def driver(self, role: Role, work: AgentFunction | None) -> AgentDriver:
        """Return the agent of a role; a function of the flow is called as in a real run."""
        return runtime.build_function_driver(work) if work else self._agents[role.name]


def _run(flow: Any, prompt: str, scripts: _Scripts, store: MemoryStore, folder: str) -> FlowRun:
    code = LoadedFlow(flow.work, flow.terms, "")
    needs = runtime.build_dependencies(store)._replace(
        flows=OneFlow(code), roles=scripts, agents=scripts
    )
    request = RunRequest(flow.name, "", "", prompt, folder, in_place=True)
    caller = wiring.caller(store, "python")
    driver = Driver(store, needs)
    try:
        run, _ = manage_runs.start(store, needs.workspace, request, caller)
        run = _drive_to_end(driver, store, run)
    finally:
        driver.close()
    if run.state == RunState.FAILED:
        raise UnfinishedError(run.error or run.reason, run.id)
    return FlowRun(run.state, run.result, run.reason, store)


def _drive_to_end(driver: Driver, store: MemoryStore, run: Run) -> Run:
    with closing(store.bell()) as bell:
        while not run.has_ended:
            if is_due(run, store.now()):
                driver.drive(run)
            else:
                _wait(store, bell, run)
            run = manage_runs.get(store, run.id)
    return run


def _wait(store: MemoryStore, bell: Any, run: Run) -> None:
    """Let people act on the asks of a run; without one, jump to the time when it goes on."""
    asks = [fall_due(store, ask) for ask in store.asks.pending_of_run(run.id)]
    left = _A_DAY_SECONDS
    if run.ready_at:
        left = max(0.0, (run.ready_at - store.now()).total_seconds())
    if any(ask.pending for ask in asks):
        bell.wait(left)
    elif run.ready_at:
        store.clock.advance(left)
