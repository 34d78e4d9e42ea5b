"""Asks and other records as JSON: the stable format of `--json` (docs/json.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import iso

if TYPE_CHECKING:
    from gatebell.domain.asks.answers import Answer
    from gatebell.domain.asks.asks import Ask, Message
    from gatebell.domain.audit.events import Entry
    from gatebell.domain.people.logins import Token
    from gatebell.domain.runs.runs import FlowCall, Run, Turn
    from gatebell.domain.sessions.visits import Visit
    from gatebell.domain.tasks.tasks import Task


def ask_document(ask: Ask) -> dict[str, Any]:
    """Return an ask as JSON, without its answers, messages and visits."""
    question, origin, clock = ask.question, ask.origin, ask.deadlines
    return {
        "id": ask.id,
        "kind": question.kind,
        "prompt": question.prompt,
        "context": question.context,
        "activity": ask.activity,
        "options": list(question.option_labels),
        "multiple": question.multiple,
        "schema": question.schema,
        "default": question.default,
        "secret": question.secret,
        "answered_as": question.answered_as,
        "terms": question.session and question.session._asdict(),
        "call": question.call and question.call._asdict(),
        "attachments": [one._asdict() for one in question.attachments],
        "requirement": question.requirement.to_document(),
        "priority": ask.priority,
        "confidence": ask.confidence,
        "digest": ask.digest,
        "project": origin.project,
        "cwd": origin.cwd,
        "agent": origin.agent,
        "session": origin.session,
        "tool_use_id": origin.tool_use_id,
        "started_by": origin.started_by,
        "owner": origin.owner,
        "task": origin.task,
        "project_key": origin.project_key,
        "opened_at": iso(ask.opened_at),
        "expires_at": iso(clock.expires_at),
        "deadline": None if clock.expires_at is None else "hard" if clock.hard else "soft",
        "timing": {
            "hard": clock.hard,
            "moved_seconds": clock.moved_seconds,
            "remind_every_seconds": clock.remind_every_seconds,
            "remind_at": iso(clock.remind_at),
            "escalations": [list(step) for step in clock.escalations],
            "escalated": clock.escalated,
            "escalate_at": iso(clock.escalate_at),
        },
        "hidden": bool(ask.token_digest),
        "status": ask.status,
        "decision": ask.decision,
        "value": ask.value,
        "note": ask.note,
        "answer_attachments": [one._asdict() for one in ask.answer_attachments],
        "settled_at": iso(ask.settled_at),
        "settled_by": ask.settled_by,
        "settled_via": ask.settled_via,
        "delivered_at": iso(ask.delivered_at),
        "delivered_to": ask.delivered_to,
        "asked_back": ask.asked_back,
        "heard": ask.heard,
        "version": ask.version,
        "deferred": ask.deferred,
        "assume": ask.assume,
    }


def answer_document(answer: Answer) -> dict[str, Any]:
    document = answer._asdict()
    del document["fingerprint"], document["key"]
    files = [one._asdict() for one in answer.attachments]
    return document | {"given_at": iso(answer.given_at), "attachments": files}


def message_document(message: Message) -> dict[str, Any]:
    return message._asdict() | {"sent_at": iso(message.sent_at)}


def visit_document(visit: Visit) -> dict[str, Any]:
    document = visit._asdict()
    times = ("started_at", "ended_at", "expires_at")
    return document | {name: iso(document[name]) for name in times}


def entry_document(entry: Entry) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "at": entry.at,
        **entry.event._asdict(),
        **({} if entry.rows is None else {"rows": entry.rows}),
        "content_digest": entry.content_digest,
        "hash": entry.hash,
    }


def token_document(token: Token) -> dict[str, Any]:
    return token._asdict() | {"made_at": iso(token.made_at)}


def run_document(run: Run) -> dict[str, Any]:
    """Return a run as JSON, without the data of the process that drives it."""
    document = run._asdict()
    for name in ("claim", "owner", "lease_until", "crash_count"):
        del document[name]
    times = ("created_at", "ready_at", "waiting_since", "ended_at")
    return document | {name: iso(document[name]) for name in times}


def call_document(call: FlowCall) -> dict[str, Any]:
    document = call._asdict()
    return document | {name: iso(document[name]) for name in ("started_at", "ended_at")}


def turn_document(turn: Turn) -> dict[str, Any]:
    # Imported here: documents of asks must be fast and do not need it.
    from gatebell.domain.text.redaction import hide_secrets

    document = turn._asdict()
    document |= {"sent": hide_secrets(turn.sent), "words": hide_secrets(turn.words)}
    return document | {name: iso(document[name]) for name in ("started_at", "ended_at")}


def task_document(task: Task) -> dict[str, Any]:
    """Return a task as JSON; unknown fields of an imported backlog are in `more`."""
    document = task._asdict()
    del document["version"]
    times = ("created_at", "updated_at", "answered_at", "closed_at")
    plain = {"needs": list(task.needs), "more": dict(task.more), "ready": task.ready}
    return document | plain | {name: iso(document[name]) for name in times}
