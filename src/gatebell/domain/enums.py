"""Enums that several modules share.

Type checkers see the enums of the standard library. At run time a small class replaces them,
because the import of `enum` takes more than half as long as the start of a bare interpreter.
`tests/domain/test_enums.py` checks that both behave the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from enum import IntEnum as IntEnum, StrEnum as StrEnum  # noqa: PLC0414  exported
else:

    class _Members(type):
        """Turn each plain value in the body of a class into a member of that class."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> _Members:
            made = super().__new__(cls, name, bases, body)
            made._members = {}
            for key, value in body.items():
                if key[0] != "_" and isinstance(value, (str, int)):
                    member = made._members[value] = made.__new__(made, value)
                    member.name, member.value = key, value
                    setattr(made, key, member)
            return made

        def __call__(cls, value: Any) -> Any:
            try:
                return cls._members[value]
            except (KeyError, TypeError):
                raise ValueError(f"{value!r} is not a valid {cls.__name__}") from None

        def __iter__(cls) -> Iterator[Any]:
            return iter(cls._members.values())

        def __len__(cls) -> int:
            return len(cls._members)

        def __contains__(cls, value: object) -> bool:
            return value in cls._members

    def _show(member: Any) -> str:
        return f"<{type(member).__name__}.{member.name}: {member.value!r}>"

    def _reduce(member: Any, protocol: int) -> tuple[Any, ...]:
        return type(member), (member.value,)

    class StrEnum(str, metaclass=_Members):  # noqa: SLOT000  a member keeps its name
        """A word of a closed set."""

        __repr__, __reduce_ex__ = _show, _reduce

    class IntEnum(int, metaclass=_Members):
        """A number of a closed set."""

        __str__ = int.__repr__
        __repr__, __reduce_ex__ = _show, _reduce


class AskStatus(StrEnum):
    """The status of an ask; it does not tell the decision."""

    PENDING = "pending"
    ANSWERED = "answered"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


class AskKind(StrEnum):
    """The kind of answer that an ask takes."""

    APPROVAL = "approval"
    CHOICE = "choice"
    TEXT = "text"
    FORM = "form"
    SESSION = "session"


class Decision(StrEnum):
    """A person's decision about an approval."""

    APPROVED = "approved"
    REJECTED = "rejected"


class AnswerOutcome(StrEnum):
    """How one answer ended."""

    SETTLED = "settled"
    COUNTED = "counted"
    REFUSED = "refused"
    LATE = "late"


class Priority(IntEnum):
    """How urgent an ask or a task is; the smallest number comes first."""

    URGENT = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3
    BACKLOG = 4

    @property
    def word(self) -> str:
        """The name in lower case, as people write it."""
        return self.name.lower()


class AgentCli(StrEnum):
    """The agent programs that gatebell knows by name.

    `tests/service/test_agent_clis.py` lists which tables cover each of them.
    """

    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"
    OPENCODE = "opencode"
    COMMAND = "command"
    """Any other program, which the user names."""
    PYTHON = "python"
    """A Python function that works in place of a program."""
    COPILOT = "copilot"
    CURSOR = "cursor"
    ACP = "acp"
    """Any other program with the agent client protocol, which the user names."""


class RunState(StrEnum):
    """The state of a run."""

    READY = "ready"
    RUNNING = "running"
    WAITING_HUMAN = "waiting_human"
    COMPLETED = "completed"
    STUCK = "stuck"
    FAILED = "failed"


class CallState(StrEnum):
    """The state of one call of a flow; `held` means that a person has its session open."""

    OPEN = "open"
    WAITING = "waiting"
    HELD = "held"
    RECORDED = "recorded"
    FAILED = "failed"


class RuleKind(StrEnum):
    """How a rule treats a tool call: ask a person, refuse it, or let it pass."""

    ASK = "ask"
    DENY = "deny"
    GRANT = "grant"


class ShadowState(StrEnum):
    """The state of a shadow rule."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    PROMOTED = "promoted"
    REMOVED = "removed"


class TaskState(StrEnum):
    """The state of a task."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    AWAITING_INPUT = "awaiting_input"
    BLOCKED = "blocked"
    DEFERRED = "deferred"
    FAILED = "failed"
    CLOSED = "closed"


class NoticeKind(StrEnum):
    """The events that people are notified of."""

    OPENED = "opened"
    REMINDER = "reminder"
    ESCALATED = "escalated"
    REPLIED = "replied"
    SETTLED = "settled"
    NOTE = "note"
    TEST = "test"
    BUNDLE = "bundle"
    WITHDRAWN = "withdrawn"


class CallName(StrEnum):
    """The action of a call of a flow; gate itself makes the last three."""

    RUN = "run"
    PAUSE = "pause"
    ASK = "ask"
    STEP = "step"
    READ = "read"
    SLEEP = "sleep"
    NOW = "now"
    RANDOM = "random"
    LOG = "log"
    PARALLEL = "parallel"
    SETUP = "setup"
    BRANCH = "branch"
    DRIVER = "driver"


class MemberKind(StrEnum):
    """How a process serves a store."""

    SERVER = "server"
    WORKER = "worker"
    SENDER = "sender"
    LOST = "lost"
    """Not a process: a host of which nothing is heard any more, with runs at home there."""


class ProcessState(StrEnum):
    """What this host knows about a process."""

    ALIVE = "alive"
    GONE = "gone"
    UNKNOWN = "unknown"


class VisitEnd(StrEnum):
    """How a person's visit to a session ended."""

    LEFT = "left"
    TIME = "time"
    FAILED = "failed"
    LOST = "lost"
    STOPPED = "stopped"


class ChannelKind(StrEnum):
    """How a notification reaches people."""

    DESKTOP = "desktop"
    APPRISE = "apprise"
    COMMAND = "command"
    WEBHOOK = "webhook"
    WEBPUSH = "webpush"


class TunnelKind(StrEnum):
    """Programs that give a server of this machine an https:// address."""

    TAILSCALE = "tailscale"
    CLOUDFLARED = "cloudflared"


class TunnelState(StrEnum):
    """How far such a program is set up."""

    MISSING = "missing"
    OFF = "off"
    READY = "ready"
    SERVING = "serving"


class SignalStatus(StrEnum):
    """The words that agents should report; any other word is passed to the flow unchanged."""

    DONE = "DONE"
    APPROVED = "APPROVED"
    CHANGES_REQUESTED = "CHANGES_REQUESTED"
    BLOCKED = "BLOCKED"
    NEEDS_REVIEW = "NEEDS_REVIEW"
    NEEDS_HUMAN = "NEEDS_HUMAN"
    ERROR = "ERROR"
