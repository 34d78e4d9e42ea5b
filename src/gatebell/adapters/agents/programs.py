"""Which driver talks to which agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gatebell.domain.runs.roles import Role
    from gatebell.ports.agents import AgentFunction, Driver

# Each driver is imported where it is used: a run needs one or two of them.


class AgentPrograms:
    """The agents that this machine can start."""

    def driver(self, role: Role, work: AgentFunction | None) -> Driver:
        if work:
            from gatebell.adapters.agents.python_function import PythonDriver

            return PythonDriver(work)
        if role.cli == "command":
            from gatebell.adapters.agents.command import CommandDriver

            return CommandDriver()
        if role.cli == "codex":
            from gatebell.adapters.agents.codex import CodexDriver

            return CodexDriver()
        from gatebell.adapters.agents.claude import ClaudeDriver

        return ClaudeDriver()
