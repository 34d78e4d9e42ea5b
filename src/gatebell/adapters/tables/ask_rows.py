"""Convert asks, answers, messages and visits to rows and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.values import (
    as_json,
    as_member,
    as_time,
    from_json,
    names_unreadable,
    read_time,
)
from gatebell.domain.asks.answers import Answer
from gatebell.domain.asks.asks import Ask, Message, Origin, iso
from gatebell.domain.asks.deadlines import Deadlines, Escalation
from gatebell.domain.asks.questions import Question
from gatebell.domain.asks.requirements import ANY_PERSON, Requirement
from gatebell.domain.enums import AnswerOutcome, AskKind, AskStatus, Decision, Priority, VisitEnd
from gatebell.domain.permissions.calls import Call
from gatebell.domain.sessions.visits import Terms, Visit

if TYPE_CHECKING:
    from gatebell.domain.asks.attachments import Attachment


def ask_row(ask: Ask) -> dict[str, Any]:
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
        "requirement": json.dumps(requirement.to_list()) if requirement != ANY_PERSON else None,
        "call": json.dumps(question.call) if question.call else None,
        "terms": json.dumps(question.session) if question.session else None,
        "attachments": json.dumps(question.attachments) if question.attachments else None,
        **ask.origin._asdict(),
        "opened_at": iso(ask.opened_at),
        "digest": ask.digest,
        "priority": ask.priority,
        "confidence": ask.confidence,
        "activity": ask.activity,
        "token_digest": ask.token_digest,
        "deferred": ask.deferred,
        "assume": ask.assume,
        "hard": clock.hard,
        "remind_every_seconds": clock.remind_every_seconds,
        "escalations": json.dumps(clock.escalations) if clock.escalations else None,
        **state_row(ask),
    }


def state_row(ask: Ask, expected_version: int = 0) -> dict[str, Any]:
    """Return the changing columns of an ask, and the version that the write expects."""
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
        "answer_attachments": json.dumps(given) if (given := ask.answer_attachments) else None,
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
        attachments=_to_attachments(row[51]) if row[51] else (),
    )


def _to_attachments(text: str) -> tuple[Attachment, ...]:
    # Imported here: most asks have no files.
    from gatebell.domain.asks.attachments import read_attachments

    return read_attachments(json.loads(text))


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
def read_ask(row: Any) -> Ask:
    return Ask(
        id=row[1],
        question=_to_question(row),
        origin=Origin(*row[12:19])._replace(task=row[49], project_key=row[50]),
        opened_at=read_time(row[19]),
        digest=row[20],
        priority=as_member(Priority, row[21]),
        confidence=row[22],
        activity=row[23],
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
        answer_attachments=_to_attachments(row[52]) if row[52] else (),
        assume=row[53],
    )


def _to_decision(word: str | None) -> Decision | None:
    return None if word is None else as_member(Decision, word)


def visit_row(visit: Visit) -> dict[str, Any]:
    times = ("started_at", "ended_at", "expires_at")
    told = {name: iso(getattr(visit, name)) for name in times}
    return visit._asdict() | told


@names_unreadable("a session of ask", 1)
def read_visit(row: Any) -> Visit:
    started, (ended, expires) = read_time(row[7]), map(as_time, (row[9], row[13]))
    read = Visit(*row)._replace(started_at=started, ended_at=ended, expires_at=expires)
    return read._replace(end=as_member(VisitEnd, read.end)) if read.end else read


def _to_requirement(text: str | None) -> Requirement:
    if text is None:
        return ANY_PERSON
    n, of, veto, not_author, reject, *ways = json.loads(text)
    return Requirement(n, tuple(of), tuple(veto), not_author, reject, *map(tuple, ways))


def answer_row(answer: Answer) -> dict[str, Any]:
    files = json.dumps(answer.attachments) if answer.attachments else None
    given = {"value": as_json(answer.value), "given_at": iso(answer.given_at), "attachments": files}
    return answer._asdict() | given


@names_unreadable("an answer to ask", 1)
def read_answer(row: Any) -> Answer:
    _, ask_id, principal, verified, via, value, decided, note, given_at, outcome, *more = row
    reason, key, fingerprint, files = more
    decision, at = _to_decision(decided), read_time(given_at)
    return Answer(
        ask_id, principal, bool(verified), via, from_json(value), decision, note, at,
        as_member(AnswerOutcome, outcome), reason, key, fingerprint,
        _to_attachments(files) if files else (),
    )  # fmt: skip


@names_unreadable("a message of ask")
def read_message(row: Any) -> Message:
    of, who, asker, text, at = row
    return Message(of, who, bool(asker), text, read_time(at))


def message_row(message: Message) -> dict[str, Any]:
    return message._asdict() | {"sent_at": iso(message.sent_at)}
