"""The door to agents: one turn of one agent, from what is sent to how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Origin
    from gatebell.domain.permissions.calls import Call
    from gatebell.domain.runs.roles import Role
    from gatebell.domain.sessions.proposals import Said


class Order(NamedTuple):
    """What an agent is started with."""

    turn_id: str
    role: Role
    session: str
    """The agent's own conversation; empty where the driver learns it only from the agent."""
    fresh: bool
    """Nothing was ever sent in this session."""
    fork_of: str
    """The session that a fresh one goes on from, or nothing."""
    text: str
    cwd: str
    environ: Mapping[str, str]
    """Goes to the agent beside this process's own variables: GATE_TURN, GATE_SIGNAL_FILE …"""
    schema: dict[str, Any] | None = None
    """What a structured result must fit, where the agent's program can be told so."""
    project: str = ""
    """Where a program that the role names by a path is; never a folder that agents edit."""


class AgentFunction(Protocol):
    """A Python function in the place of an agent's program."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Do what the prompt says; the result is what the agent would have answered."""
        ...


class Ruling(NamedTuple):
    """What becomes of a tool call that an agent asked permission for."""

    allow: bool
    message: str = ""
    """Goes to the agent, word for word."""
    input: dict[str, Any] | None = None
    """Takes the place of the call's input."""


class Events(NamedTuple):
    """What a driver tells while its agent works. Each may raise: the agent is ended then."""

    starting: Callable[[str], None]
    """With the process (an `Identity` as text) before the agent's program begins."""
    met: Callable[[str], None]
    """With the session, as soon as it is known and is not the one ordered."""
    permit: Callable[[str, dict[str, Any], str], Ruling]
    """With tool, input and the id of the call; may take hours, which are nobody's working time."""
    said: Callable[[str], None]
    """With each thing the agent says or does, a line or more, for people who look on."""


class Ended(NamedTuple):
    """How a turn came to its end."""

    ok: bool
    """The program ended well and its output was whole."""
    words: str
    """The agent's last words."""
    problem: str = ""
    """Why it is not ok, as a sentence."""
    structured: Any = None
    """The structured result, where the program gave one."""
    gone: bool = False
    """Its program knows no such session, so nothing was sent."""


class Driver(Protocol):
    """A way of talking to one kind of agent program."""

    takes_edits: bool
    """Whether a call that was allowed with another input runs with that; else the agent makes it."""

    def new_session(self) -> str:
        """The id of a session to be, or nothing where the agent itself chooses it."""
        ...

    def was_turn_sent(self, session: str, turn_id: str) -> bool:
        """Whether the session's own log shows that this turn was sent to the agent."""
        ...

    def knows(self, session: str) -> bool:
        """Whether the program can go on with this session; where nobody can tell, it can."""
        ...

    def run(self, order: Order, events: Events) -> Ended:
        """Run one turn to its end. MissingAgentError when its program cannot be started."""
        ...

    def join(self, order: Order) -> list[str]:
        """The words that open this session for a person in a terminal, signalling included."""
        ...


class Opening(NamedTuple):
    """What an agent's own screen is opened with, for a person who works a question out there."""

    mark: str
    """Carried as GATE_TURN by everything that it starts."""
    session: str
    """The conversation; empty where the program itself chooses its id."""
    fresh: bool
    """The conversation is ours: where there is none yet, it is begun."""
    prompt: str
    """The first words; empty where they were said already."""
    prompt_file: str
    system_file: str
    """Empty where nothing is said about how the agent should behave."""
    files_folder: str
    """The folder of these files."""
    model: str
    cwd: str
    mcp_config: str
    environ: Mapping[str, str]
    project: str


class Talk(NamedTuple):
    """What was said in a session."""

    said: Sequence[Said] = ()
    problem: str = ""
    """What its program complained of last, where the agent has not said a word."""


class Host(Protocol):
    """A program with a screen of its own, in which a person and an agent talk."""

    def new_session(self) -> str:
        """The id of a conversation to be, or nothing where the program itself chooses it."""
        ...

    def knows(self, session: str) -> bool:
        """Whether the program can go on with this conversation; where it keeps no log, it can."""
        ...

    def open_session(self, opening: Opening) -> list[str]:
        """The words that open it in a terminal. MissingAgentError when it is not there."""
        ...

    def found_session(self, mark: str, since: datetime) -> str:
        """The conversation, begun since then, whose first words hold this mark; or nothing."""
        ...

    def was_told(self, session: str, mark: str) -> bool:
        """Whether the words that hold this mark were said in the conversation."""
        ...

    def talk(self, session: str, since: datetime) -> Talk | None:
        """What was said since then; None where the program keeps no log that can be read."""
        ...


class Agents(Protocol):
    """Finds the way of talking to each kind of agent."""

    def driver(self, role: Role, work: AgentFunction | None) -> Driver:
        """The one for a role; with a function, that takes the place of an agent's program."""
        ...


class Hosts(Protocol):
    """Finds the programs in which people and agents talk."""

    def open(self, cli: str) -> Host:
        """The program of this name.

        Raises:
            UsageError: Sessions cannot be opened in it.
        """
        ...


class Activity(Protocol):
    """Looks at what an agent does: in its session log, and in its folder."""

    def tool_call(self, tool: str, given: object, cwd: str) -> Call:
        """Tool, input and folder as a call that can be approved."""
        ...

    def summary(self, origin: Origin, log: str = "") -> str:
        """What the asking agent was doing; `log` names its session log, if that is known."""
        ...
