"""The verbs of a person (`ports/backends/backend.py`, `Answering`) as requests."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from gatebell.adapters.remote.connection import RemoteConnection, must_be_a_person
from gatebell.adapters.remote.http import Patience
from gatebell.adapters.remote.wire_format import name_uploads, quote, read_rule
from gatebell.domain.freezes import read_freeze
from gatebell.domain.people import principals
from gatebell.errors import ServerError

if TYPE_CHECKING:
    from gatebell.domain.asks.answers import Given
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.enums import RuleKind
    from gatebell.domain.freezes import Freeze
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.rules import Rule

_ANSWER_SECONDS = 10.0


class RemoteAnswering(RemoteConnection):
    """The verbs of a person on one server."""

    def answer(self, ask_id: str, caller: Caller, given: Given) -> Ask:
        must_be_a_person(caller)
        body: dict[str, Any] = {"value": given.value, "note": given.note}
        body |= {} if given.digest is None else {"digest": given.digest}
        if given.scope:
            body |= {"for": given.scope.word, "pattern": given.scope.pattern}
        if given.attachments:
            body["attachments"] = name_uploads(given.attachments)
        key, patience = given.key or os.urandom(16).hex(), Patience(_ANSWER_SECONDS)
        path = f"/api/asks/{quote(ask_id)}/answers"
        while True:
            try:
                after = self.read(self._http.send("POST", path, body, key=key, via=caller.via))
                break
            except ServerError as error:
                if not self._pause(patience, error):
                    raise self._keep_answer(error, ask_id, given) from None
        self._note_reply()
        self._drafts.drop(ask_id)
        return after

    def _keep_answer(self, error: ServerError, ask_id: str, given: Given) -> ServerError:
        if ask_id in self._secret:
            return ServerError(f"{error}. Your secret was not recorded, and is not kept: try again")
        text = given.value if isinstance(given.value, str) else json.dumps(given.value)
        words = "\n".join(filter(None, [text, given.note]))
        return self._drafts.keep(error, ask_id, words, "your answer")

    def draft(self, ask_id: str, caller: Caller) -> str:
        if kept := self._drafts.read(ask_id):
            return kept
        return str(self._http.send("GET", f"/api/asks/{quote(ask_id)}/draft")["text"])

    def save_draft(self, ask_id: str, caller: Caller, text: str) -> None:
        try:
            self._http.send("PUT", f"/api/asks/{quote(ask_id)}/draft", {"text": text})
        except ServerError:
            self._drafts.write(ask_id, text)
        else:
            self._drafts.drop(ask_id)

    def keep_typed(self, error: ServerError, ask_id: str, text: str) -> ServerError:
        return self._drafts.keep(error, ask_id, text, "your answer") if text else error

    def signal_run(self, run_id: int, status: str, message: str, caller: Caller) -> Ask:
        must_be_a_person(caller)
        body = {"status": status, "message": message}
        path = f"/api/runs/{run_id}/signal"
        return self.read(self._http.send("POST", path, body, via=caller.via, again=False))

    def freeze(self, caller: Caller, reason: str) -> tuple[Freeze, bool]:
        principals.must_be_a_person(caller, "freezes everything")
        found = self._http.send("POST", "/api/freeze", {"reason": reason}, via=caller.via)
        freeze = self._read_as(read_freeze, found, "a freeze")
        if freeze is None:
            raise ServerError(f"the server {self.name} lifted the freeze at once: try again")
        return freeze, bool(found.get("is_new"))

    def lift_freeze(self, caller: Caller) -> Freeze | None:
        principals.must_be_a_person(caller, "lifts a freeze")
        found = self._http.send("DELETE", "/api/freeze", via=caller.via)
        return self._read_as(read_freeze, found, "a freeze")

    def gates(self) -> list[Rule]:
        return self._rules("gates")

    def grants(self) -> list[Rule]:
        return self._rules("grants")

    def _rules(self, which: str) -> list[Rule]:
        return [read_rule(one) for one in self._get_list(f"/api/rules?which={which}")]

    def add_gate(
        self, caller: Caller, kind: RuleKind, project: str, pattern: str, key: str = ""
    ) -> Rule:
        body = {"kind": kind, "project": project, "pattern": pattern, "project_key": key}
        return read_rule(self._http.send("POST", "/api/rules", body, via=caller.via, again=False))

    def end_gate(self, caller: Caller, named: str) -> Rule:
        path = f"/api/rules?which=gates&named={quote(named)}"
        return read_rule(self._http.send("DELETE", path, via=caller.via, again=False))

    def end_grant(self, caller: Caller, rule_id: str) -> Rule:
        path = f"/api/rules?which=grants&named={quote(rule_id)}"
        return read_rule(self._http.send("DELETE", path, via=caller.via, again=False))
