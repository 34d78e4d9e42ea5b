"""What an asker gets back: typed, and hard to misread."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import Ask, Origin, Question
from gatebell.domain.enums import AskKind, AskStatus, Decision, StrEnum
from gatebell.domain.permissions.calls import shown
from gatebell.domain.records import NamedTuple
from gatebell.domain.sessions.visits import FAILED, seconds_used
from gatebell.errors import CancelledError, NotAnsweredError, TimedOutError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gatebell.domain.sessions.visits import Visit


class SessionOutcome(StrEnum):
    """How a session with an agent ended; `pending` while nobody has decided."""

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
    """How an ask ended. Only an approval may be tested for truth."""

    def __init__(self, ask: Ask, value: Any) -> None:
        self._value = value
        self.id: str = ask.id
        self.kind: AskKind = ask.question.kind
        self.status: AskStatus = ask.status
        """`answered`, `timed_out` or `cancelled`; `pending` while nobody has answered."""
        self.note: str = ask.note
        self.settled_by: str = ask.settled_by
        """`person:ada`; where votes decided, all who voted so, the last vote last."""
        self.settled_via: str = ask.settled_via
        self.settled_at: datetime | None = ask.settled_at

    @property
    def value(self) -> Any:
        """The answer, or the declared default after a timeout; otherwise an error."""
        if self.status == AskStatus.ANSWERED or (
            self.status == AskStatus.TIMED_OUT and self._value is not None
        ):
            return self._value
        if self.status == AskStatus.TIMED_OUT:
            raise TimedOutError(f"{self.id} timed out before anybody answered")
        if self.status == AskStatus.CANCELLED:
            raise CancelledError(f"{self.id} was cancelled: {self.note or 'no reason given'}")
        raise NotAnsweredError(f"{self.id} is not answered yet: gate wait {self.id}")

    def __bool__(self) -> bool:
        raise TypeError(f"a {self.kind} is neither true nor false: look at its value or status")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.status}>"


class Approval(Outcome):
    """True when, and only when, a person approved.

    Of no ask at all it is what a session is to end with: `outcome=Approval()`.
    """

    def __init__(self, ask: Ask = _NOT_ASKED, _: Any = None) -> None:
        super().__init__(ask, ask.decision)
        self.decision: Decision | None = ask.decision
        """`approved`, `rejected`, or None when nobody decided."""

    @property
    def reason(self) -> str:
        """What the person said, or why there is no decision."""
        return self.note or (self.decision or self.status).replace("_", " ")

    @property
    def message(self) -> str:
        """What the person wrote beside the decision, if anything."""
        return self.note

    def __bool__(self) -> bool:
        return self.status == AskStatus.ANSWERED and self.decision == Decision.APPROVED


class Choice(Outcome):
    """The option, or the list of options, that a person chose."""

    @property
    def value(self) -> Any:
        return _in_words(super().value)

    @property
    def is_other(self) -> bool:
        """The person chose `Other…` and wrote something of their own."""
        chosen = self._value if isinstance(self._value, list) else [self._value]
        return any(isinstance(one, dict) for one in chosen)


class Text(Outcome):
    """What a person wrote."""


class Form(Outcome):
    """JSON that fits the form's schema."""


class Visits(NamedTuple):
    """How people worked on a session ask, all their visits together."""

    attempts: int = 0
    session_id: str = ""
    transcript: str | None = None
    duration_ms: int = 0


def sum_up(ask: Ask, visits: Sequence[Visit]) -> Visits:
    """The visits of an ask as its asker gets them; final once the last visit has ended."""
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
    """What a person and an agent came to, and how long it took them."""

    def __init__(self, ask: Ask, value: Any, visits: Visits) -> None:
        kind = ask.question.answered_as
        words = _in_words(value) if kind == AskKind.CHOICE else value
        super().__init__(ask, ask.decision if kind == AskKind.APPROVAL else words)
        self._shape: Callable[[Any], Any] | None = None
        self.decision: Decision | None = ask.decision
        """`approved` or `rejected`, where that was asked; None when nobody decided."""
        failed = ask.status == AskStatus.CANCELLED and ask.settled_via == FAILED
        self.outcome: SessionOutcome = SessionOutcome.FAILED if failed else _ENDED[ask.status]
        """`completed`, `cancelled`, `timeout` or `failed`; `pending` while nobody has decided."""
        self.attempts: int = visits.attempts
        """How often somebody opened it."""
        self.session_id: str = visits.session_id
        """The conversation, for `resume_session`."""
        self.transcript: str | None = visits.transcript
        self.duration_ms: int = visits.duration_ms
        """How long people were in it."""

    @property
    def response(self) -> Any:
        """The decision, option, text or form as its asker wants it; None when there is none.

        An InvalidAnswerError when the asker's own class refuses it; `value` is what was answered.
        """
        if self._value is None or self._shape is None:
            return self._value
        return self._shape(self._value)

    @property
    def visits(self) -> Visits:
        """What the journal of a flow keeps beside the ask."""
        return Visits(self.attempts, self.session_id, self.transcript, self.duration_ms)

    def convert_response(self, shape: Callable[[Any], Any]) -> Session:
        """The same, with a response of the shape that was wanted."""
        self._shape = shape
        return self


def _in_words(chosen: Any) -> Any:
    """What was chosen, with what people wrote of their own as plain text."""
    if isinstance(chosen, list):
        return [_in_words(one) for one in chosen]
    return chosen["other"] if isinstance(chosen, dict) else chosen


_OUTCOMES: dict[AskKind, type[Outcome]] = {
    AskKind.APPROVAL: Approval,
    AskKind.CHOICE: Choice,
    AskKind.FORM: Form,
}


def answer_text(ask: Ask, value: Any) -> str:
    """An answer's value as plain text: one option a line, a form always as JSON."""
    if ask.question.answered_as == AskKind.FORM or value is None:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict) and list(value) == ["input"]:
        return shown(value["input"])
    options = value if isinstance(value, list) else [value]
    return "\n".join(map(_option_text, options))


def _option_text(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("other", "(secret)"))
    return str(value)


def outcome(ask: Ask, value: Any, visits: Visits | None = None) -> Outcome:
    if ask.question.kind == AskKind.SESSION:
        return Session(ask, value, visits or Visits())
    return _OUTCOMES.get(ask.question.kind, Text)(ask, value)
