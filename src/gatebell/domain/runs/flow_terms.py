"""What a flow says about its waits for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.enums import StrEnum
from gatebell.domain.runs import signals

if TYPE_CHECKING:
    from collections.abc import Sequence


class FlowTimeout(StrEnum):
    """What becomes of a flow that nobody answered in time."""

    STUCK = "stuck"
    FAIL = "fail"
    RETURN = "return"


class FlowTerms(NamedTuple):
    """What a flow says about its waits for people."""

    on_timeout: FlowTimeout = FlowTimeout.STUCK
    human_seconds: float | None = 86_400.0
    """How long its asks wait; None: until somebody answers."""
    human: bool = True
    """Whether NEEDS_HUMAN asks a person unless a call says otherwise."""
    remind_seconds: float | None = None
    """How often people are reminded of an ask that says nothing of it."""
    most_asks: int | None = None
    """How often the agents of one run may need people."""
    statuses: Sequence[str] = signals.STATUSES
    """What its agents are told to report."""
    asks_by_question: bool = False
    """NEEDS_HUMAN without a question of its own is an error."""
