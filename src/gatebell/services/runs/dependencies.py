"""The ports that driving a run needs. `app` builds them once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.agents import Activity, Agents, Hosts
    from gatebell.ports.carriers import Carrier, SessionLogs
    from gatebell.ports.flows import Backlogs, Flows, LoadedFlow, Roles, RunLog
    from gatebell.ports.workspaces import Workspace


class Travel(NamedTuple):
    """The ports of runs that travel in a pool."""

    carrier: Carrier
    logs: SessionLogs


class RunDependencies(NamedTuple):
    """The ports of a run."""

    flows: Flows
    roles: Roles
    agents: Agents
    workspace: Workspace
    activity: Activity
    backlogs: Backlogs
    log: RunLog
    hosts: Hosts
    caller: Caller
    """Opens the asks of runs."""
    travel: Travel | None = None
    """How runs leave and reach this host; None: they stay at home."""


class OneFlow(NamedTuple):
    """The code of every run that a program drives itself."""

    flow: LoadedFlow

    def load(self, run: Run) -> LoadedFlow:
        return self.flow
