"""How people decided past tool calls, and which of them a pattern would have answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AskStatus, Decision, RuleKind, StrEnum
from gatebell.domain.permissions.rules import Rule, lets_pass, list_triggers
from gatebell.domain.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from gatebell.domain.permissions.calls import Call


class CallOutcome(StrEnum):
    """How the ask about a tool call ended."""

    APPROVED = "approved"
    """A plain yes to exactly this call."""
    REJECTED = "rejected"
    CHANGED = "changed"
    """A yes to another input."""
    CONDITIONAL = "conditional"
    """A yes with a note, or after a message to the asker."""
    UNDECIDED = "undecided"
    """No person decided."""


OBJECTIONS = (CallOutcome.REJECTED, CallOutcome.CHANGED, CallOutcome.CONDITIONAL)
"""The outcomes of a call that a rule may not allow."""


class PastCall(NamedTuple):
    """A settled ask about a tool call."""

    ask_id: str
    call: Call
    client: str
    """The prefix of sessions over HTTP; empty for this machine."""
    project_key: str
    outcome: CallOutcome
    settled_at: datetime


class Tally(NamedTuple):
    """The number of asks by how they ended."""

    approved: int = 0
    rejected: int = 0
    changed: int = 0
    conditional: int = 0
    undecided: int = 0

    @property
    def total(self) -> int:
        return sum(self)

    @property
    def objections(self) -> int:
        return self.rejected + self.changed + self.conditional


class Pattern(NamedTuple):
    """A pattern in one folder of one client."""

    text: str
    project: str
    project_key: str = ""
    client: str = ""


class Replay(NamedTuple):
    """What a pattern would have done with the past asks of its project."""

    tally: Tally
    newest_approved: str
    """The id of an ask that no gate for dangerous acts looks at; empty if none was approved."""
    objecting: tuple[str, ...]
    """The ids of the asks that a rule may not answer."""
    asks: tuple[str, ...]
    """The ids of all asks that it would have answered, newest first."""


class Suggestion(NamedTuple):
    """A pattern that could be allowed for good."""

    pattern: Pattern
    replay: Replay


def suggestion_document(one: Suggestion) -> dict[str, Any]:
    return {
        "pattern": one.pattern.text,
        "project": one.pattern.project,
        "decided": one.replay.tally._asdict(),
        "ask_id": one.replay.newest_approved,
    }


def find_outcome(
    status: str, decision: str | None, value: Any, note: str, asked_back: int
) -> CallOutcome:
    """Return how an ask about a tool call ended."""
    if status != AskStatus.ANSWERED:
        return CallOutcome.UNDECIDED
    if decision != Decision.APPROVED:
        return CallOutcome.REJECTED
    if value is not None:
        return CallOutcome.CHANGED
    return CallOutcome.CONDITIONAL if note or asked_back else CallOutcome.APPROVED


def would_answer(pattern: Pattern, past: PastCall) -> bool:
    """Return whether a grant with this pattern would have let a call of its project pass."""
    if past.client != pattern.client or pattern.project_key not in ("", past.project_key):
        return False
    return lets_pass(Rule("", RuleKind.GRANT, pattern.text, "", past.settled_at), past.call)


def replay(pattern: Pattern, calls: Iterable[PastCall]) -> Replay:
    """Return what a pattern would have done with these calls, newest first."""
    calls = list(calls)
    found = [one for one in calls if would_answer(pattern, one)]
    approved = (
        one.ask_id
        for one in found
        if one.outcome == CallOutcome.APPROVED and not list_triggers(one.call.command)
    )
    return Replay(
        count_outcomes(one.outcome for one in found),
        next(approved, ""),
        tuple(one.ask_id for one in calls if _objects(pattern, one)),
        tuple(one.ask_id for one in found),
    )


def _objects(pattern: Pattern, past: PastCall) -> bool:
    """Return whether a call speaks against a pattern; also under an earlier key of its folder."""
    is_one = past.outcome in OBJECTIONS
    return is_one and would_answer(pattern._replace(project_key=""), past)


def count_outcomes(outcomes: Iterable[str]) -> Tally:
    counts = dict.fromkeys(map(str, CallOutcome), 0)
    for one in outcomes:
        counts[str(one)] += 1
    return Tally(**counts)


def describe_tally(tally: Tally) -> str:
    """Return the counts in words: `14 approved, 0 rejected`."""
    words = [f"{tally.approved} approved", f"{tally.rejected} rejected"]
    words += [f"{tally.changed} changed first"] if tally.changed else []
    words += [f"{tally.conditional} approved with conditions"] if tally.conditional else []
    words += [f"{tally.undecided} not decided"] if tally.undecided else []
    return ", ".join(words)
