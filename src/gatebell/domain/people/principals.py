"""Who acts: people, agents, and the signs by which an agent is recognised."""

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
"""How far all of this can be trusted; shown beside every approval."""


class Sign(NamedTuple):
    """What an agent CLI leaves in the environment and process table of its shells."""

    cli: str
    variables: tuple[str, ...]
    session_variable: str
    processes: tuple[str, ...]


# Read off by running `env` inside the shells of claude 2.1.325 and codex 0.166.0.
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
    Sign("agent", ("AI_AGENT",), "AI_AGENT", ()),
    # Whatever program a role names: our own mark is on all that it starts.
    Sign("turn", ("GATE_TURN",), "GATE_TURN", ()),
    # Tests and setups run what agents wrote: nobody sits there.
    Sign("check", ("GATE_CHECK",), "GATE_CHECK", ()),
)


GONE, UNREADABLE = "(gone)", "(unreadable)"
"""A parent that ended again and again, and one of the same user whose entry in /proc is covered.

Neither happens to a person at a terminal, so both count as an agent that hides.
"""
OF_ANOTHER_USER = "(another user's)"
"""What hidepid hides. It is above every person's terminal there, so it is no sign of an agent."""


class Process(NamedTuple):
    """An ancestor of the calling process."""

    pid: int
    name: str
    """What the kernel calls it."""
    command: str
    """The file name of the program, or of the script its interpreter runs."""


class Sighting(NamedTuple):
    """An agent found around the calling process."""

    cli: str
    session: str
    because: str
    names: tuple[str, ...] = ()
    """Every other CLI/SESSION that means this agent, by the turn whose mark it carries."""

    @property
    def principal(self) -> str:
        return f"agent:{self.cli}/{self.session or 'unknown'}"

    def may_be(self, session: str) -> bool:
        """Whether CLI/SESSION is, or cannot be told from, the one that was seen here."""
        names = (f"{self.cli}/{self.session}", *self.names)
        return any(_may_be_same(name, session) for name in names)


class Caller(NamedTuple):
    """Whoever uses a verb: as whom, how sure that is, and what stood around them."""

    principal: str
    verified: bool
    """A personal token was presented; otherwise a person is only claimed."""
    via: str
    agent: Sighting | None
    evidence: dict[str, Any]
    """uid, terminal, ancestry and agent variables, kept with every answer."""
    token_id: str = ""
    """Of the personal token that was presented."""

    @property
    def is_person(self) -> bool:
        return is_person(self.principal)

    @property
    def name(self) -> str:
        return self.principal.partition(":")[2]

    @property
    def actor(self) -> str:
        """Without a personal token, whoever acts from an agent's shell is that agent."""
        return self.agent.principal if self.agent and not self.verified else self.principal


class Person(NamedTuple):
    """Somebody who may answer under a name of their own."""

    name: str
    added_at: datetime
    tokens: int


def _may_be_same(one: str, other: str) -> bool:
    """Whether two CLI/SESSION are of one program, and of one session as far as they tell."""
    (cli, _, session), (other_cli, _, other_session) = one.partition("/"), other.partition("/")
    return cli == other_cli and (session == other_session or not session or not other_session)


def is_person(principal: str) -> bool:
    return principal.startswith("person:")


def must_be_a_person(caller: Caller, deed: str) -> None:
    """For what an agent could help itself with: only people, or who presents their token."""
    if caller.agent and not caller.verified:
        raise AgentRefusedError(
            f"only a person {deed}, and an agent seems to be at work here "
            f"({caller.agent.because}). Do it in your own terminal, or present your token: "
            "--as NAME"
        )


def person(name: str) -> str:
    return f"person:{name}"


def find_agent(environ: Mapping[str, str], ancestors: Iterable[Process]) -> Sighting | None:
    """The agent in whose shell this process runs, if there is any sign of one."""
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
