"""Asks in SQLite, with the answers, messages, drafts and secrets that belong to them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import apsw

from gatebell.adapters.sqlite.queries import (
    as_json,
    as_member,
    as_time,
    from_json,
    load,
    names_unreadable,
    read_time,
)
from gatebell.domain.asks.answers import Answer
from gatebell.domain.asks.asks import Ask, Change, Message, Origin, Question, iso
from gatebell.domain.asks.deadlines import Deadlines, Escalation
from gatebell.domain.asks.owners import run_of, task_of
from gatebell.domain.asks.requirements import ANYBODY, Requirement
from gatebell.domain.enums import AnswerOutcome, AskKind, AskStatus, Decision, Priority, VisitEnd
from gatebell.domain.permissions.calls import Call
from gatebell.domain.sessions.visits import Sitting, Terms
from gatebell.errors import RefusedError
from gatebell.ports.results import Conflict, Done, Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.adapters.sqlite.store import SqliteStore
    from gatebell.domain.audit.events import Event

_SQL = load("asks")


class SqliteAsks:
    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._db = store.connection

    def open(self, change: Change, key: str = "") -> Result:
        ask = change.ask
        try:
            with self._store.transaction() as at:
                self._db.write(_SQL["insert_ask"], _to_row(ask))
                if task := task_of(ask.origin.owner):
                    self._store.tasks.asked(task, at)
                if key:
                    self._db.write(_SQL["insert_ask_key"], {"key": key, "ask_id": ask.id})
                self._store.record(at, change.events, change.notices)
        except RefusedError:
            return Conflict(None)
        except apsw.ConstraintError as error:
            found = self._asks("ask_with_key", key) if key else []
            found = found or self._asks("attachable_ask", ask.origin.session, ask.digest)
            if not found and ask.deferred:
                found = self._asks("deferred_ask", ask.origin.session)
            if not found and not self.get(ask.id):
                raise self._db.trouble(error) from error
            return Conflict(found[0] if found else None)
        return Done()

    def get(self, ask_id: str) -> Ask | None:
        found = self._asks("get_ask", ask_id)
        return found[0] if found else None

    def with_key(self, key: str) -> Ask | None:
        found = self._asks("ask_with_key", key)
        return found[0] if found else None

    def matching(self, prefix: str, limit: int) -> list[str]:
        return [found for (found,) in self._db.rows(_SQL["matching_ids"], (prefix, limit))]

    def count(self) -> int:
        return int(self._db.rows(_SQL["count_asks"])[0][0])

    def pending(self, limit: int, project: str | None = None) -> list[Ask]:
        if project is None:
            return self._asks("pending_asks", limit)
        return self._asks("pending_asks_of_project", project, limit)

    def pending_of_session(self, session: str) -> list[Ask]:
        return self._asks("pending_asks_of_session", session)

    def pending_of_run(self, run_id: int) -> list[Ask]:
        return self._asks("pending_asks_of_run", f"run:{run_id}/", f"run:{run_id}0")

    def of_task(self, task_id: str) -> list[Ask]:
        return self._asks("asks_of_task", task_id)

    def of_run(self, run_id: int) -> list[Ask]:
        return self._asks("asks_of_run", f"run:{run_id}/", f"run:{run_id}0")

    def settled(self, limit: int, search: str = "") -> list[Ask]:
        return self._asks("settled_asks", search.lower(), limit)

    def due(self, now: datetime, limit: int) -> list[Ask]:
        return self._asks("due_asks", iso(now), limit)

    def without_events(self) -> list[str]:
        return [ask_id for (ask_id,) in self._db.rows(_SQL["asks_without_events"])]

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
                self._write_state(ask, expected_version)
                if answer:
                    self._db.write(_SQL["insert_answer"], _answer_row(answer))
                    whose = {"ask_id": ask.id, "principal": answer.principal}
                    self._db.write(_SQL["drop_draft"], whose)
                if secret is not None:
                    kept = {"ask_id": ask.id, "value": json.dumps(secret), "kept_at": at}
                    self._db.write(_SQL["keep_secret"], kept)
                if change.message:
                    self._db.write(_SQL["insert_message"], _message_row(change.message))
                if change.erase_secret and ask.token_digest:
                    self._db.write(_SQL["erase_secret"], {"ask_id": ask.id})
                if change.grant:
                    self._store.rules.write(change.grant)
                if change.sitting:
                    self._db.write(_SQL["write_sitting"], _sitting_row(change.sitting))
                if change.turn:
                    self._store.runs.write_turn(change.turn)
                for owner in change.wakes:
                    self._wake(owner, ask.id, at)
                self._store.record(at, change.events, change.notices)
        except _OvertakenError:
            return Conflict(self.get(ask.id))
        except apsw.ConstraintError as error:
            if change.sitting and self.holder(change.sitting.cli, change.sitting.session):
                return Conflict(self.get(ask.id))
            return self._key_conflict(answer, error)
        if change.erase_secret and ask.token_digest:
            self._db.checkpoint()
        return Done()

    def withdraw(self, change: Change, at: str) -> None:
        """As part of the transaction that ends a run; whoever was faster has settled the ask."""
        if self._db.write(_SQL["change_ask"], _state(change.ask, change.ask.version - 1)):
            self._store.record(at, change.events, change.notices)

    def _wake(self, owner: str, ask_id: str, at: str) -> None:
        if run := run_of(owner):
            if self._db.write(_SQL["wake_run"], {"id": run}):
                self._store.runs.followed(run, at)
        elif task := task_of(owner):
            self._store.tasks.heard(task, at)
        else:
            row = {"owner": owner, "ask_id": ask_id, "woken_at": at}
            self._db.write(_SQL["wake"], row)

    def _write_state(self, ask: Ask, expected_version: int) -> None:
        if not self._db.write(_SQL["change_ask"], _state(ask, expected_version)):
            raise _OvertakenError

    def keep_answer(self, answer: Answer, events: Sequence[Event]) -> Result:
        try:
            with self._store.transaction() as at:
                self._db.write(_SQL["insert_answer"], _answer_row(answer))
                self._store.record(at, events)
        except apsw.ConstraintError as error:
            return self._key_conflict(answer, error)
        return Done()

    def _key_conflict(self, answer: Answer | None, error: Exception) -> Conflict:
        """The one constraint that honest work can hit: a key that is used already."""
        if answer and self.answer_with_key(answer.ask_id, answer.principal, answer.key):
            return Conflict(self.get(answer.ask_id))
        raise self._db.trouble(error) from error

    def answers(self, ask_id: str) -> list[Answer]:
        return [_to_answer(row) for row in self._db.rows(_SQL["answers_of_ask"], (ask_id,))]

    def answer_with_key(self, ask_id: str, principal: str, key: str) -> Answer | None:
        rows = self._db.rows(_SQL["answer_with_key"], (ask_id, principal, key))
        return _to_answer(rows[0]) if rows else None

    def messages(self, ask_id: str) -> list[Message]:
        rows = self._db.rows(_SQL["messages_of_ask"], (ask_id,))
        return [_to_message(row) for row in rows]

    def save_draft(
        self, change: Change, expected_version: int, principal: str, text: str
    ) -> Result:
        ask = change.ask
        try:
            with self._store.transaction() as at:
                self._write_state(ask, expected_version)
                draft = {"ask_id": ask.id, "principal": principal, "text": text, "saved_at": at}
                self._db.write(_SQL["save_draft"], draft)
                self._store.record(at, change.events)
        except _OvertakenError:
            return Conflict(self.get(ask.id))
        return Done()

    def draft(self, ask_id: str, principal: str) -> str:
        rows = self._db.rows(_SQL["get_draft"], (ask_id, principal))
        return str(rows[0][0]) if rows else ""

    def drafting(self, since: datetime) -> list[tuple[str, str]]:
        rows = self._db.rows(_SQL["drafts_since"], (iso(since),))
        return [(ask_id, principal) for ask_id, principal in rows]

    def waiting_counts(self) -> list[tuple[str, int]]:
        return [(project, number) for project, number in self._db.rows(_SQL["waiting_counts"])]

    def secret(self, ask_id: str) -> Any:
        rows = self._db.rows(_SQL["get_secret"], (ask_id,))
        return json.loads(rows[0][0]) if rows else None

    def erase_secrets(self, before: datetime) -> int:
        old = self._db.rows(_SQL["old_secrets"], (iso(before),))
        if old:
            with self._store.transaction():
                for (ask_id,) in old:
                    self._db.write(_SQL["erase_secret"], {"ask_id": ask_id})
            self._db.checkpoint()
        return len(old)

    def sittings(self, ask_id: str) -> list[Sitting]:
        return [_to_sitting(row) for row in self._db.rows(_SQL["sittings_of_ask"], (ask_id,))]

    def sitting(self, sitting_id: str) -> Sitting | None:
        rows = self._db.rows(_SQL["get_sitting"], (sitting_id,))
        return _to_sitting(rows[0]) if rows else None

    def open_sittings(self) -> list[Sitting]:
        return [_to_sitting(row) for row in self._db.rows(_SQL["open_sittings"])]

    def holder(self, cli: str, session: str) -> Sitting | None:
        rows = self._db.rows(_SQL["open_sitting"], (cli, session))
        return _to_sitting(rows[0]) if rows else None

    def woken(self) -> list[str]:
        return [owner for (owner,) in self._db.rows(_SQL["woken"])]

    def _asks(self, query: str, *parameters: Any) -> list[Ask]:
        return [_to_ask(row) for row in self._db.rows(_SQL[query], parameters)]


class _OvertakenError(Exception):
    """Undoes a transaction whose version is no longer the current one."""


def _to_row(ask: Ask) -> dict[str, Any]:
    question, clock = ask.question, ask.deadlines
    requirement = question.requirement
    return {
        "kind": question.kind,
        "prompt": question.prompt,
        "context": as_json(question.context),
        "options": json.dumps(question.options) if question.options else None,
        "multiple": question.multiple,
        "other": question.other,
        "schema": as_json(question.schema),
        "default_value": as_json(question.default),
        "secret": question.secret,
        "requirement": json.dumps(requirement) if requirement.personal else None,
        "call": json.dumps(question.call) if question.call else None,
        "terms": json.dumps(question.session) if question.session else None,
        **ask.origin._asdict(),
        "opened_at": iso(ask.opened_at),
        "digest": ask.digest,
        "priority": ask.priority,
        "confidence": ask.confidence,
        "going_on": ask.going_on,
        "token_digest": ask.token_digest,
        "deferred": ask.deferred,
        "hard": clock.hard,
        "remind_every_seconds": clock.remind_every_seconds,
        "escalations": json.dumps(clock.escalations) if clock.escalations else None,
        **_state(ask),
    }


def _state(ask: Ask, expected_version: int = 0) -> dict[str, Any]:
    """What can change of an ask, and from which version it may be written."""
    clock = ask.deadlines
    return {
        "id": ask.id,
        "expected_version": expected_version,
        "expires_at": iso(clock.expires_at),
        "moved_seconds": clock.moved_seconds,
        "remind_at": iso(clock.remind_at),
        "escalated": clock.escalated,
        "escalate_at": iso(clock.escalate_at),
        "due_at": iso(clock.due_at),
        "status": ask.status,
        "decision": ask.decision,
        "value": as_json(ask.value),
        "note": ask.note,
        "settled_at": iso(ask.settled_at),
        "settled_by": ask.settled_by,
        "settled_via": ask.settled_via,
        "delivered_at": iso(ask.delivered_at),
        "delivered_to": ask.delivered_to,
        "asked_back": ask.asked_back,
        "heard": ask.heard,
        "version": ask.version,
    }


def _to_question(row: Any) -> Question:
    return Question(
        kind=as_member(AskKind, row[2]),
        prompt=row[3],
        context=from_json(row[4]),
        options=tuple(json.loads(row[5])) if row[5] else (),
        multiple=bool(row[6]),
        other=bool(row[7]),
        schema=from_json(row[8]),
        default=from_json(row[9]),
        secret=bool(row[10]),
        requirement=_to_requirement(row[11]),
        call=Call(*json.loads(row[46])) if row[46] else None,
        session=_to_terms(row[48]) if row[48] else None,
    )


def _to_terms(text: str) -> Terms:
    answer, *rest = json.loads(text)
    return Terms(as_member(AskKind, answer), *rest)


def _to_deadlines(row: Any) -> Deadlines:
    return Deadlines(
        hard=bool(row[25]),
        remind_every_seconds=row[26],
        escalations=tuple(Escalation(*one) for one in json.loads(row[27])) if row[27] else (),
        expires_at=as_time(row[28]),
        moved_seconds=row[29],
        remind_at=as_time(row[30]),
        escalated=row[31],
        escalate_at=as_time(row[32]),
    )


@names_unreadable("ask", 1)
def _to_ask(row: Any) -> Ask:
    return Ask(
        id=row[1],
        question=_to_question(row),
        origin=Origin(*row[12:19])._replace(task=row[49]),
        opened_at=read_time(row[19]),
        digest=row[20],
        priority=as_member(Priority, row[21]),
        confidence=row[22],
        going_on=row[23],
        token_digest=row[24],
        deadlines=_to_deadlines(row),
        status=as_member(AskStatus, row[34]),
        decision=_to_decision(row[35]),
        value=from_json(row[36]),
        note=row[37],
        settled_at=as_time(row[38]),
        settled_by=row[39],
        settled_via=row[40],
        delivered_at=as_time(row[41]),
        delivered_to=row[42],
        asked_back=row[43],
        heard=row[44],
        version=row[45],
        deferred=bool(row[47]),
    )


def _to_decision(word: str | None) -> Decision | None:
    return None if word is None else as_member(Decision, word)


def _sitting_row(sitting: Sitting) -> dict[str, Any]:
    times = ("started_at", "ended_at", "expires_at")
    told = {name: iso(getattr(sitting, name)) for name in times}
    return sitting._asdict() | told


@names_unreadable("a session of ask", 1)
def _to_sitting(row: Any) -> Sitting:
    started, (ended, expires) = read_time(row[7]), map(as_time, (row[9], row[13]))
    read = Sitting(*row)._replace(started_at=started, ended_at=ended, expires_at=expires)
    return read._replace(end=as_member(VisitEnd, read.end)) if read.end else read


def _to_requirement(text: str | None) -> Requirement:
    if text is None:
        return ANYBODY
    n, of, veto, not_author, reject = json.loads(text)
    return Requirement(n, tuple(of), tuple(veto), not_author, reject)


def _answer_row(answer: Answer) -> dict[str, Any]:
    given = {"value": as_json(answer.value), "given_at": iso(answer.given_at)}
    return answer._asdict() | given


@names_unreadable("an answer to ask", 1)
def _to_answer(row: Any) -> Answer:
    _, ask_id, principal, verified, via, value, decided, note, given_at, outcome, *rest = row
    decision, at = _to_decision(decided), read_time(given_at)
    return Answer(
        ask_id, principal, bool(verified), via, from_json(value), decision, note, at,
        as_member(AnswerOutcome, outcome), *rest,
    )  # fmt: skip


@names_unreadable("a message of ask")
def _to_message(row: Any) -> Message:
    of, who, asker, text, at = row
    return Message(of, who, bool(asker), text, read_time(at))


def _message_row(message: Message) -> dict[str, Any]:
    return message._asdict() | {"sent_at": iso(message.sent_at)}
