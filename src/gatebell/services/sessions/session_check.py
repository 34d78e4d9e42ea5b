"""Check the folder, the file and the conversation that a session needs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.domain.enums import AgentCli
from gatebell.domain.text.suggestions import suggest
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from gatebell.domain.sessions.visits import Terms
    from gatebell.ports.agents import Hosts

KEEPING_LOGS = (AgentCli.CLAUDE, AgentCli.CODEX)
"""The programs whose conversations can be looked up."""


def check_terms(terms: Terms, folder: str, hosts: Hosts) -> None:
    """Refuse a session whose folder, file or conversation does not exist.

    Raises UsageError with the name of the field. `folder` is the folder of the asker.
    """
    cwd, config = os.path.join(folder, terms.cwd), os.path.join(folder, terms.mcp_config)
    if terms.cwd and not os.path.isdir(cwd):
        raise UsageError(f"cwd: there is no folder {cwd}")
    if terms.mcp_config and not os.path.isfile(config):
        raise UsageError(f"mcp_config: there is no file {config}")
    if terms.resume_session:
        _check_conversation(terms.resume_session, hosts)


def _check_conversation(named: str, hosts: Hosts) -> None:
    cli, slash, session = named.partition("/")
    programs = (cli,) if slash else KEEPING_LOGS
    try:
        is_known = any(hosts.open(one).knows(session or named) for one in programs)
    except UsageError as error:
        raise UsageError(f"resume_session: {error}{suggest(cli, KEEPING_LOGS)}") from None
    if not is_known:
        raise UsageError(
            f"resume_session: there is no conversation {named} on this machine. Give the "
            "session_id of an earlier session"
        )
