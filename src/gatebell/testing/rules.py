"""Rules and notes in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.asks.asks import Notice
    from gatebell.domain.audit.events import Event
    from gatebell.domain.notifications.notes import Note
    from gatebell.domain.permissions.rules import Rule
    from gatebell.testing.store import MemoryStore


class MemoryRules:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.rules: dict[str, Rule] = {}
        self._had_gates = False

    def add(self, rules: Sequence[Rule], events: Sequence[Event]) -> None:
        with self._store.lock:
            self.rules |= {rule.id: rule for rule in rules}
            self._had_gates |= any(rule.kind != "grant" for rule in rules)
            self._store.record(events)

    def in_force(self) -> list[Rule]:
        now = self._store.now()
        found = [rule for _, rule in sorted(self.rules.items()) if rule.uses_left != 0]
        return [rule for rule in found if not rule.expires_at or rule.expires_at > now]

    def had_gates(self) -> bool:
        return self._had_gates

    def use(self, rule_id: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            rule = {rule.id: rule for rule in self.in_force()}.get(rule_id)
            if rule is None:
                return False
            if rule.uses_left is not None:
                self.rules[rule_id] = rule._replace(uses_left=rule.uses_left - 1)
            self._store.record(events)
            return True

    def end(self, rule_id: str, events: Sequence[Event]) -> bool:
        with self._store.lock:
            if self.rules.pop(rule_id, None) is None:
                return False
            self._store.record(events)
            return True


class MemoryNotes:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._notes: list[Note] = []

    def add(self, note: Note, events: Sequence[Event], notices: Sequence[Notice]) -> None:
        with self._store.lock:
            self._notes.append(note)
            self._store.record(events, notices)

    def newest(self, limit: int) -> list[Note]:
        return self._notes[::-1][:limit]
