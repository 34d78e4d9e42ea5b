"""Rules from history as plain data, for commands and the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import iso
from gatebell.domain.permissions.past_calls import suggestion_document
from gatebell.services.permissions import standing_rules

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.shadow_rules import ShadowRule
    from gatebell.ports.store import Store


def list_suggestions(store: Store, caller: Caller, project: str) -> list[dict[str, Any]]:
    """Return the patterns that people always approved in a project."""
    return [suggestion_document(one) for one in standing_rules.suggest(store, caller, project)]


def find_suggestion(store: Store, ask: Ask) -> dict[str, Any] | None:
    """Return the pattern that the card of an ask offers to allow always."""
    found = standing_rules.suggest_for(store, ask)
    return suggestion_document(found) if found else None


def replay_rule(
    store: Store, caller: Caller, project: str, pattern: str, shadow_days: int | None
) -> dict[str, Any]:
    """Replay history; with `shadow_days`, begin to compare the pattern for so long."""
    checked = standing_rules.check(store, caller, project, pattern)
    shadow = None
    if shadow_days is not None:
        shadow = standing_rules.begin_shadow(store, caller, project, pattern, shadow_days)
    return {
        "pattern": checked.pattern.text,
        "project": project,
        "decided": checked.replay.tally._asdict(),
        "asks": list(checked.replay.asks),
        "objecting": list(checked.replay.objecting),
        "why_not": checked.why_not,
        "shadow": _describe(shadow) if shadow else None,
    }


def list_shadows(store: Store, caller: Caller) -> list[dict[str, Any]]:
    """Return the shadow rules, each with what people decided beside it."""
    now = store.now()
    return [
        _describe(one.shadow)
        | {"is_over": one.shadow.until <= now, "compared": one.tally._asdict()}
        for one in standing_rules.list_shadows(store, caller)
    ]


def promote(store: Store, caller: Caller, named: str) -> dict[str, Any]:
    """Make a shadow rule a grant."""
    grant = standing_rules.promote(store, caller, named)
    return grant._asdict() | {"made_at": iso(grant.made_at), "expires_at": iso(grant.expires_at)}


def remove(store: Store, caller: Caller, named: str) -> dict[str, Any]:
    return _describe(standing_rules.remove(store, caller, named))


def _describe(shadow: ShadowRule) -> dict[str, Any]:
    times = {"made_at": iso(shadow.made_at), "until": iso(shadow.until)}
    return shadow._asdict() | times | {"ended_at": iso(shadow.ended_at)}
