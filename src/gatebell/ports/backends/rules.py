"""The verbs of a `Backend` (`ports/backends/backend.py`) for rules from history, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller


class RuleVerbs(Protocol):
    """The verbs for being asked less; docs/json.md describes the data."""

    def suggest_rules(self, caller: Caller, project: str) -> list[dict[str, Any]]:
        """Return the patterns that people always approved in a project."""
        ...

    def find_suggestion(self, ask: Ask) -> dict[str, Any] | None:
        """Return the pattern that the card of an ask offers to allow always."""
        ...

    def replay_rule(
        self, caller: Caller, project: str, pattern: str, shadow_days: int | None
    ) -> dict[str, Any]:
        """Replay history; with `shadow_days`, compare the pattern with the next decisions."""
        ...

    def shadow_rules(self, caller: Caller) -> list[dict[str, Any]]:
        """Return the shadow rules, with what people decided beside them."""
        ...

    def promote_shadow(self, caller: Caller, named: str) -> dict[str, Any]:
        """Make a shadow rule a grant, and return the grant."""
        ...

    def remove_shadow(self, caller: Caller, named: str) -> dict[str, Any]:
        """Remove a shadow rule, and return it."""
        ...

    def stats(self, since: datetime | None, until: datetime | None, project: str) -> dict[str, Any]:
        """Return the numbers of a period, of the last seven days without one."""
        ...
