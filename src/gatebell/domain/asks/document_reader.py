"""Read asks and other records back from their JSON (`documents.py`), as a server sends them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import Ask, Message, Origin
from gatebell.domain.asks.deadlines import Deadlines, Escalation
from gatebell.domain.asks.questions import OTHER, Question
from gatebell.domain.asks.requirements import Requirement
from gatebell.domain.enums import AskKind, AskStatus, Decision, Priority

if TYPE_CHECKING:
    from gatebell.domain.asks.answers import Answer
    from gatebell.domain.asks.attachments import Attachment
    from gatebell.domain.audit.events import Entry

HIDDEN = "hidden"
"""Stands for the digest of a secret answer's token, which no document has."""


def read_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def read_ask(document: dict[str, Any]) -> Ask:
    """Return the ask of `ask_document`, without loss, except for the digest of its token."""
    decision = document["decision"]
    return Ask(
        id=document["id"],
        question=_read_question(document),
        origin=Origin(*(document[name] for name in Origin._fields)),
        opened_at=read_time(document["opened_at"]),
        digest=document["digest"],
        priority=Priority(document["priority"]),
        confidence=document["confidence"],
        activity=document["activity"],
        token_digest=HIDDEN if document["hidden"] else "",
        deadlines=_read_deadlines(document),
        status=AskStatus(document["status"]),
        decision=Decision(decision) if decision else None,
        value=document["value"],
        note=document["note"],
        settled_at=read_optional(document["settled_at"]),
        settled_by=document["settled_by"],
        settled_via=document["settled_via"],
        delivered_at=read_optional(document["delivered_at"]),
        delivered_to=document["delivered_to"],
        asked_back=document["asked_back"],
        heard=document["heard"],
        version=document["version"],
        deferred=document["deferred"],
        answer_attachments=_read_attachments(document["answer_attachments"]),
        assume=document.get("assume"),
    )


def _read_question(document: dict[str, Any]) -> Question:
    options, requirement = tuple(document["options"]), document["requirement"]
    lists = {name: tuple(one) for name, one in requirement.items() if isinstance(one, list)}
    call, terms = document["call"], document["terms"]
    return Question(
        kind=AskKind(document["kind"]),
        prompt=document["prompt"],
        context=document["context"],
        options=tuple(option for option in options if option != OTHER),
        multiple=document["multiple"],
        other=OTHER in options,
        schema=document["schema"],
        default=document["default"],
        secret=document["secret"],
        requirement=Requirement(**requirement | lists),
        call=_read_call(call) if call else None,
        session=_read_terms(terms) if terms else None,
        attachments=_read_attachments(document["attachments"]),
    )


def _read_attachments(documents: list[dict[str, Any]]) -> tuple[Attachment, ...]:
    if not documents:
        return ()
    # Imported here and below: most asks have no files, hold no call and are not sessions.
    from gatebell.domain.asks.attachments import read_attachments

    return read_attachments(documents)


def _read_call(call: dict[str, Any]) -> Any:
    from gatebell.domain.permissions.calls import Call

    return Call(**call)


def _read_terms(terms: dict[str, Any]) -> Any:
    from gatebell.domain.sessions.visits import Terms

    return Terms(**terms | {"answer": AskKind(terms["answer"])})


def _read_deadlines(document: dict[str, Any]) -> Deadlines:
    timing = document["timing"]
    return Deadlines(
        expires_at=read_optional(document["expires_at"]),
        hard=timing["hard"],
        moved_seconds=timing["moved_seconds"],
        remind_every_seconds=timing["remind_every_seconds"],
        remind_at=read_optional(timing["remind_at"]),
        escalations=tuple(Escalation(*step) for step in timing["escalations"]),
        escalated=timing["escalated"],
        escalate_at=read_optional(timing["escalate_at"]),
    )


def read_optional(text: str | None) -> datetime | None:
    return None if text is None else read_time(text)


def read_message(document: dict[str, Any]) -> Message:
    return Message(**document | {"sent_at": read_time(document["sent_at"])})


def read_answer(document: dict[str, Any]) -> Answer:
    """Return the answer of `answer_document`, which has no key and no fingerprint."""
    # Imported here and below: only people who look at one ask need them.
    from gatebell.domain.asks.answers import Answer
    from gatebell.domain.enums import AnswerOutcome

    decision = document["decision"]
    return Answer(
        **document
        | {
            "given_at": read_time(document["given_at"]),
            "decision": Decision(decision) if decision else None,
            "outcome": AnswerOutcome(document["outcome"]),
            "attachments": _read_attachments(document["attachments"]),
            "key": "",
            "fingerprint": "",
        }
    )


def read_entry(document: dict[str, Any]) -> Entry:
    from gatebell.domain.audit.events import Entry, Event

    event = Event(*(document[name] for name in Event._fields))
    digest, link, rows = document["content_digest"], document["hash"], document.get("rows")
    return Entry(document["seq"], document["at"], event, digest, link, erased=False, rows=rows)
