"""The port to agents: one turn of one agent, from its prompt to its end."""

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
    """Everything that an agent is started with."""

    turn_id: str
    role: Role
    session: str
    """The agent's conversation; empty where the driver learns its id only from the agent."""
    fresh: bool
    """The conversation has no turn yet."""
    fork_of: str
    """The conversation that a fresh one continues; empty for none."""
    text: str
    cwd: str
    environ: Mapping[str, str]
    """Variables for the agent beside those of this process: GATE_TURN, GATE_SIGNAL_FILE …"""
    schema: dict[str, Any] | None = None
    """The JSON Schema of a structured result, for programs that take one."""
    project: str = ""
    """The folder for a program that the role names by a path; agents never edit it."""


class AgentFunction(Protocol):
    """A Python function in the place of an agent's program."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Do the work of the prompt; the result is the agent's answer."""
        ...


class Ruling(NamedTuple):
    """The decision about a tool call for which an agent asked permission."""

    allow: bool
    message: str = ""
    """Words for the agent, unchanged."""
    input: dict[str, Any] | None = None
    """The input that replaces the call's own."""


class Events(NamedTuple):
    """Callbacks of a driver while its agent works. Each may raise: the agent is then ended."""

    starting: Callable[[str], None]
    """Gets the process (an `Identity` as text) before the agent's program begins."""
    met: Callable[[str], None]
    """Gets the conversation, once it is known and is another one than the order's."""
    permit: Callable[[str, dict[str, Any], str], Ruling]
    """Gets tool, input and call id; it may take hours, which are not working time."""
    said: Callable[[str], None]
    """Gets each message or action of the agent, one or more lines, for people who watch."""


class Ended(NamedTuple):
    """How a turn ended."""

    ok: bool
    """The program ended well, and its output was complete."""
    words: str
    """The agent's last words."""
    problem: str = ""
    """Why it is not ok, as a sentence."""
    structured: Any = None
    """The structured result, if the program gave one."""
    gone: bool = False
    """The program does not know the conversation, so nothing was sent."""


class Driver(Protocol):
    """Talks to one kind of agent program."""

    takes_edits: bool
    """Whether an allowed call runs with another input; else the agent makes the call again."""
    asks_about_edits: bool
    """Whether its program asks about every edit; others allow ordinary edits in their folder."""

    def new_session(self) -> str:
        """Return an id for a new conversation; empty where the agent chooses it."""
        ...

    def was_turn_sent(self, session: str, turn_id: str) -> bool:
        """Tell whether the log of the conversation shows that this turn was sent."""
        ...

    def knows(self, session: str) -> bool:
        """Tell whether the program can continue this conversation; True if that is unknown."""
        ...

    def run(self, order: Order, events: Events) -> Ended:
        """Run one turn to its end.

        Raises:
            MissingAgentError: The agent's program cannot be started.
        """
        ...

    def join(self, order: Order) -> list[str]:
        """Return the command that opens this conversation for a person, signalling included."""
        ...


class Opening(NamedTuple):
    """Everything that an agent's screen is opened with, for a person who works a question out."""

    mark: str
    """The visit's id; all processes of the session carry it as GATE_TURN."""
    session: str
    """The conversation; empty where the program itself chooses its id."""
    fresh: bool
    """The conversation is ours: if it does not exist yet, it is begun."""
    prompt: str
    """The first words; empty if they were sent before."""
    prompt_file: str
    system_file: str
    """The file of the system prompt; empty without one."""
    files_folder: str
    """The folder of these files."""
    model: str
    cwd: str
    mcp_config: str
    environ: Mapping[str, str]
    project: str


class Talk(NamedTuple):
    """The messages of a session."""

    said: Sequence[Said] = ()
    problem: str = ""
    """The last error of its program, if the agent has not answered."""


class Host(Protocol):
    """A program with a screen of its own, in which a person and an agent talk."""

    def new_session(self) -> str:
        """Return an id for a new conversation; empty where the program chooses it."""
        ...

    def knows(self, session: str) -> bool:
        """Tell whether the program can continue this conversation; True if it keeps no log."""
        ...

    def open_session(self, opening: Opening) -> list[str]:
        """Return the command that opens the session in a terminal.

        Raises:
            MissingAgentError: The program, or the conversation, is not on this machine.
        """
        ...

    def found_session(self, mark: str, since: datetime) -> str:
        """Return the conversation since then whose first words contain this mark; empty for none."""
        ...

    def was_told(self, session: str, mark: str) -> bool:
        """Tell whether the words with this mark were sent in the conversation."""
        ...

    def talk(self, session: str, since: datetime) -> Talk | None:
        """Return the messages since then; None if the program keeps no log that can be read."""
        ...


class Agents(Protocol):
    """Finds the driver for each kind of agent."""

    def driver(self, role: Role, work: AgentFunction | None) -> Driver:
        """Return the driver of a role; a function takes the place of an agent's program."""
        ...


class Hosts(Protocol):
    """Finds the programs in which people and agents talk."""

    def open(self, cli: str) -> Host:
        """Return the program of this name.

        Raises:
            UsageError: Sessions cannot be opened in it.
        """
        ...


class Activity(Protocol):
    """Finds the activity of an agent, in its session log and in its folder."""

    def tool_call(self, tool: str, given: object, cwd: str) -> Call:
        """Return tool, input and folder as a call that can be approved."""
        ...

    def summary(self, origin: Origin, log: str = "") -> str:
        """Summarize the work of the asking agent; `log` names its session log, if that is known."""
        ...
