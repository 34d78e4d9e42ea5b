"""The closed sets of words and numbers that many rooms share; those of one noun are beside it.

Type checkers see the enums of the standard library. At run time a light class takes their place,
because the module `enum` costs a hot command more than half of a bare interpreter.
`tests/domain/test_enums.py` holds both to the same behaviour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from enum import IntEnum as IntEnum, StrEnum as StrEnum  # noqa: PLC0414  exported
else:

    class _Members(type):
        """Makes each plain value in the body of a class a member of that class."""

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
    """How far an ask has come; never what was decided."""

    PENDING = "pending"
    ANSWERED = "answered"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


class AskKind(StrEnum):
    """What an ask wants to get back."""

    APPROVAL = "approval"
    CHOICE = "choice"
    TEXT = "text"
    FORM = "form"
    SESSION = "session"


class Decision(StrEnum):
    """What a person says to an approval."""

    APPROVED = "approved"
    REJECTED = "rejected"


class AnswerOutcome(StrEnum):
    """What became of one answer."""

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
        """As people write it."""
        return self.name.lower()


class AgentCli(StrEnum):
    """The agents' programs that gatebell knows by name.

    Tables say what it knows about each; `tests/service/test_agent_clis.py` shows the gaps.
    """

    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"
    OPENCODE = "opencode"
    COMMAND = "command"
    """Any other program, which the user names."""
    PYTHON = "python"
    """A function of the flow's author in the place of a program."""


class RunState(StrEnum):
    """Where a run is."""

    READY = "ready"
    RUNNING = "running"
    WAITING_HUMAN = "waiting_human"
    COMPLETED = "completed"
    STUCK = "stuck"
    FAILED = "failed"


class CallState(StrEnum):
    """Where one call of a flow is: `held` means that a person has its session open."""

    OPEN = "open"
    WAITING = "waiting"
    HELD = "held"
    RECORDED = "recorded"
    FAILED = "failed"


class RuleKind(StrEnum):
    """What a rule does with a tool call: ask a person, refuse it, let it pass."""

    ASK = "ask"
    DENY = "deny"
    GRANT = "grant"


class TaskState(StrEnum):
    """Where a task is."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    AWAITING_INPUT = "awaiting_input"
    BLOCKED = "blocked"
    DEFERRED = "deferred"
    FAILED = "failed"
    CLOSED = "closed"


class NoticeKind(StrEnum):
    """What people are told of."""

    OPENED = "opened"
    REMINDER = "reminder"
    ESCALATED = "escalated"
    REPLIED = "replied"
    SETTLED = "settled"
    NOTE = "note"
    TEST = "test"


class CallName(StrEnum):
    """What a call of a flow does; the last three are made by gate itself."""

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


class SignalStatus(StrEnum):
    """What agents are told to report; any other word reaches the flow as it is."""

    DONE = "DONE"
    APPROVED = "APPROVED"
    CHANGES_REQUESTED = "CHANGES_REQUESTED"
    BLOCKED = "BLOCKED"
    NEEDS_REVIEW = "NEEDS_REVIEW"
    NEEDS_HUMAN = "NEEDS_HUMAN"
    ERROR = "ERROR"
