"""Choose the driver for each agent program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import AgentCli
from gatebell.domain.runs.roles import ROLE_CLIS
from gatebell.errors import UsageError

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
        match role.cli:
            case AgentCli.CLAUDE:
                from gatebell.adapters.agents.claude import ClaudeDriver

                return ClaudeDriver()
            case AgentCli.CODEX:
                from gatebell.adapters.agents.codex import CodexDriver

                return CodexDriver()
            case AgentCli.COMMAND:
                from gatebell.adapters.agents.command import CommandDriver

                return CommandDriver()
            case AgentCli.GEMINI | AgentCli.OPENCODE | AgentCli.COPILOT | AgentCli.ACP:
                from gatebell.adapters.agents.acp import AcpDriver

                return AcpDriver(role.cli)
        raise UsageError(
            f"unknown cli {role.cli!r}: write cli: {', '.join(ROLE_CLIS)} or command: [...] "
            f"into the role {role.name}"
        )
