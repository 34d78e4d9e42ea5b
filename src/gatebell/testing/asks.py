"""Asks in memory, with all that belongs to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.owners import run_of, task_of
from gatebell.errors import RefusedError
from gatebell.ports.results import Conflict, Done

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.asks.answers import Answer
    from gatebell.domain.asks.asks import Ask, Change, Message
    from gatebell.domain.audit.events import Event
    from gatebell.domain.sessions.visits import Sitting
    from gatebell.ports.results import Result
    from gatebell.testing.store import MemoryStore


class MemoryAsks:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._asks: dict[str, Ask] = {}
        self._answers: list[Answer] = []
        self._messages: list[Message] = []
        self._drafts: dict[tuple[str, str], str] = {}
        self._drafted_at: dict[tuple[str, str], datetime] = {}
        self._keys: dict[str, str] = {}
        self._secrets: dict[str, tuple[datetime, Any]] = {}
        self._woken: list[str] = []
        self._sittings: dict[str, Sitting] = {}

    def open(self, change: Change, key: str = "") -> Result:
        new = change.ask
        with self._store.lock:
            if key in self._keys:
                return Conflict(self._asks[self._keys[key]])
            if new.origin.session[-1:] not in ("", "/") and not new.token_digest:
                for ask in self._asks.values():
                    same = (ask.origin.session, ask.digest) == (new.origin.session, new.digest)
                    untaken = ask.status in ("pending", "answered") and not ask.delivered_at
                    if same and untaken and not ask.token_digest:
                        return Conflict(ask)
            if new.deferred:
                for ask in self.pending_of_session(new.origin.session) + self._untaken(new):
                    if ask.deferred:
                        return Conflict(ask)
            if new.id in self._asks:
                return Conflict(None)
            if task := task_of(new.origin.owner):
                try:
                    self._store.tasks.asked(task)
                except RefusedError:
                    return Conflict(None)
            self._asks[new.id] = new
            if key:
                self._keys[key] = new.id
            self._store.record(change.events, change.notices)
            return Done()

    def get(self, ask_id: str) -> Ask | None:
        return self._asks.get(ask_id)

    def with_key(self, key: str) -> Ask | None:
        return self._asks[self._keys[key]] if key in self._keys else None

    def matching(self, prefix: str, limit: int) -> list[str]:
        return sorted(ask_id for ask_id in self._asks if ask_id.startswith(prefix))[:limit]

    def count(self) -> int:
        return len(self._asks)

    def pending(self, limit: int, project: str | None = None) -> list[Ask]:
        found = [a for a in self._asks.values() if a.pending]
        found = [a for a in found if project is None or a.origin.project == project]
        return sorted(found, key=lambda ask: (ask.priority, ask.opened_at))[:limit]

    def _untaken(self, new: Ask) -> list[Ask]:
        """What the session of this ask was answered and has not taken."""
        asks = [ask for ask in self._asks.values() if ask.origin.session == new.origin.session]
        return [ask for ask in asks if ask.status == "answered" and not ask.delivered_at]

    def pending_of_session(self, session: str) -> list[Ask]:
        return [a for a in self._asks.values() if a.pending and a.origin.session == session != ""]

    def pending_of_run(self, run_id: int) -> list[Ask]:
        return [ask for ask in self.of_run(run_id) if ask.pending]

    def of_task(self, task_id: str) -> list[Ask]:
        return [ask for ask in self._asks.values() if task_id and ask.origin.task == task_id]

    def of_run(self, run_id: int) -> list[Ask]:
        return [ask for ask in self._asks.values() if run_of(ask.origin.owner) == run_id]

    def settled(self, limit: int, search: str = "") -> list[Ask]:
        found = [ask for ask in self._asks.values() if ask.settled_at]
        texts = {ask.id: f"{ask.question.prompt}\n{ask.note}\n{ask.id}".lower() for ask in found}
        found = [ask for ask in found if search.lower() in texts[ask.id]]
        return sorted(found, key=lambda ask: str(ask.settled_at), reverse=True)[:limit]

    def due(self, now: datetime, limit: int) -> list[Ask]:
        clocks = {ask.id: ask.deadlines.due_at for ask in self._asks.values() if ask.pending}
        due = sorted((at, ask_id) for ask_id, at in clocks.items() if at and at <= now)
        return [self._asks[ask_id] for _, ask_id in due][:limit]

    def without_events(self) -> list[str]:
        settling = ("ask.answered", "ask.cancelled", "ask.timed_out")
        told = {(e.event.subject, e.event.kind) for e in self._store.audit.entries()}
        settled = {subject for subject, kind in told if kind in settling}
        return sorted(
            ask.id
            for ask in self._asks.values()
            if (ask.id, "ask.opened") not in told
            or not (ask.pending or ask.id in settled)
            or (ask.delivered_at and (ask.id, "ask.taken") not in told)
        )

    def withdraw(self, change: Change) -> None:
        """As part of the transaction that ends a run; whoever was faster has settled the ask."""
        current = self._asks.get(change.ask.id)
        if current and current.version == change.ask.version - 1:
            self._asks[change.ask.id] = change.ask
            self._store.record(change.events, change.notices)

    def change(
        self,
        change: Change,
        expected_version: int,
        answer: Answer | None = None,
        secret: Any = None,
    ) -> Result:
        ask = change.ask
        with self._store.lock:
            current = self._asks.get(ask.id)
            if current is None or current.version != expected_version:
                return Conflict(current)
            if change.sitting and self._is_held(change.sitting):
                return Conflict(current)
            if answer:
                if self._key_used(answer):
                    return Conflict(current)
                self._answers.append(answer)
                self._drafts.pop((ask.id, answer.principal), None)
                self._drafted_at.pop((ask.id, answer.principal), None)
            if secret is not None:
                self._secrets[ask.id] = (self._store.now(), secret)
            if change.message:
                self._messages.append(change.message)
            if change.erase_secret:
                self._secrets.pop(ask.id, None)
            self._asks[ask.id] = ask
            if change.sitting:
                self._sittings[change.sitting.id] = change.sitting
            if change.turn:
                self._store.runs.write_turn(change.turn)
            if change.grant:
                self._store.rules.rules[change.grant.id] = change.grant
            for owner in change.wakes:
                if run := run_of(owner):
                    self._store.runs.wake(run)
                elif task := task_of(owner):
                    self._store.tasks.heard(task)
                else:
                    self._woken.append(owner)
            self._store.record(change.events, change.notices)
            return Done()

    def _key_used(self, answer: Answer) -> bool:
        if not answer.key:
            return False
        return self.answer_with_key(answer.ask_id, answer.principal, answer.key) is not None

    def keep_answer(self, answer: Answer, events: Sequence[Event]) -> Result:
        with self._store.lock:
            if self._key_used(answer):
                return Conflict(self.get(answer.ask_id))
            self._answers.append(answer)
            self._store.record(events)
            return Done()

    def answers(self, ask_id: str) -> list[Answer]:
        return [answer for answer in self._answers if answer.ask_id == ask_id]

    def answer_with_key(self, ask_id: str, principal: str, key: str) -> Answer | None:
        for answer in self._answers:
            if (answer.ask_id, answer.principal, answer.key) == (ask_id, principal, key):
                return answer
        return None

    def messages(self, ask_id: str) -> list[Message]:
        return [message for message in self._messages if message.ask_id == ask_id]

    def save_draft(
        self, change: Change, expected_version: int, principal: str, text: str
    ) -> Result:
        ask = change.ask
        with self._store.lock:
            current = self._asks.get(ask.id)
            if current is None or current.version != expected_version:
                return Conflict(current)
            self._asks[ask.id] = ask
            self._drafts[ask.id, principal] = text
            self._drafted_at[ask.id, principal] = self._store.now()
            self._store.record(change.events)
            return Done()

    def draft(self, ask_id: str, principal: str) -> str:
        return self._drafts.get((ask_id, principal), "")

    def drafting(self, since: datetime) -> list[tuple[str, str]]:
        found = sorted((at, key) for key, at in self._drafted_at.items() if at > since)
        return [key for _, key in found if self._asks[key[0]].pending]

    def waiting_counts(self) -> list[tuple[str, int]]:
        waiting = [ask.origin.project for ask in self._asks.values() if ask.pending]
        counts = [(project, waiting.count(project)) for project in set(waiting)]
        return sorted(counts, key=lambda one: (-one[1], one[0]))

    def secret(self, ask_id: str) -> Any:
        return self._secrets.get(ask_id, (None, None))[1]

    def erase_secrets(self, before: datetime) -> int:
        with self._store.lock:
            old = [ask_id for ask_id, (kept_at, _) in self._secrets.items() if kept_at < before]
            for ask_id in old:
                del self._secrets[ask_id]
            return len(old)

    def sittings(self, ask_id: str) -> list[Sitting]:
        return [one for one in self._sittings.values() if one.ask_id == ask_id]

    def sitting(self, sitting_id: str) -> Sitting | None:
        return self._sittings.get(sitting_id)

    def open_sittings(self) -> list[Sitting]:
        found = [one for one in self._sittings.values() if not one.ended_at]
        return sorted(found, key=lambda one: one.ask_id)

    def holder(self, cli: str, session: str) -> Sitting | None:
        for one in self._sittings.values():
            if (one.cli, one.session) == (cli, session) and session and not one.ended_at:
                return one
        return None

    def _is_held(self, wanted: Sitting) -> bool:
        holder = self.holder(wanted.cli, wanted.session)
        return bool(holder and holder.id != wanted.id and not wanted.ended_at)

    def woken(self) -> list[str]:
        return list(self._woken)
