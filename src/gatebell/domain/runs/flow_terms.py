"""The settings of a flow for its waits for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.enums import StrEnum
from gatebell.domain.runs import signals

if TYPE_CHECKING:
    from collections.abc import Sequence


class FlowTimeout(StrEnum):
    """The result of a flow after a timeout of its ask."""

    STUCK = "stuck"
    FAIL = "fail"
    RETURN = "return"
    NOTIFY_AGAIN = "notify_again"


class ErrorAction(StrEnum):
    """The result of a flow whose agent reports ERROR."""

    STUCK = "stuck"
    RETURN = "return"


class FlowTerms(NamedTuple):
    """The settings of a flow for its waits for people, and for agents that fail."""

    on_timeout: FlowTimeout = FlowTimeout.STUCK
    human_seconds: float | None = 86_400.0
    """How long its asks wait; None: until an answer comes."""
    human: bool = True
    """Whether NEEDS_HUMAN asks a person unless a call says otherwise."""
    remind_seconds: float | None = None
    """The interval of reminders for asks without their own."""
    most_asks: int | None = None
    """How often the agents of one run may ask people."""
    statuses: Sequence[str] = signals.STATUSES
    """The statuses that its agents should report."""
    asks_by_question: bool = False
    """A missing question is replaced by the summary; NEEDS_HUMAN without words is an error."""
    on_error: ErrorAction = ErrorAction.STUCK
    """The effect of an agent's ERROR unless a call says otherwise."""

    @property
    def reminds_at_timeout(self) -> bool:
        """Whether an ask still waits after its time, and people are reminded."""
        return self.on_timeout == FlowTimeout.NOTIFY_AGAIN

    def find_times(
        self, expires: float | None, remind_every: float | None, *, has_default: bool = False
    ) -> tuple[float | None, float | None]:
        """Return when an ask of the flow expires and how often it reminds, in seconds.

        Args:
            expires: the ask's own time, if it has one
            remind_every: the ask's own interval, if it has one
            has_default: the ask has an answer of its own for the timeout
        """
        expires = self.human_seconds if expires is None else expires
        remind_every = self.remind_seconds if remind_every is None else remind_every
        if not self.reminds_at_timeout or has_default or expires is None:
            return expires, remind_every
        return None, min(expires, remind_every or expires)
