"""Allow tool calls for good: what history suggests, shadow rules, and their promotion to a grant.

Nothing here is proposed or made that would have answered an ask that a person rejected, changed
first or approved with conditions. All such asks of the project count, however old.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.domain.asks.asks import make_id
from gatebell.domain.audit.events import EventKind
from gatebell.domain.enums import RuleKind, ShadowState
from gatebell.domain.people.logins import client_of
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.permissions import shadow_rules
from gatebell.domain.permissions.past_calls import (
    OBJECTIONS,
    CallOutcome,
    PastCall,
    Pattern,
    Replay,
    Suggestion,
    Tally,
    count_outcomes,
    find_outcome,
    replay,
)
from gatebell.domain.permissions.rules import build_made_event, check_pattern, list_triggers
from gatebell.domain.permissions.shadow_rules import (
    SHADOW_DAYS,
    ShadowRule,
    build_event,
    build_grant_of,
)
from gatebell.domain.permissions.standing_patterns import (
    find_denial,
    propose_standing,
    why_not_standing,
)
from gatebell.domain.records import NamedTuple
from gatebell.domain.text.display import storable
from gatebell.errors import NotFoundError, RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.asks.asks import Ask, Change
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.rules import Rule
    from gatebell.ports.store import Store

MAX_COUNTED = 1_000
"""How many of the newest asks of a project are counted."""
_MAX_OBJECTIONS = 20_000
_LEAST_APPROVED = 3
_MAX_SHOWN = 5


class Checked(NamedTuple):
    """A pattern against the history of its project."""

    pattern: Pattern
    replay: Replay
    why_not: str
    """Why it cannot become a grant; empty if it can."""


class Compared(NamedTuple):
    """A shadow rule, and what people decided beside it so far."""

    shadow: ShadowRule
    tally: Tally


class _History:
    """The past tool calls of a project."""

    def __init__(self, store: Store, project: str) -> None:
        newest = store.asks.past_calls(project, MAX_COUNTED)
        older = store.asks.objected_calls(project, _MAX_OBJECTIONS)
        self.is_whole = len(older) < _MAX_OBJECTIONS
        here = {one.ask_id for one in newest}
        self.newest: list[PastCall] = newest
        self._calls = [*newest, *(one for one in older if one.ask_id not in here)]

    def replay(self, pattern: Pattern) -> Replay:
        return replay(pattern, self._calls)


def suggest(store: Store, caller: Caller, project: str) -> list[Suggestion]:
    """Return the patterns that people always approved in a project, most asks first."""
    _only_people(caller)
    history = _History(store, project)
    counts: dict[Pattern, int] = {}
    for one in history.newest:
        if one.outcome == CallOutcome.APPROVED and (text := propose_standing(one.call, project)):
            pattern = Pattern(text, project, one.project_key, one.client)
            counts[pattern] = counts.get(pattern, 0) + 1
    likely = [one for one, count in counts.items() if count >= _LEAST_APPROVED]
    found = [_suggest(store, history, pattern) for pattern in likely]
    listed = [one for one in found if one and not _is_known(store, one.pattern)]
    return sorted(listed, key=lambda one: (-one.replay.tally.approved, one.pattern.text))


def suggest_for(store: Store, ask: Ask) -> Suggestion | None:
    """Return the pattern that could be allowed for good instead of a call that waits."""
    call, origin = ask.question.call, ask.origin
    if call is None or not ask.pending or not origin.project or ask.question.requirement.personal:
        return None
    if not (text := propose_standing(call, origin.project)):
        return None
    pattern = Pattern(text, origin.project, origin.project_key, client_of(origin.session))
    found = _suggest(store, _History(store, origin.project), pattern)
    return found if found and not _is_known(store, pattern) else None


def _suggest(store: Store, history: _History, pattern: Pattern) -> Suggestion | None:
    found = history.replay(pattern)
    return None if _explain_refusal(store, pattern, history, found) else Suggestion(pattern, found)


def _is_known(store: Store, pattern: Pattern) -> bool:
    """Return whether there is such a grant or shadow rule already."""
    rules = store.rules.in_force()
    return any(
        rule.is_standing and (rule.pattern, rule.project) == (pattern.text, pattern.project)
        for rule in rules
    ) or any(one.covered == pattern for one in store.rules.shadows(pattern.project))


def _explain_refusal(store: Store, pattern: Pattern, history: _History, found: Replay) -> str:
    """Return why a pattern may not become a grant for good; empty if it may."""
    if why := why_not_standing(pattern.text, pattern.project):
        return why
    denials = [rule for rule in store.rules.in_force() if rule.kind == RuleKind.DENY]
    if denial := find_denial(pattern.text, denials):
        return f"a denial is about such calls: {denial}"
    if found.objecting:
        some = ", ".join(found.objecting[:_MAX_SHOWN])
        return f"a person did not plainly approve what it would have allowed: {some}"
    if not history.is_whole:
        return "the history of this project is too long to be looked through"
    return "" if found.newest_approved else "no past ask that it covers was approved"


def check(store: Store, caller: Caller, project: str, text: str) -> Checked:
    """Replay history: which past asks a pattern would have answered, and how they were decided."""
    _only_people(caller)
    return _check(store, project, text)


def _check(store: Store, project: str, text: str) -> Checked:
    text = check_pattern(storable(text))
    history = _History(store, project)
    # On the client, and under the key, with most of the calls that fit.
    clients = dict.fromkeys((one.client, one.project_key) for one in history.newest)
    patterns = [Pattern(text, project, its_key, client) for client, its_key in clients]
    replays = [(one, history.replay(one)) for one in patterns or [Pattern(text, project)]]
    pattern, found = max(replays, key=lambda one: one[1].tally.total)
    return Checked(pattern, found, _explain_refusal(store, pattern, history, found))


def begin_shadow(
    store: Store, caller: Caller, project: str, text: str, days: int = SHADOW_DAYS
) -> ShadowRule:
    """Begin to compare a pattern with what people decide; it decides nothing."""
    _only_people(caller)
    if not 1 <= days <= 365:
        raise UsageError(f"expected a number of days from 1 to 365, got {days}")
    checked = _check(store, project, text)
    pattern = checked.pattern
    if checked.why_not:
        raise RefusedError(
            f"{pattern.text} cannot become a rule here: {checked.why_not}. Look: gate rules test"
        )
    if _is_known(store, pattern):
        raise UsageError(f"{pattern.text} is already a rule here: gate rules lists them")
    now = store.now()
    shadow = ShadowRule(
        make_id(6, os.urandom(16), "s-"), pattern.text, project, pattern.project_key,
        pattern.client, checked.replay.newest_approved, caller.actor, now,
        now + timedelta(days=days),
    )  # fmt: skip
    store.rules.begin_shadow(shadow, [build_event(EventKind.SHADOW_MADE, shadow, caller)])
    return shadow


def list_shadows(store: Store, caller: Caller) -> list[Compared]:
    """Return the shadow rules, each with what people decided beside it."""
    _only_people(caller)
    return [Compared(one, _count_recorded(store, one)) for one in store.rules.shadows()]


def _count_recorded(store: Store, shadow: ShadowRule) -> Tally:
    kinds = (EventKind.SHADOW_AGREED, EventKind.SHADOW_DISAGREED)
    return count_outcomes(
        entry.event.content["outcome"]
        for entry in store.audit.of_subject(shadow.id)
        if entry.event.kind in kinds and not entry.erased
    )


def promote(store: Store, caller: Caller, named: str) -> Rule:
    """Make a shadow rule a grant of this person; history is looked through again."""
    _only_people(caller)
    shadow = _find(store, named)
    # Before history is read: an objection at the same time changes it.
    seen = store.rules.standing_state(shadow.project)
    if shadow.state != ShadowState.ACTIVE:
        raise RefusedError(
            f"{shadow.id} is suspended: a person did not allow what it would have allowed. "
            f"Remove it: gate rules remove {shadow.id}"
        )
    history = _History(store, shadow.project)
    found = history.replay(shadow.covered)
    if why := _explain_refusal(store, shadow.covered, history, found):
        raise RefusedError(f"{shadow.pattern} cannot become a grant: {why}")
    grant = build_grant_of(shadow, make_id(6, os.urandom(16), "g-"), caller.actor, store.now())
    events = [
        build_event(EventKind.SHADOW_PROMOTED, shadow, caller),
        build_made_event(grant, caller),
    ]
    if not store.rules.promote(shadow.id, grant, seen, events):
        raise RefusedError(
            f"the rules or decisions of this project have just changed, so {shadow.id} stays as it "
            "is. Look: gate rules"
        )
    return grant


def remove(store: Store, caller: Caller, named: str) -> ShadowRule:
    """Remove a shadow rule."""
    _only_people(caller)
    shadow = _find(store, named)
    events = [build_event(EventKind.SHADOW_REMOVED, shadow, caller)]
    if not store.rules.remove_shadow(shadow.id, events):
        raise RefusedError(f"{shadow.id} has just been promoted or removed: see gate grants")
    return shadow


def _find(store: Store, named: str) -> ShadowRule:
    found = [one for one in store.rules.shadows() if named in (one.id, one.pattern)]
    if not found:
        raise NotFoundError(f"no shadow rule is called {named}. List all: gate rules")
    if len(found) > 1:
        ids = ", ".join(one.id for one in found)
        raise UsageError(f"several shadow rules match {named}: use one of the ids {ids}")
    return found[0]


def must_be_undisputed(store: Store, change: Change) -> None:
    """Refuse an answer that allows something for good, if a person ever objected to that."""
    grant, origin = change.grant, change.ask.origin
    assert grant is not None
    history = _History(store, origin.project)
    pattern = Pattern(grant.pattern, origin.project, origin.project_key, client_of(origin.session))
    # The ask itself is approved by this answer.
    call, past = change.ask.question.call, make_past_call(change.ask)
    assert call is not None
    assert past is not None
    found = history.replay(pattern)._replace(newest_approved=change.ask.id)
    if past.outcome != CallOutcome.APPROVED:
        why = "this yes has a condition: a note, or a message to the asker"
    else:
        why = _explain_refusal(store, pattern, history, found)
    if not why and list_triggers(call.command):
        why = "a gate for dangerous acts looks at this call"
    if why:
        raise RefusedError(f"{grant.pattern} cannot be allowed always: {why}")


def compare(store: Store, change: Change, shadows: Sequence[ShadowRule]) -> Change:
    """Add what rules from history would have said to the change that settles an ask.

    An objection also ends the grants without an end that would have allowed the call: one of them
    may have been made while the ask was pending.
    """
    past = make_past_call(change.ask)
    if past is None:
        return change
    grants: list[Rule] = []
    if past.outcome in OBJECTIONS:
        # Imported here: only an objection needs it.
        from gatebell.services.permissions.permit_call import list_standing

        grants = list_standing(store, past.call, change.ask.origin)
    return shadow_rules.compare(change, past, shadows, grants)


def make_past_call(ask: Ask) -> PastCall | None:
    """Return a settled ask about a tool call in short."""
    if ask.question.call is None or ask.settled_at is None:
        return None
    outcome = find_outcome(ask.status, ask.decision, ask.value, ask.note, ask.asked_back)
    return PastCall(
        ask.id, ask.question.call, client_of(ask.origin.session), ask.origin.project_key, outcome,
        ask.settled_at,
    )  # fmt: skip


def _only_people(caller: Caller) -> None:
    must_be_a_person(caller, "looks at and makes rules from history")
