"""Add and end rules about tool calls."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.domain.asks.asks import make_id
from gatebell.domain.enums import RuleKind
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.permissions import rules
from gatebell.domain.permissions.rules import Rule, check_pattern
from gatebell.domain.text.display import storable
from gatebell.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store


def set_gates(
    store: Store, caller: Caller, project: str, patterns: Sequence[str], key: str = ""
) -> None:
    """Replace the gates of a project, or of every project; `key`: its key."""
    _only_people(store, caller)
    wanted = {check_pattern(storable(pattern)) for pattern in patterns}
    there = {
        rule.pattern: rule
        for rule in gates(store)
        if (rule.kind, rule.project) == (RuleKind.ASK, project)
    }
    for pattern in there.keys() - wanted:
        _end(store, caller, there[pattern])
    _add(store, caller, RuleKind.ASK, project, sorted(wanted - there.keys()), key)


def add(
    store: Store, caller: Caller, kind: RuleKind, project: str, pattern: str, key: str = ""
) -> Rule:
    """Add a gate or a denial; `key`: of its project. Agents may do this too."""
    pattern = check_pattern(storable(pattern))
    there = [rule for rule in gates(store) if (rule.kind, rule.project) == (kind, project)]
    if pattern in {rule.pattern for rule in there}:
        raise UsageError(f"{pattern} is already a rule")
    (made,) = _add(store, caller, kind, project, [pattern], key)
    return made


def _add(
    store: Store, caller: Caller, kind: RuleKind, project: str, patterns: Sequence[str], key: str
) -> list[Rule]:
    now = store.now()
    made = [
        Rule(_new_id(), kind, pattern, caller.actor, now, project=project, project_key=key)
        for pattern in patterns
    ]
    if made:
        store.rules.add(made, [rules.build_made_event(rule, caller) for rule in made])
    return made


def _new_id() -> str:
    return make_id(6, os.urandom(16), "r-")


def gates(store: Store) -> list[Rule]:
    """Return the gates and denials in force."""
    return [rule for rule in store.rules.in_force() if rule.kind != RuleKind.GRANT]


def grants(store: Store) -> list[Rule]:
    return [rule for rule in store.rules.in_force() if rule.kind == RuleKind.GRANT]


def end_grant(store: Store, caller: Caller, rule_id: str) -> Rule:
    """End a grant. Agents may do this too, because it makes the rules stricter."""
    for rule in grants(store):
        if rule.id == rule_id:
            _end(store, caller, rule)
            return rule
    raise NotFoundError(f"there is no grant {rule_id}. List all: gate grants")


def end_gate(store: Store, caller: Caller, named: str) -> Rule:
    """End a gate or a denial, by its id or its pattern."""
    _only_people(store, caller)
    found = [rule for rule in gates(store) if named in (rule.id, rule.pattern)]
    if not found:
        raise NotFoundError(f"no gate or denial is called {named}. List all: gate gates")
    if len(found) > 1:
        ids = ", ".join(rule.id for rule in found)
        raise UsageError(f"several rules match {named}: use one of the ids {ids}")
    _end(store, caller, found[0])
    return found[0]


def _end(store: Store, caller: Caller, rule: Rule) -> None:
    store.rules.end(rule.id, [rules.build_ended_event(rule, caller)])


def _only_people(store: Store, caller: Caller) -> None:
    """Refuse agents: an agent that can remove a gate could bypass it."""
    if not store.throwaway:
        must_be_a_person(caller, "changes gates")
