"""Open the programs with their own screen, in which people and agents talk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.domain.enums import AgentCli
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from gatebell.ports.agents import Host


class SessionHosts:
    """The programs of this machine."""

    def open(self, cli: str) -> Host:
        # Imported here: each command that waits has this object, and few open a program.
        from gatebell.adapters.agents import hosts as programs
        from gatebell.adapters.files import settings_file
        from gatebell.adapters.system import folders

        match cli:
            case AgentCli.CLAUDE:
                return programs.ClaudeHost()
            case AgentCli.CODEX:
                return programs.CodexHost()
            case AgentCli.COMMAND:
                if not (words := settings_file.session_command(os.environ)):
                    raise UsageError(
                        "session_command is not set: write the command to open into "
                        f"{folders.settings_file(os.environ)}, or set GATE_SESSION_COMMAND"
                    )
                return programs.CommandHost(words)
        raise UsageError(f"no session can be opened in {cli}: answer with gate answer")
