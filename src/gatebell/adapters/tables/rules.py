"""Store rules about tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.statements import OvertakenError
from gatebell.adapters.tables.values import as_member, as_time, names_unreadable, read_time
from gatebell.domain.asks.asks import iso
from gatebell.domain.enums import RuleKind, ShadowState
from gatebell.domain.permissions.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.adapters.tables.store import TableStore
    from gatebell.domain.audit.events import Event
    from gatebell.domain.permissions.shadow_rules import ShadowRule
    from gatebell.domain.stats import GrantUse


class StoredRules:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("rules")

    def add(self, rules: Sequence[Rule], events: Sequence[Event]) -> None:
        with self._store.transaction() as at:
            for rule in rules:
                self.write(rule)
            self._store.record(at, events)

    def write(self, rule: Rule) -> None:
        """Write a rule as part of a transaction."""
        times = {"expires_at": iso(rule.expires_at), "made_at": iso(rule.made_at)}
        self._db.write("insert_rule", rule._asdict() | times)

    def in_force(self) -> list[Rule]:
        now = iso(self._store.now())
        return [_rule(row) for row in self._db.rows("rules_in_force", (now,))]

    def had_gates(self) -> bool:
        return bool(self._db.rows("any_gate"))

    def use(self, rule_id: str, events: Sequence[Event]) -> bool:
        try:
            with self._store.transaction() as at:
                self._store.freezes.refuse()
                return self._write_with_events(at, "use_rule", rule_id, events)
        except OvertakenError:
            return False

    def end(self, rule_id: str, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            return self._write_with_events(at, "end_rule", rule_id, events)

    def begin_shadow(self, shadow: ShadowRule, events: Sequence[Event]) -> None:
        row = shadow._asdict() | {
            "made_at": iso(shadow.made_at),
            "until": iso(shadow.until),
            "ended_at": iso(shadow.ended_at),
        }
        with self._store.transaction() as at:
            self._db.write("insert_shadow_rule", row)
            self._store.record(at, events)

    def shadows(self, project: str | None = None) -> list[ShadowRule]:
        if project is None:
            rows = self._db.rows("open_shadow_rules")
        else:
            rows = self._db.rows("shadow_rules_of_project", (project,))
        return [_read_shadow(row) for row in rows]

    def standing_state(self, project: str) -> tuple[str, ...]:
        rules = [one for one in self.in_force() if one.is_standing and one.project == project]
        ids = sorted([*(one.id for one in rules), *(one.id for one in self.shadows(project))])
        return (*ids, f"{self._store.asks.count_objections(project)} objections")

    def must_still_be(self, project: str, seen: tuple[str, ...]) -> None:
        """Refuse to go on if another transaction changed this state, as part of a transaction."""
        self._store.locks.hold_standing_rules()
        if self.standing_state(project) != seen:
            raise OvertakenError

    def suspend(self, shadow_id: str) -> None:
        """Suspend a shadow rule, as part of a transaction."""
        self._db.write("suspend_shadow_rule", {"id": shadow_id})

    def end_at_once(self, rule_id: str, at: str) -> None:
        """End a grant, as part of a transaction."""
        self._db.write("end_rule", {"id": rule_id, "now": at})

    def remove_shadow(self, shadow_id: str, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            return self._end_shadow(shadow_id, ShadowState.REMOVED, at, events)

    def promote(
        self, shadow_id: str, grant: Rule, seen: tuple[str, ...], events: Sequence[Event]
    ) -> bool:
        try:
            with self._store.transaction() as at:
                self.must_still_be(grant.project, seen)
                if not self._end_shadow(shadow_id, ShadowState.PROMOTED, at, events):
                    return False
                self.write(grant)
                return True
        except OvertakenError:
            return False

    def _end_shadow(
        self, shadow_id: str, state: ShadowState, at: str, events: Sequence[Event]
    ) -> bool:
        given = {"id": shadow_id, "state": state, "now": at}
        if not self._db.write("end_shadow_rule", given):
            return False
        self._store.record(at, events)
        return True

    def uses(self, since: datetime, until: datetime, project: str) -> list[GrantUse]:
        # Imported here: hooks load this module.
        from gatebell.domain.stats import GrantUse

        given = {"since": iso(since), "until": iso(until), "project": project}
        return [GrantUse(read_time(at), actor) for at, actor in self._db.rows("grant_uses", given)]

    def _write_with_events(
        self, at: str, query: str, rule_id: str, events: Sequence[Event]
    ) -> bool:
        if not self._db.write(query, {"id": rule_id, "now": at}):
            return False
        self._store.record(at, events)
        return True


@names_unreadable("the shadow rule")
def _read_shadow(row: Any) -> ShadowRule:
    # Imported here: most stores have none.
    from gatebell.domain.permissions.shadow_rules import ShadowRule

    shadow = ShadowRule(*row)
    return shadow._replace(
        made_at=read_time(row[-4]),
        until=read_time(row[-3]),
        state=as_member(ShadowState, row[-2]),
        ended_at=as_time(row[-1]),
    )


@names_unreadable("the rule")
def _rule(row: Any) -> Rule:
    rule_id, kind, pattern, identity, project, session, owner, branch, expires_at, uses, *made = row
    made_by, made_at, ask_id, _, project_key = made
    return Rule(
        rule_id,
        as_member(RuleKind, kind),
        pattern,
        made_by,
        read_time(made_at),
        identity,
        project,
        session,
        owner,
        branch,
        as_time(expires_at),
        uses,
        ask_id,
        project_key,
    )
