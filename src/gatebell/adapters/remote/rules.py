"""The verbs of `ports/backends/rules.py` as requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.remote.connection import RemoteConnection
from gatebell.adapters.remote.wire_format import quote
from gatebell.domain.asks.asks import iso
from gatebell.domain.people.principals import must_be_a_person
from gatebell.errors import RefusedError

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller

_DEED = "looks at and makes rules from history"


class RemoteRules(RemoteConnection):
    """The verbs for being asked less on one server."""

    def suggest_rules(self, caller: Caller, project: str) -> list[dict[str, Any]]:
        must_be_a_person(caller, _DEED)
        return self._get_list(f"/api/rules/suggestions?project={quote(project)}")

    def find_suggestion(self, ask: Ask) -> dict[str, Any] | None:
        try:
            found = self._http.send("GET", f"/api/asks/{quote(ask.id)}/rule")
        except RefusedError:
            # A token that may only ask.
            return None
        suggested: dict[str, Any] | None = found.get("suggested_rule")
        return suggested

    def replay_rule(
        self, caller: Caller, project: str, pattern: str, shadow_days: int | None
    ) -> dict[str, Any]:
        must_be_a_person(caller, _DEED)
        body: dict[str, Any] = {"project": project, "pattern": pattern}
        body |= {} if shadow_days is None else {"shadow_days": shadow_days}
        return self._send("POST", "/api/rules/test", caller, body)

    def shadow_rules(self, caller: Caller) -> list[dict[str, Any]]:
        must_be_a_person(caller, _DEED)
        return self._get_list("/api/shadow-rules")

    def promote_shadow(self, caller: Caller, named: str) -> dict[str, Any]:
        must_be_a_person(caller, _DEED)
        return self._send("POST", "/api/shadow-rules", caller, {"promote": named})

    def remove_shadow(self, caller: Caller, named: str) -> dict[str, Any]:
        must_be_a_person(caller, _DEED)
        return self._send("DELETE", f"/api/shadow-rules?named={quote(named)}", caller)

    def stats(self, since: datetime | None, until: datetime | None, project: str) -> dict[str, Any]:
        given = {"since": iso(since), "until": iso(until), "project": project}
        where = "&".join(f"{name}={quote(text)}" for name, text in given.items() if text)
        found: dict[str, Any] = self._http.send("GET", f"/api/stats?{where}")
        return found

    def _send(
        self, method: str, path: str, caller: Caller, body: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        found: dict[str, Any] = self._http.send(method, path, body, via=caller.via, again=False)
        return found
