"""Principals (people and agents), and the signs by which an agent is recognised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AgentCli
from gatebell.domain.records import NamedTuple
from gatebell.domain.text.display import storable
from gatebell.errors import AgentRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime


TRUST = "L0, one OS user: this stops accidents and obedient agents, not a hostile one"
"""How far the identity of a caller can be trusted; shown beside every approval."""
L1 = "L1, asked with a token that may not approve: only control of the server gets past it"
"""The trust in an approval whose asker has only a token that may ask."""


class Sign(NamedTuple):
    """The environment variables and process names by which an agent CLI is recognised."""

    cli: str
    variables: tuple[str, ...]
    session_variable: str
    processes: tuple[str, ...]


# Found by `env` inside the shells of claude 2.1.325, codex 0.166.0, gemini 0.61.0, opencode 1.18.33
# and copilot 1.0.102; that of Cursor is from its documentation. Gemini and opencode name no session.
SIGNS = (
    Sign(
        AgentCli.CLAUDE,
        ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
        "CLAUDE_CODE_SESSION_ID",
        ("claude",),
    ),
    Sign(
        AgentCli.CODEX,
        ("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_TOOL_CALL_ID"),
        "CODEX_THREAD_ID",
        ("codex",),
    ),
    Sign(AgentCli.GEMINI, ("GEMINI_CLI",), "", ("gemini",)),
    Sign(AgentCli.OPENCODE, ("OPENCODE", "OPENCODE_PID"), "", ("opencode",)),
    Sign(
        AgentCli.COPILOT,
        ("COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"),
        "COPILOT_AGENT_SESSION_ID",
        ("copilot",),
    ),
    Sign(AgentCli.CURSOR, ("CURSOR_AGENT",), "", ()),
    Sign("agent", ("AI_AGENT",), "AI_AGENT", ()),
    # Our own mark: every process that an agent's turn starts inherits it, for any program.
    Sign("turn", ("GATE_TURN",), "GATE_TURN", ()),
    # Tests and setups run code that agents wrote: no person is at the keyboard.
    Sign("check", ("GATE_CHECK",), "GATE_CHECK", ()),
)


GONE, UNREADABLE = "(gone)", "(unreadable)"
"""Names of a parent that ended at each look, and of one of this user with a hidden /proc entry.

Neither happens to a person at a terminal, so both count as an agent that hides.
"""
OF_ANOTHER_USER = "(another user's)"
"""Name of a process that hidepid hides. Every terminal has such a parent, so it proves nothing."""


class Process(NamedTuple):
    """An ancestor of the calling process."""

    pid: int
    name: str
    """The name that the kernel has for it."""
    command: str
    """The file name of the program, or of the script its interpreter runs."""


class Sighting(NamedTuple):
    """An agent found around the calling process."""

    cli: str
    session: str
    because: str
    names: tuple[str, ...] = ()
    """Every other CLI/SESSION of this agent, found by the turn that its mark names."""

    @property
    def principal(self) -> str:
        return f"agent:{self.cli}/{self.session or 'unknown'}"

    def may_be(self, session: str) -> bool:
        """Return whether CLI/SESSION is, or may be, the agent that was found."""
        names = (f"{self.cli}/{self.session}", *self.names)
        return any(_may_be_same(name, session) for name in names)


class Caller(NamedTuple):
    """The user of a command or service: the name, how sure it is, and the evidence."""

    principal: str
    verified: bool
    """True with a personal token; otherwise the name of a person is not proven."""
    via: str
    agent: Sighting | None
    evidence: dict[str, Any]
    """uid, terminal, ancestry and agent variables, kept with every answer."""
    token_id: str = ""
    """The id of the personal token that was presented."""
    chat_link: str = ""
    """The link of the account in a chat by which they act; what they do counts while it lasts."""

    @property
    def is_person(self) -> bool:
        return is_person(self.principal)

    @property
    def name(self) -> str:
        return self.principal.partition(":")[2]

    @property
    def actor(self) -> str:
        """The agent whose shell this is, unless a token proves a person; else the principal."""
        return self.agent.principal if self.agent and not self.verified else self.principal


class Person(NamedTuple):
    """A person who may answer under a name of their own."""

    name: str
    added_at: datetime
    tokens: int


def _may_be_same(one: str, other: str) -> bool:
    """Return whether two CLI/SESSION may be the same; an empty session matches every session."""
    (cli, _, session), (other_cli, _, other_session) = one.partition("/"), other.partition("/")
    return cli == other_cli and (session == other_session or not session or not other_session)


def is_person(principal: str) -> bool:
    return principal.startswith("person:")


def must_be_a_person(caller: Caller, deed: str) -> None:
    """Refuse an agent without a person's token: it could give itself permissions."""
    if caller.agent and not caller.verified:
        raise AgentRefusedError(
            f"only a person {deed}, and an agent seems to be at work here "
            f"({caller.agent.because}). Do it in your own terminal, or present your token: "
            "--as NAME"
        )


def person(name: str) -> str:
    return f"person:{name}"


def find_agent(environ: Mapping[str, str], ancestors: Iterable[Process]) -> Sighting | None:
    """Return the agent in whose shell this process runs; None without a sign of one."""
    for sign in SIGNS:
        for variable in sign.variables:
            if environ.get(variable):
                session = storable(environ.get(sign.session_variable, ""))
                return Sighting(sign.cli, session, f"the variable {variable} is set")
    for process in ancestors:
        for sign in SIGNS:
            if process.name in sign.processes or process.command in sign.processes:
                because = f"process {process.pid} above this one is {sign.cli}"
                return Sighting(sign.cli, "", because)
        if process.name in (GONE, UNREADABLE):
            because = f"process {process.pid} above this one is hidden, so nothing above it is seen"
            return Sighting("agent", "", because)
    return None
