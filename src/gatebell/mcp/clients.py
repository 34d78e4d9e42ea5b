"""Which agent's program is at the other end, by the words that it sends and by our environment."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from gatebell.domain.enums import AgentCli
from gatebell.domain.text.display import storable

CLIENTS = (
    AgentCli.CLAUDE,
    AgentCli.CODEX,
    AgentCli.GEMINI,
    AgentCli.OPENCODE,
    AgentCli.COPILOT,
    AgentCli.CURSOR,
)
"""The clients that are known, by a part of the name that they send."""


class Client(NamedTuple):
    """The agent at the other end, as far as it is known."""

    cli: str = "mcp"
    session: str = ""
    shows_forms: bool = False
    """It can show a form to its person."""


def describe_client(client: Client, info: Any, capabilities: Any) -> Client:
    """Return the client with the name and the abilities that it sent."""
    name = info.get("name") if isinstance(info, dict) else None
    if isinstance(name, str) and name:
        client = client._replace(cli=_name_cli(name))
    return client._replace(shows_forms=_shows_forms(capabilities))


def add_session(client: Client, meta: dict[str, Any]) -> Client:
    """Add the session that the host names in the call or in our environment."""
    if "io.modelcontextprotocol/clientCapabilities" in meta:
        told = meta["io.modelcontextprotocol/clientCapabilities"]
        client = client._replace(shows_forms=_shows_forms(told))
    if isinstance(thread := meta.get("threadId"), str) and thread:
        return client._replace(cli=AgentCli.CODEX, session=thread)
    if session := os.environ.get("CLAUDE_CODE_SESSION_ID"):
        return client._replace(cli=AgentCli.CLAUDE, session=session)
    info = meta.get("io.modelcontextprotocol/clientInfo")
    if isinstance(info, dict) and isinstance(info.get("name"), str):
        return client._replace(cli=_name_cli(info["name"]))
    return client


def _name_cli(name: str) -> str:
    """Return the name that gate uses for this client."""
    for cli in CLIENTS:
        if cli in name.lower():
            return cli
    return storable(name)[:40]


def _shows_forms(capabilities: Any) -> bool:
    told = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    # In older revisions an empty object meant forms.
    return isinstance(told, dict) and (not told or "form" in told)
