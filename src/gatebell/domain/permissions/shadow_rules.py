"""Shadow rules: patterns that decide nothing yet, and are compared with what people decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.asks import Notice, iso
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.enums import NoticeKind, RuleKind, ShadowState
from gatebell.domain.notifications.notes import MAX_NOTE_CHARACTERS, Note
from gatebell.domain.permissions.past_calls import OBJECTIONS, CallOutcome, Pattern, would_answer
from gatebell.domain.permissions.rules import Rule
from gatebell.domain.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Change
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.past_calls import PastCall

SHADOW_DAYS = 14
"""How long a shadow rule is compared, unless its person says otherwise."""
_WORDS = {
    CallOutcome.REJECTED: "rejected",
    CallOutcome.CHANGED: "changed first",
    CallOutcome.CONDITIONAL: "approved with conditions",
}


class ShadowRule(NamedTuple):
    """A pattern that a person tries before it becomes a grant."""

    id: str
    pattern: str
    project: str
    project_key: str
    client: str
    """The prefix of sessions over HTTP; empty for this machine."""
    ask_id: str
    """A past ask that a person approved and that it covers; a grant of it meets the same gates."""
    made_by: str
    made_at: datetime
    until: datetime
    """When it stops comparing."""
    state: ShadowState = ShadowState.ACTIVE
    ended_at: datetime | None = None

    @property
    def covered(self) -> Pattern:
        return Pattern(self.pattern, self.project, self.project_key, self.client)

    def is_comparing(self, now: datetime) -> bool:
        return self.state == ShadowState.ACTIVE and now < self.until


def compare(
    change: Change, past: PastCall, shadows: Iterable[ShadowRule], grants: Sequence[Rule]
) -> Change:
    """Add what rules from history would have said to the change that settles an ask.

    `grants` are those without an end that would allow such a call; an objection ends them.
    """
    now, actor = past.settled_at, change.events[0].actor
    met = [one for one in shadows if one.is_comparing(now) and would_answer(one.covered, past)]
    if not (met or grants) or past.outcome == CallOutcome.UNDECIDED:
        return change
    against = past.outcome in OBJECTIONS
    kind = EventKind.SHADOW_DISAGREED if against else EventKind.SHADOW_AGREED
    content = {"ask": past.ask_id, "outcome": past.outcome, "said": CallOutcome.APPROVED}
    compared = [(kind, one) for one in met] + [(EventKind.GRANT_ENDED, one) for one in grants]
    events = [
        Event(kind, one.id, actor, {**content, "pattern": one.pattern}) for kind, one in compared
    ]
    change = change._replace(events=(*change.events, *events))
    if not against:
        return change
    note = _build_alarm(met, grants, past, change.ask.origin.project)
    sent = Event(EventKind.NOTE_SENT, note.author, "gate", {"text": note.text, "via": "rules"})
    return change._replace(
        events=(*change.events, sent),
        suspends=tuple(one.id for one in met),
        ends=tuple(one.id for one in grants),
        alarm=note,
        notices=(*change.notices, Notice(NoticeKind.NOTE, "")),
    )


def _build_alarm(
    met: Sequence[ShadowRule], grants: Sequence[Rule], past: PastCall, project: str
) -> Note:
    what = "A shadow rule" if met else "A grant without an end"
    words = [f"{what} disagrees: it would have allowed {past.ask_id}, which a person"]
    words += [f"{_WORDS[past.outcome]}."]
    if met:
        words += [f"It is suspended and cannot become a grant: {_name(met)}. Look: gate rules"]
    if grants:
        words += [f"The grant is ended: {_name(grants)}. Look: gate grants"]
    return Note("gate", project, " ".join(words)[:MAX_NOTE_CHARACTERS], past.settled_at)


def _name(rules: Iterable[ShadowRule | Rule]) -> str:
    return ", ".join(f"{one.pattern} ({one.id})" for one in rules)


def build_grant_of(shadow: ShadowRule, rule_id: str, by: str, now: datetime) -> Rule:
    """Return the grant that a shadow rule becomes."""
    return Rule(
        rule_id, RuleKind.GRANT, shadow.pattern, by, now, project=shadow.project,
        ask_id=shadow.ask_id, project_key=shadow.project_key,
    )  # fmt: skip


def build_event(kind: EventKind, shadow: ShadowRule, caller: Caller) -> Event:
    content = {
        "pattern": shadow.pattern,
        "project": shadow.project,
        "ask": shadow.ask_id,
        "until": iso(shadow.until),
        "via": caller.via,
        "evidence": caller.evidence,
    }
    return Event(kind, shadow.id, caller.actor, content)
