"""Store asks, with their answers, messages, drafts and secrets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.ask_rows import (
    answer_row,
    ask_row,
    message_row,
    read_answer,
    read_ask,
    read_message,
    read_visit,
    state_row,
    visit_row,
)
from gatebell.adapters.tables.statements import ConstraintError, OvertakenError
from gatebell.adapters.tables.values import as_time, from_json, names_unreadable, read_time
from gatebell.domain.asks.asks import Ask, Change, Message, iso
from gatebell.domain.asks.history_filters import EVERYTHING
from gatebell.domain.asks.owners import run_of, task_of
from gatebell.domain.enums import AskStatus
from gatebell.errors import RefusedError
from gatebell.ports.results import Conflict, Done, Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from gatebell.adapters.tables.store import TableStore
    from gatebell.domain.asks.answers import Answer
    from gatebell.domain.asks.history_filters import HistoryFilter
    from gatebell.domain.audit.events import Event
    from gatebell.domain.permissions.past_calls import PastCall
    from gatebell.domain.sessions.visits import Visit
    from gatebell.domain.stats import Wait

_PAGE = 10_000


class StoredAsks:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("asks")

    def open(self, change: Change, key: str = "") -> Result:
        ask = change.ask
        try:
            with self._store.transaction() as at:
                task = task_of(ask.origin.owner)
                if task:
                    self._store.locks.hold_tasks(task)
                if ask.question.attachments:
                    self._store.attachments.use(ask.question.attachments)
                self._db.write("insert_ask", ask_row(ask))
                if task:
                    self._store.tasks.record_ask(task, at)
                if key:
                    self._db.write("insert_ask_key", {"key": key, "ask_id": ask.id})
                self._store.record(at, change.events, change.notices)
        except RefusedError:
            return Conflict(None)
        except ConstraintError as error:
            found = self._asks("ask_with_key", key) if key else []
            found = found or self._asks("attachable_ask", ask.origin.session, ask.digest)
            if not found and ask.deferred:
                found = self._asks("deferred_ask", ask.origin.session)
            if not found and not self.get(ask.id):
                raise self._db.problem(error) from error
            return Conflict(found[0] if found else None)
        return Done()

    def get(self, ask_id: str) -> Ask | None:
        found = self._asks("get_ask", ask_id)
        return found[0] if found else None

    def with_key(self, key: str) -> Ask | None:
        found = self._asks("ask_with_key", key)
        return found[0] if found else None

    def matching(self, prefix: str, limit: int) -> list[str]:
        return [found for (found,) in self._db.rows("matching_ids", (prefix, limit))]

    def count(self) -> int:
        return int(self._db.rows("count_asks")[0][0])

    def pending(self, limit: int, project: str | None = None, key: str = "") -> list[Ask]:
        if project is None:
            return self._asks("pending_asks", limit)
        wanted = {"project": project, "key": key, "limit": limit}
        return [read_ask(row) for row in self._db.rows("pending_asks_of_project", wanted)]

    def pending_of_session(self, session: str) -> list[Ask]:
        return self._asks("pending_asks_of_session", session)

    def pending_of_run(self, run_id: int) -> list[Ask]:
        return self._asks("pending_asks_of_run", f"run:{run_id}/", f"run:{run_id}0")

    def of_task(self, task_id: str) -> list[Ask]:
        return self._asks("asks_of_task", task_id)

    def of_run(self, run_id: int) -> list[Ask]:
        return self._asks("asks_of_run", f"run:{run_id}/", f"run:{run_id}0")

    def list_settled(self, limit: int, wanted: HistoryFilter = EVERYTHING) -> list[Ask]:
        given = wanted._asdict() | {
            "search": wanted.search.lower(),
            "since": iso(wanted.since) or "",
            # After every time.
            "until": iso(wanted.until) or "~",
            "limit": limit,
        }
        if not wanted.person:
            name = "agent" if wanted.agent else "project" if wanted.project else ""
            query = f"settled_asks_of_{name}" if name else "settled_asks"
            return [read_ask(row) for row in self._db.rows(query, given)]
        found: dict[str, Ask] = {}
        for query in ("settled_asks_by", "settled_asks_by_several"):
            found |= {ask.id: ask for ask in map(read_ask, self._db.rows(query, given))}
        newest = sorted(found.values(), key=lambda ask: iso(ask.settled_at) or "", reverse=True)
        return newest[:limit]

    def past_calls(self, project: str, limit: int) -> list[PastCall]:
        rows = self._db.rows("past_calls", {"project": project, "limit": limit})
        return [_read_past_call(row) for row in rows]

    def objected_calls(self, project: str, limit: int) -> list[PastCall]:
        rows = self._db.rows("objected_calls", {"project": project, "limit": limit})
        return [_read_past_call(row) for row in rows]

    def count_objections(self, project: str) -> int:
        return int(self._db.rows("count_objections", {"project": project})[0][0])

    def waits(self, since: datetime, until: datetime, project: str) -> list[Wait]:
        now = {"until": iso(until), "project": project}
        rows = self._db.rows("waits_since", now | {"since": iso(since)})
        return [_read_wait(row) for row in (*rows, *self._db.rows("waits_now", now))]

    def due(self, now: datetime, limit: int) -> list[Ask]:
        return self._asks("due_asks", iso(now), limit)

    def without_events(self) -> list[str]:
        return [ask_id for (ask_id,) in self._db.rows("asks_without_events")]

    def change(
        self,
        change: Change,
        expected_version: int,
        answer: Answer | None = None,
        secret: Any = None,
    ) -> Result:
        ask = change.ask
        try:
            with self._store.transaction() as at:
                self._must_be_possible(change)
                self._write_state(ask, expected_version)
                if answer:
                    self._write_answer(answer)
                    whose = {"ask_id": ask.id, "principal": answer.principal}
                    self._db.write("drop_draft", whose)
                if secret is not None:
                    kept = {
                        "ask_id": ask.id,
                        "value": self._store.hide_secret(ask.id, json.dumps(secret)),
                        "kept_at": at,
                    }
                    self._db.write("keep_secret", kept)
                if change.message:
                    self._db.write("insert_message", message_row(change.message))
                if change.erase_secret and ask.token_digest:
                    self._db.write("erase_secret", {"ask_id": ask.id})
                self._write_rules(change, at)
                if change.visit:
                    self._db.write("write_visit", visit_row(change.visit))
                if change.turn:
                    self._store.runs.write_turn(change.turn)
                for owner in change.wakes:
                    self._wake(owner, ask.id, at)
                self._store.record(at, change.events, change.notices)
        except OvertakenError:
            return Conflict(self.get(ask.id))
        except ConstraintError as error:
            if change.visit and self.holder(change.visit.cli, change.visit.session):
                return Conflict(self.get(ask.id))
            return self._key_conflict(answer, error)
        if change.erase_secret and ask.token_digest:
            self._store.clear_traces()
        return Done()

    def _write_answer(self, answer: Answer) -> None:
        if answer.attachments:
            self._store.attachments.use(answer.attachments)
        self._db.write("insert_answer", answer_row(answer))

    def _must_be_possible(self, change: Change) -> None:
        """Undo a change that is refused now, and lock what comes before its ask, in this order."""
        if change.unless_frozen:
            self._store.freezes.refuse()
        if change.chat_link:
            self._store.chats.must_be_linked(change.chat_link)
        self._lock_owners(change)
        if change.rules_seen:
            self._store.rules.must_still_be(change.ask.origin.project, change.rules_seen)

    def _write_rules(self, change: Change, at: str) -> None:
        if change.grant:
            self._store.rules.write(change.grant)
        for shadow_id in change.suspends:
            self._store.rules.suspend(shadow_id)
        for rule_id in change.ends:
            self._store.rules.end_at_once(rule_id, at)
        if change.alarm:
            self._store.notes.write(change.alarm, at)

    def _lock_owners(self, change: Change) -> None:
        """Lock the tasks and runs that the change wakes, before its ask."""
        runs = {run for owner in change.wakes if (run := run_of(owner))}
        if change.turn:
            runs.add(change.turn.run)
        for task in sorted({task for owner in change.wakes if (task := task_of(owner))}):
            self._store.locks.hold_tasks(task)
        for run in sorted(runs):
            self._store.locks.hold_task_of_run(run)
        for run in sorted(runs):
            self._store.locks.hold_run(run)

    def try_change(self, change: Change, at: str) -> None:
        """Change an ask in the transaction of its run, unless the ask has just changed."""
        if self._db.write("change_ask", state_row(change.ask, change.ask.version - 1)):
            self._store.record(at, change.events, change.notices)

    def _wake(self, owner: str, ask_id: str, at: str) -> None:
        if run := run_of(owner):
            if self._db.write("wake_run", {"id": run}):
                self._store.runs.move_task(run, at)
        elif task := task_of(owner):
            self._store.tasks.record_answer(task, at)
        else:
            row = {"owner": owner, "ask_id": ask_id, "woken_at": at}
            self._db.write("wake", row)

    def _write_state(self, ask: Ask, expected_version: int) -> None:
        if not self._db.write("change_ask", state_row(ask, expected_version)):
            raise OvertakenError

    def keep_answer(self, answer: Answer, events: Sequence[Event]) -> Result:
        try:
            with self._store.transaction() as at:
                self._write_answer(answer)
                self._store.record(at, events)
        except ConstraintError as error:
            return self._key_conflict(answer, error)
        return Done()

    def _key_conflict(self, answer: Answer | None, error: Exception) -> Conflict:
        """Return a conflict for a key that is in use; raise any other error."""
        if answer and self.answer_with_key(answer.ask_id, answer.principal, answer.key):
            return Conflict(self.get(answer.ask_id))
        raise self._db.problem(error) from error

    def answers(self, ask_id: str) -> list[Answer]:
        return [read_answer(row) for row in self._db.rows("answers_of_ask", (ask_id,))]

    def answer_with_key(self, ask_id: str, principal: str, key: str) -> Answer | None:
        rows = self._db.rows("answer_with_key", (ask_id, principal, key))
        return read_answer(rows[0]) if rows else None

    def messages(self, ask_id: str) -> list[Message]:
        rows = self._db.rows("messages_of_ask", (ask_id,))
        return [read_message(row) for row in rows]

    def save_draft(
        self, change: Change, expected_version: int, principal: str, text: str
    ) -> Result:
        ask = change.ask
        try:
            with self._store.transaction() as at:
                self._write_state(ask, expected_version)
                draft = {"ask_id": ask.id, "principal": principal, "text": text, "saved_at": at}
                self._db.write("save_draft", draft)
                self._store.record(at, change.events)
        except OvertakenError:
            return Conflict(self.get(ask.id))
        return Done()

    def draft(self, ask_id: str, principal: str) -> str:
        rows = self._db.rows("get_draft", (ask_id, principal))
        return str(rows[0][0]) if rows else ""

    def drafting(self, since: datetime) -> list[tuple[str, str]]:
        rows = self._db.rows("drafts_since", (iso(since),))
        return [(ask_id, principal) for ask_id, principal in rows]

    def waiting_counts(self) -> list[tuple[str, int]]:
        return [(project, number) for project, number in self._db.rows("waiting_counts")]

    def secret(self, ask_id: str) -> Any:
        rows = self._db.rows("get_secret", (ask_id,))
        return from_json(self._store.show_secret(ask_id, rows[0][0])) if rows else None

    def erase_secrets(self, before: datetime) -> int:
        old = self._db.rows("old_secrets", (iso(before),))
        if old:
            with self._store.transaction():
                for (ask_id,) in old:
                    self._db.write("erase_secret", {"ask_id": ask_id})
            self._store.clear_traces()
        return len(old)

    def visits(self, ask_id: str) -> list[Visit]:
        return [read_visit(row) for row in self._db.rows("visits_of_ask", (ask_id,))]

    def visit(self, visit_id: str) -> Visit | None:
        rows = self._db.rows("get_visit", (visit_id,))
        return read_visit(rows[0]) if rows else None

    def open_visits(self) -> list[Visit]:
        return [read_visit(row) for row in self._db.rows("open_visits")]

    def holder(self, cli: str, session: str) -> Visit | None:
        rows = self._db.rows("open_visit", (cli, session))
        return read_visit(rows[0]) if rows else None

    def to_fence(self) -> Iterator[Ask]:
        # By row numbers, not by a limit: each statement reads only so many rows.
        for after in range(0, self.count(), _PAGE):
            yield from self._asks("asks_to_fence", after, after + _PAGE)

    def woken(self) -> list[str]:
        return [owner for (owner,) in self._db.rows("woken")]

    def _asks(self, query: str, *parameters: Any) -> list[Ask]:
        return [read_ask(row) for row in self._db.rows(query, parameters)]


@names_unreadable("the ask")
def _read_past_call(row: Any) -> PastCall:
    # Imported here and below: only the suggestion of rules and the numbers of a period need it.
    from gatebell.domain.people.logins import client_of
    from gatebell.domain.permissions.calls import Call
    from gatebell.domain.permissions.past_calls import PastCall, find_outcome

    ask_id, call, session, key, status, decision, value, note, asked_back, at = row
    outcome = find_outcome(status, decision, from_json(value), note, asked_back)
    call = Call(*json.loads(call))
    return PastCall(ask_id, call, client_of(session), key, outcome, read_time(at))


def _read_wait(row: Any) -> Wait:
    from gatebell.domain.stats import Wait

    session, owner, opened_at, settled_at, status, decision, is_call, goes_on = row
    return Wait(
        session or owner,
        read_time(opened_at),
        as_time(settled_at),
        status == AskStatus.ANSWERED,
        bool(is_call) and decision is not None,
        bool(goes_on),
    )
