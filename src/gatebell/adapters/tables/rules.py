"""Store rules about tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.statements import OvertakenError
from gatebell.adapters.tables.values import as_member, as_time, names_unreadable, read_time
from gatebell.domain.asks.asks import iso
from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.tables.store import TableStore
    from gatebell.domain.audit.events import Event


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

    def _write_with_events(
        self, at: str, query: str, rule_id: str, events: Sequence[Event]
    ) -> bool:
        if not self._db.write(query, {"id": rule_id, "now": at}):
            return False
        self._store.record(at, events)
        return True


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
