"""The backend in process: each verb calls its service on the store of this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.app import wiring
from gatebell.app.local_rules import LocalRules
from gatebell.app.local_work import LocalWork
from gatebell.errors import StoreError
from gatebell.services.asks import (
    answer_ask,
    apply_deadlines,
    ask_messages,
    create_ask,
    wait_for_ask,
    waiters,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from gatebell.domain.asks.answers import Answer, Given
    from gatebell.domain.asks.asks import Ask, Message, Origin
    from gatebell.domain.asks.attachments import Attachment
    from gatebell.domain.asks.history_filters import HistoryFilter
    from gatebell.domain.asks.requests import Opened, Request
    from gatebell.domain.audit.events import Entry
    from gatebell.domain.enums import RuleKind
    from gatebell.domain.freezes import Freeze
    from gatebell.domain.notifications.notes import Note
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.calls import Call
    from gatebell.domain.permissions.rules import Rule
    from gatebell.errors import ServerError
    from gatebell.ports.calls.waiting_calls import Held, Permission
    from gatebell.ports.store import Store

# Imported inside the functions: only hooks and MCP need the code for permissions and notes.


class LocalBackend(LocalWork, LocalRules):
    """The verbs of `ports/backends/backend.py` on one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.name = store.name

    @property
    def store(self) -> Store:
        return self._store

    @property
    def folder(self) -> str:
        return os.path.dirname(os.path.abspath(self._store.local_path))

    def caller(self, via: str, token: str = "", name: str = "") -> Caller:
        return wiring.caller(self._store, via, token, name)

    def name_of(self, caller: Caller) -> str:
        return caller.name

    def now(self) -> datetime:
        return self._store.now()

    def monotonic(self) -> float:
        return self._store.monotonic()

    def ask(self, request: Request, origin: Origin, caller: Caller, key: str = "") -> Opened:
        return create_ask.ask(self._store, request, origin, caller, key)

    def follow(
        self, ask_id: str, seconds: float | None = None, hears: bool = True
    ) -> Iterator[Ask]:
        return wait_for_ask.follow(self._store, ask_id, seconds, hears)

    def waiting_requests(self) -> None:
        return None

    def is_ready(self, ask: Ask) -> bool:
        return wait_for_ask.is_ready(self._store, ask)

    def reveal(self, ask: Ask, token: str) -> tuple[Ask, Any]:
        return ask, wait_for_ask.reveal(self._store, ask, token)

    def take(self, ask: Ask, to: str) -> bool:
        return wait_for_ask.take(self._store, ask, to)

    def hear(self, ask: Ask) -> None:
        wait_for_ask.hear(self._store, ask)

    def reply(self, ask_id: str, caller: Caller, text: str) -> Ask:
        return ask_messages.reply(self._store, ask_id, caller, text)

    def cancel(self, ask_id: str, caller: Caller, reason: str, *, failed: bool = False) -> Ask:
        if failed:
            # Imported here: only sessions fail.
            from gatebell.services.sessions.ask_session import fail

            return fail(self._store, ask_id, caller, reason)
        return create_ask.cancel(self._store, ask_id, caller, reason)

    def pending_of_session(self, origin: Origin) -> list[Ask]:
        return self._store.asks.pending_of_session(origin.session)

    def is_of_session(self, ask: Ask, origin: Origin) -> bool:
        return ask.origin.session == origin.session

    def get(self, ask_id: str) -> Ask:
        return apply_deadlines.fall_due(self._store, create_ask.get(self._store, ask_id))

    def find(self, named: str) -> Ask:
        return apply_deadlines.fall_due(self._store, create_ask.find(self._store, named))

    def look_up(self, abbreviation: str) -> Ask:
        return apply_deadlines.fall_due(self._store, create_ask.look_up(self._store, abbreviation))

    def pending(self, limit: int, project: str | None = None, key: str = "") -> list[Ask]:
        apply_deadlines.sweep(self._store)
        return self._store.asks.pending(limit, project, key)

    def settled(self, limit: int, wanted: HistoryFilter) -> list[Ask]:
        apply_deadlines.sweep(self._store)
        return self._store.asks.list_settled(limit, wanted)

    def messages(self, ask_id: str) -> list[Message]:
        return list(self._store.asks.messages(ask_id))

    def answers(self, ask_id: str) -> list[Answer]:
        return list(self._store.asks.answers(ask_id))

    def events(self, ask_id: str) -> list[Entry]:
        return list(self._store.audit.of_subject(ask_id))

    def find_freeze(self) -> Freeze | None:
        return self._store.freezes.find()

    def notes(self, limit: int) -> list[Note]:
        return list(self._store.notes.newest(limit))

    def is_waiter_gone(self, ask: Ask) -> bool:
        return waiters.is_waiter_gone(self._store, ask)

    def describe_trust(self, ask: Ask) -> str:
        # Imported here: only commands that show an approval need it.
        from gatebell.services.people.trust import describe_trust

        return describe_trust(self._store, ask)

    def attach(self, name: str, content: bytes) -> Attachment:
        # Imported here and below: most asks have no files.
        from gatebell.services.asks import attachments

        return attachments.attach(self._store, name, content)

    def read_attachment(self, ask_id: str, attachment: Attachment) -> bytes:
        from gatebell.services.asks import attachments

        return attachments.read(self._store, attachment)

    def answer(self, ask_id: str, caller: Caller, given: Given) -> Ask:
        return answer_ask.answer(self._store, ask_id, caller, given)[1]

    def ask_back(self, ask_id: str, caller: Caller, text: str) -> Ask:
        return ask_messages.ask_back(self._store, ask_id, caller, text)

    def draft(self, ask_id: str, caller: Caller) -> str:
        return answer_ask.draft(self._store, ask_id, caller)

    def save_draft(self, ask_id: str, caller: Caller, text: str) -> None:
        answer_ask.save_draft(self._store, ask_id, caller, text)

    def keep_typed(self, error: ServerError, ask_id: str, text: str) -> ServerError:
        return error

    def signal_run(self, run_id: int, status: str, message: str, caller: Caller) -> Ask:
        from gatebell.services.runs import manage_runs

        return manage_runs.signal(self._store, run_id, status, message, caller)

    def freeze(self, caller: Caller, reason: str) -> tuple[Freeze, bool]:
        from gatebell.services import freezes

        return freezes.begin(self._store, caller, reason)

    def lift_freeze(self, caller: Caller) -> Freeze | None:
        from gatebell.services import freezes

        return freezes.lift(self._store, caller)

    def gates(self) -> list[Rule]:
        from gatebell.services.permissions import manage_rules

        return manage_rules.gates(self._store)

    def grants(self) -> list[Rule]:
        from gatebell.services.permissions import manage_rules

        return manage_rules.grants(self._store)

    def add_gate(
        self, caller: Caller, kind: RuleKind, project: str, pattern: str, key: str = ""
    ) -> Rule:
        from gatebell.services.permissions import manage_rules

        return manage_rules.add(self._store, caller, kind, project, pattern, key)

    def end_gate(self, caller: Caller, named: str) -> Rule:
        from gatebell.services.permissions import manage_rules

        return manage_rules.end_gate(self._store, caller, named)

    def end_grant(self, caller: Caller, rule_id: str) -> Rule:
        from gatebell.services.permissions import manage_rules

        return manage_rules.end_grant(self._store, caller, rule_id)

    def decide(self, held: Held, caller: Caller) -> Permission:
        from gatebell.services.permissions import permit_call

        return permit_call.decide(self._store, held, caller)

    def defer(self, held: Held, caller: Caller) -> Permission | None:
        from gatebell.services.permissions import permit_call

        return permit_call.defer(self._store, held, caller)

    def is_gated(
        self,
        call: Call,
        origin: Origin,
        folders: tuple[str, ...] = (),
        *,
        is_harmless: bool = False,
    ) -> bool:
        from gatebell.services.permissions import permit_call

        return permit_call.is_gated(self._store, call, origin, folders, is_harmless=is_harmless)

    def must_have_gates(self) -> None:
        if not self._store.rules.had_gates():
            raise StoreError(f"the store {self.name} never had a gate. {wiring.FIND_GATES}")

    def instead(self, ask_id: str, held: Held, edited: Call) -> Permission:
        from gatebell.services.permissions import permit_call

        return permit_call.instead(self._store, ask_id, held, edited)

    def hand_over(self, permission: Permission, held: Held) -> None:
        from gatebell.services.permissions import permit_call

        permit_call.hand_over(self._store, permission, held)

    def retire(self, ask: Ask, caller: Caller, reason: str) -> Ask:
        from gatebell.services.permissions import permit_call

        return permit_call.retire(self._store, ask, caller, reason)

    def tell(self, origin: Origin, caller: Caller, text: str) -> None:
        from gatebell.services.notifications import notes

        notes.tell(self._store, origin, caller, text)

    def signal(self, origin: Origin, caller: Caller, status: str, summary: str) -> None:
        from gatebell.services.notifications import notes

        notes.signal(self._store, origin, caller, status, summary)
