"""The verbs of `ports/backends/rules.py` on the store of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

# Imported inside the functions: few commands need them.


class LocalRules:
    """The verbs for being asked less on one store."""

    _store: Store

    def suggest_rules(self, caller: Caller, project: str) -> list[dict[str, Any]]:
        from gatebell.services.permissions import rule_reports

        return rule_reports.list_suggestions(self._store, caller, project)

    def find_suggestion(self, ask: Ask) -> dict[str, Any] | None:
        from gatebell.services.permissions import rule_reports

        return rule_reports.find_suggestion(self._store, ask)

    def replay_rule(
        self, caller: Caller, project: str, pattern: str, shadow_days: int | None
    ) -> dict[str, Any]:
        from gatebell.services.permissions import rule_reports

        return rule_reports.replay_rule(self._store, caller, project, pattern, shadow_days)

    def shadow_rules(self, caller: Caller) -> list[dict[str, Any]]:
        from gatebell.services.permissions import rule_reports

        return rule_reports.list_shadows(self._store, caller)

    def promote_shadow(self, caller: Caller, named: str) -> dict[str, Any]:
        from gatebell.services.permissions import rule_reports

        return rule_reports.promote(self._store, caller, named)

    def remove_shadow(self, caller: Caller, named: str) -> dict[str, Any]:
        from gatebell.services.permissions import rule_reports

        return rule_reports.remove(self._store, caller, named)

    def stats(self, since: datetime | None, until: datetime | None, project: str) -> dict[str, Any]:
        from gatebell.domain.stats import stats_document
        from gatebell.services.stats import read_stats

        return stats_document(read_stats(self._store, since, until, project))
