"""Outcomes: typed results of asks, hard to misread."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, cast

from gatebell.domain.asks.asks import Ask, Origin, settled_sentence
from gatebell.domain.asks.questions import Question
from gatebell.domain.enums import AskKind, AskStatus, Decision, StrEnum
from gatebell.domain.permissions.calls import shown
from gatebell.domain.records import NamedTuple
from gatebell.domain.sessions.visits import FAILED, seconds_used
from gatebell.domain.text.display import frame, inert_line
from gatebell.errors import AskCancelledError, AskExpiredError, NotAnsweredError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from typing_extensions import TypeVar

    from gatebell.domain.asks.attachments import ReceivedFile
    from gatebell.domain.sessions.visits import Visit

    # Type checkers have this module built in; programs do not need it.
    V = TypeVar("V", default=Any)
    Chosen = TypeVar("Chosen", default=Any)
else:
    from typing import TypeVar

    V = TypeVar("V")
    Chosen = TypeVar("Chosen")


MAX_QUOTED_CHARACTERS = 9_000
"""Claude Code shows an agent at most ten thousand characters of a hook."""
_QUOTED_LENGTHS = (6_000, 2_000)
_ALWAYS_FITS = 600
"""Even if each character is shown as a mark such as ‹U+10FFFF›."""
_QUOTED_COLUMNS = 1_000


class SessionOutcome(StrEnum):
    """How a session with an agent ended; `pending` before a person has decided."""

    COMPLETED = "completed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    FAILED = "failed"
    PENDING = "pending"


_NOT_ASKED = Ask("", Question(AskKind.APPROVAL, ""), Origin(), datetime.min.replace(tzinfo=UTC), "")


_ENDED = {
    AskStatus.PENDING: SessionOutcome.PENDING,
    AskStatus.ANSWERED: SessionOutcome.COMPLETED,
    AskStatus.TIMED_OUT: SessionOutcome.TIMEOUT,
    AskStatus.CANCELLED: SessionOutcome.CANCELLED,
}


class Outcome:
    """The result of an ask. Only an approval may be tested for truth.

    Example:
        outcome = gate.wait(ask_id)
        print(outcome.status, outcome.value, outcome.settled_by)
    """

    def __init__(self, ask: Ask, value: Any) -> None:
        self._value = value
        self._convert: Callable[[Any], Any] | None = None
        self.ask_id: str = ask.id
        """The ask's id, for `gate.wait`, `gate show` and `gate answer`."""
        self.kind: AskKind = ask.question.kind
        self.status: AskStatus = ask.status
        """`answered`, `timed_out` or `cancelled`; `pending` before a person has answered."""
        self.note: str = ask.note
        """The person's words beside the answer."""
        self.settled_by: str = ask.settled_by
        """`person:ada`; where votes decided, all voters of the majority, the last vote last."""
        self.settled_via: str = ask.settled_via
        """Where it was answered: `cli`, `web`, `python` …"""
        self.settled_at: datetime | None = ask.settled_at
        self.attachments: tuple[ReceivedFile, ...] = ()
        """The files that the person attached to the answer; a flow does not get them."""

    @property
    def value(self) -> Any:
        """The answer, or the default after a timeout.

        Raises:
            AskExpiredError: The time was over, and the ask had no default.
            AskCancelledError: The ask was cancelled.
            NotAnsweredError: The ask is pending.
        """
        if self.status == AskStatus.ANSWERED or (
            self.status == AskStatus.TIMED_OUT and self._value is not None
        ):
            return self._value
        if self.status == AskStatus.TIMED_OUT:
            raise AskExpiredError(
                f"{self.ask_id} timed out without an answer: ask again, or give it more time"
            )
        if self.status == AskStatus.CANCELLED:
            raise AskCancelledError(
                f"{self.ask_id} was cancelled: {self.note or 'no reason given'}"
            )
        raise NotAnsweredError(f"{self.ask_id} is not answered yet: gate wait {self.ask_id}")

    def convert_by(self, convert: Callable[[Any], Any]) -> Self:
        """Let a function make the asker's own type of the answer; returns this outcome."""
        self._convert = convert
        return self

    def __bool__(self) -> bool:
        raise TypeError(f"a {self.kind} is neither true nor false: use its value or status")

    def __eq__(self, other: object) -> bool:
        """Compare with another outcome; an answer is not silently unequal to its outcome."""
        if not isinstance(other, Outcome):
            raise TypeError(f"an outcome is not its answer: compare .value with {other!r}")
        return (self.ask_id, self.status) == (other.ask_id, other.status)

    def __hash__(self) -> int:
        return hash((self.ask_id, self.status))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ask_id} {self.status}>"


class Approval(Outcome):
    """The result of an approval: true when, and only when, a person approved.

    `returns=Approval` asks a session for one.

    Example:
        approval = gate.approve("Deploy?")
        if not approval:
            print(approval.status, approval.reason)
    """

    def __init__(self, ask: Ask = _NOT_ASKED, _: Any = None) -> None:
        super().__init__(ask, ask.decision)
        self.decision: Decision | None = ask.decision
        """`approved`, `rejected`, or None without a decision."""

    @property
    def value(self) -> Decision:
        """The decision.

        Raises:
            NotAnsweredError: A person did not answer; see `Outcome.value`.
        """
        return cast("Decision", super().value)

    @property
    def reason(self) -> str:
        """The person's words, or the reason why there is no decision."""
        return self.note or (self.decision or self.status).replace("_", " ")

    @property
    def message(self) -> str:
        """The person's words beside the decision, if there are any."""
        return self.note

    def __bool__(self) -> bool:
        return self.status == AskStatus.ANSWERED and self.decision == Decision.APPROVED


class Choice(Outcome, Generic[Chosen]):
    """The result of a choice: an option, or a list of options.

    Example:
        choice = gate.choose("Which?", ["Red", "Blue", "Other…"])
        print(choice.value, choice.is_other)
    """

    @property
    def value(self) -> Chosen:
        """The option, the list of options, or the person's own words.

        Raises:
            NotAnsweredError: A person did not answer; see `Outcome.value`.
        """
        return cast("Chosen", _unwrap_other(super().value))

    @property
    def is_other(self) -> bool:
        """Whether the person chose `Other…` and wrote an answer of their own."""
        chosen = self._value if isinstance(self._value, list) else [self._value]
        return any(isinstance(one, dict) for one in chosen)


class Form(Outcome, Generic[V]):
    """The result of `returns=`: a value of that type, or JSON that fits the schema.

    Example:
        size = gate.ask("How many replicas?", returns=int).value
    """

    @property
    def value(self) -> V:
        """The answer as the type that `returns=` named.

        Raises:
            InvalidAnswerError: The class of `returns=` refuses it; `answer` has the JSON.
            NotAnsweredError: A person did not answer; see `Outcome.value`.
        """
        value = super().value
        return cast("V", value if self._convert is None else self._convert(value))

    @property
    def answer(self) -> Any:
        """The JSON that the person gave; None without an answer."""
        return self._value


class Text(Form[str]):
    """The result of a question: a text.

    Example:
        name = gate.ask("What is it called?").value
    """


class Visits(NamedTuple):
    """All visits to a session ask together."""

    attempts: int = 0
    session_id: str = ""
    transcript: str | None = None
    duration_ms: int = 0


def sum_up(ask: Ask, visits: Sequence[Visit]) -> Visits:
    """Return the visits of an ask in sum; final after the end of the last visit."""
    words = "\n".join(one.transcript for one in visits if one.transcript)
    captures = ask.question.session and ask.question.session.capture_transcript
    now = ask.settled_at or ask.opened_at
    return Visits(
        attempts=len(visits),
        session_id=next((one.conversation for one in reversed(visits) if one.session), ""),
        transcript=words if captures else None,
        duration_ms=round(seconds_used(visits, now) * 1000),
    )


class Session(Outcome):
    """The result of a session: a person's decision, and how long it took.

    Example:
        result = gate.human.ask_interactive("Is this schema good?", returns=Approval)
        if result.outcome == "completed" and result.response == "approved":
            migrate()
    """

    def __init__(self, ask: Ask, value: Any, visits: Visits) -> None:
        kind = ask.question.answered_as
        words = _unwrap_other(value) if kind == AskKind.CHOICE else value
        super().__init__(ask, ask.decision if kind == AskKind.APPROVAL else words)
        self.decision: Decision | None = ask.decision
        """`approved` or `rejected` of an approval; None without a decision."""
        failed = ask.status == AskStatus.CANCELLED and ask.settled_via == FAILED
        self.outcome: SessionOutcome = SessionOutcome.FAILED if failed else _ENDED[ask.status]
        """`completed`, `cancelled`, `timeout` or `failed`; `pending` before a decision."""
        self.attempts: int = visits.attempts
        """How often a person opened it."""
        self.session_id: str = visits.session_id
        """The conversation's id, such as `claude/0b1c…`, for `resume_session`."""
        self.transcript: str | None = visits.transcript
        """The words of the conversation, if `capture_transcript` asked for them."""
        self.duration_ms: int = visits.duration_ms
        """How long people were in it, in milliseconds."""

    @property
    def response(self) -> Any:
        """The decision, option, text or form as `returns=` named it; None without an answer.

        Raises:
            InvalidAnswerError: The asker's own class refuses it; `value` has the answer.
        """
        if self._value is None or self._convert is None:
            return self._value
        return self._convert(self._value)

    @property
    def visits(self) -> Visits:
        """The part that the journal of a flow keeps beside the ask."""
        return Visits(self.attempts, self.session_id, self.transcript, self.duration_ms)


def _unwrap_other(chosen: Any) -> Any:
    """Return the choice, with people's own words as plain text."""
    if isinstance(chosen, list):
        return [_unwrap_other(one) for one in chosen]
    return chosen["other"] if isinstance(chosen, dict) else chosen


_OUTCOMES: dict[AskKind, type[Outcome]] = {
    AskKind.APPROVAL: Approval,
    AskKind.CHOICE: Choice,
    AskKind.FORM: Form,
}


def answer_text(ask: Ask, value: Any) -> str:
    """Return the value of an answer as text: one option per line, a form as JSON."""
    if ask.question.answered_as == AskKind.FORM or value is None:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict) and list(value) == ["input"]:
        return shown(value["input"])
    options = value if isinstance(value, list) else [value]
    return "\n".join(map(_format_option, options))


def quote_answer(ask: Ask, value: Any) -> str:
    """Return the end of a background ask for its agent: every word of others has a bar before it.

    The answer is not compared with what the agent assumed: that needs to understand both.
    """
    # Short lines and control characters need more room when they are shown.
    for most in _QUOTED_LENGTHS:
        text = _quote_answer(ask, value, most)
        if len(text) <= MAX_QUOTED_CHARACTERS:
            return text
    return _quote_answer(ask, value, _ALWAYS_FITS)


def _quote_answer(ask: Ask, value: Any, most: int) -> str:
    asked = f"{ask.id}, which you asked earlier without waiting"
    quoted = [("Your question:", ask.question.prompt, most // 8)]
    if ask.assume:
        quoted.append(("You went on with:", ask.assume, most // 8))
    if ask.status != AskStatus.ANSWERED:
        head = f"There is no answer to {asked}: {settled_sentence(ask)}"
        end = "What you assumed was neither confirmed nor refused."
    else:
        head = f"A person has answered {asked}."
        text = ask.decision or answer_text(ask, value)
        quoted.append((f"The answer of {inert_line(ask.settled_by, 80)}:", text, most))
        end = "These words were not compared: where the answer differs, follow it and correct your work."
        if len(text) > most or len(ask.note) > most // 8:
            end += f" The whole answer: gate wait {ask.id}"
        if ask.answer_attachments:
            end += f" It has files: gate show {ask.id} --save-attachments DIR"
    if ask.note and ask.status == AskStatus.ANSWERED:
        quoted.append(("With the note:", ask.note, most // 8))
    lines = [inert_line(head, 400)]
    for title, words, limit in quoted:
        lines += [title, *frame(words, _QUOTED_COLUMNS, most=limit)]
    return "\n".join([*lines, end])


def _format_option(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("other", "(secret)"))
    return str(value)


def outcome(ask: Ask, value: Any, visits: Visits | None = None) -> Outcome:
    if ask.question.kind == AskKind.SESSION:
        return Session(ask, value, visits or Visits())
    return _OUTCOMES.get(ask.question.kind, Text)(ask, value)
