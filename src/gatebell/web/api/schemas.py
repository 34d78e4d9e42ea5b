"""The JSON Schemas of requests and responses; the document and the checks use them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import OTHER_PRIORITIES
from gatebell.domain.asks.attachments import MAX_FILES
from gatebell.domain.digests import canonical
from gatebell.domain.enums import AskKind, AskStatus, Decision, Priority, RunState, TaskState
from gatebell.domain.people.logins import SCOPES
from gatebell.domain.sessions.visits import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from enum import StrEnum

TEXT: dict[str, Any] = {"type": "string"}
WORDS: dict[str, Any] = {"type": "string", "minLength": 1}
ANYTHING: dict[str, Any] = {}
BYTES: dict[str, Any] = {"type": "string", "format": "binary"}
"""A body that is not JSON: a file."""
SECONDS: dict[str, Any] = {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1e9}


def thing(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "properties": required | optional,
        "required": list(required),
        "additionalProperties": False,
    }


def many(one: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": one, **more}


def _words(members: Iterable[StrEnum]) -> list[str]:
    """Return the words of an enum as plain text, as the schema checker needs them."""
    return [member.value for member in members]


_NAMES = {"anyOf": [WORDS, many(WORDS)]}
_REQUIREMENT = thing(
    {},
    n={"type": "integer"},
    of=_NAMES,
    all=_NAMES,
    veto=_NAMES,
    not_author={"type": "boolean"},
    reject={"type": "integer"},
    via=_NAMES,
    not_via=_NAMES,
)
# A file or a conversation of another machine is not taken: a server cannot check it.
_TERMS = thing(
    {},
    answer={"enum": _words(ANSWERS.values())},
    system_prompt={"type": "string", "maxLength": 200_000},
    model={"type": "string", "maxLength": 200},
    cwd={"type": "string", "maxLength": 4000},
    session_seconds=SECONDS,
    capture_transcript={"type": "boolean"},
    max_attempts={"type": "integer", "minimum": 0, "maximum": 1000},
)
_UPLOADED = many(
    thing(
        {
            "name": {"type": "string", "minLength": 1, "maxLength": 1000},
            "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        }
    ),
    maxItems=MAX_FILES,
)
REQUEST = thing(
    {"prompt": {"type": "string", "minLength": 1, "maxLength": 200_000, "pattern": r"\S"}},
    kind={"enum": _words(AskKind)},
    options=many(WORDS, maxItems=1000),
    multiple={"type": "boolean"},
    schema={"type": ["object", "null"]},
    context=ANYTHING,
    activity={"type": "string", "maxLength": 256_000},
    priority={
        "enum": [
            *(one.word for one in Priority),
            *OTHER_PRIORITIES,
            *(one.value for one in Priority),
        ]
    },
    confidence={"type": ["number", "null"], "minimum": 0, "maximum": 1},
    default=ANYTHING,
    secret={"type": "boolean"},
    requirement=_REQUIREMENT | {"type": ["object", "null"]},
    expires_seconds=SECONDS,
    hard={"type": "boolean"},
    remind_every_seconds=SECONDS | {"minimum": 60},
    escalations=many(thing({"after_seconds": {"type": "number"}, "who": WORDS}), maxItems=20),
    agent={"type": "string", "maxLength": 200},
    session={"type": "string", "maxLength": 200, "pattern": "^[^/]*$"},
    project={"type": "string", "maxLength": 4000},
    project_key={"type": "string", "maxLength": 4000},
    cwd={"type": "string", "maxLength": 4000},
    tool_use_id={"type": "string", "maxLength": 200},
    owner={"type": "string", "pattern": "^task:[A-Za-z0-9._-]{1,100}$"},
    terms=_TERMS | {"type": ["object", "null"]},
    host={"type": "string", "maxLength": 64, "pattern": "^[A-Za-z0-9._-]*$"},
    attachments=_UPLOADED,
    assume={"type": ["string", "null"], "maxLength": 2000},
)
ANSWER = thing(
    {"value": ANYTHING},
    note={"type": "string", "maxLength": 200_000},
    digest=TEXT,
    attachments=_UPLOADED,
    **{"for": WORDS, "pattern": TEXT},
)
ALIKE = thing(
    {
        "asks": many(thing({"id": WORDS, "digest": WORDS}), minItems=1, maxItems=500),
        "value": ANYTHING,
    },
    note={"type": "string", "maxLength": 200_000},
)
WORDS_ABOUT = thing({"text": {"type": "string", "pattern": r"\S", "maxLength": 200_000}})
DRAFT = thing({"text": {"type": "string", "maxLength": 200_000}})
REASON = thing({}, reason={"type": "string", "maxLength": 10_000})
TAKING = thing({}, token=TEXT, keep={"type": "boolean"})
PERSON = thing(
    {"name": {"type": "string", "pattern": r"^[A-Za-z0-9._@-]{1,64}$"}},
    scopes=many({"enum": list(SCOPES)}, minItems=1, uniqueItems=True),
    label={"type": "string", "maxLength": 100},
)
TOKEN = thing(
    {},
    scopes=many({"enum": list(SCOPES)}, minItems=1, uniqueItems=True),
    label={"type": "string", "maxLength": 100},
)

_TIME = {"type": ["string", "null"], "format": "date-time"}
ATTACHMENT_GIVEN = thing(
    {"name": TEXT, "media_type": TEXT, "size": {"type": "integer"}, "digest": TEXT}
)
ASK_GIVEN: dict[str, Any] = {
    "type": "object",
    "required": ["id", "kind", "prompt", "status", "digest"],
    "properties": {
        "id": TEXT,
        "kind": {"enum": _words(AskKind)},
        "prompt": TEXT,
        "status": {"enum": _words(AskStatus)},
        "decision": {"enum": [*_words(Decision), None]},
        "value": ANYTHING,
        "digest": TEXT,
        "attachments": many(ATTACHMENT_GIVEN),
        "answer_attachments": many(ATTACHMENT_GIVEN),
        "opened_at": _TIME,
        "expires_at": _TIME,
        "settled_at": _TIME,
    },
}
ASKS_GIVEN = many(ASK_GIVEN)
OPENED_GIVEN = thing({"ask": ASK_GIVEN, "token": TEXT, "attached": {"type": "boolean"}})
ANSWERS_GIVEN = many({"type": "object", "required": ["ask_id", "outcome"]})
ALIKE_GIVEN = many(
    {"type": "object", "required": ["id", "status"], "properties": {"id": TEXT, "status": TEXT}}
)
EVENTS_GIVEN = many(
    {
        "type": "object",
        "required": ["seq", "at", "kind", "subject", "actor"],
        "properties": {"seq": {"type": "integer"}},
    }
)
MESSAGES_GIVEN = many({"type": "object", "required": ["author", "text", "sent_at"]})
DRAFT_GIVEN = thing({"text": TEXT})
PEOPLE_GIVEN: dict[str, Any] = {"type": "object", "required": ["people", "tokens", "groups"]}
TOKEN_GIVEN = thing({"name": TEXT, "token": TEXT})
COUNTS_GIVEN = many(thing({"project": TEXT, "waiting": {"type": "integer"}}))
RUN_GIVEN: dict[str, Any] = {
    "type": "object",
    "required": ["id", "flow", "prompt", "state", "waiting_for"],
    "properties": {
        "id": {"type": "integer"},
        "flow": TEXT,
        "prompt": TEXT,
        "state": {"enum": _words(RunState)},
        "reason": TEXT,
        "result": ANYTHING,
        "waiting_for": many(TEXT),
        "questions": many(TEXT),
        "task_title": TEXT,
        "task_end": {"type": ["object", "null"], "required": ["state", "why", "by"]},
        "created_at": _TIME,
        "waiting_since": _TIME,
        "ended_at": _TIME,
    },
}
RUNS_GIVEN = many(RUN_GIVEN)
_CALL_GIVEN = {"type": "object", "required": ["path", "name", "label", "state", "value"]}
_TURN_GIVEN = {"type": "object", "required": ["id", "path", "number", "role", "signal"]}
JOURNAL_GIVEN: dict[str, Any] = RUN_GIVEN | {
    "required": [*RUN_GIVEN["required"], "calls", "turns"],
    "properties": RUN_GIVEN["properties"]
    | {"calls": many(_CALL_GIVEN), "turns": many(_TURN_GIVEN)},
}
TASK_GIVEN: dict[str, Any] = {
    "type": "object",
    "required": ["id", "title", "project", "state", "priority", "needs", "ready", "questions"],
    "properties": {
        "id": TEXT,
        "title": TEXT,
        "project": TEXT,
        "description": TEXT,
        "state": {"enum": _words(TaskState)},
        "priority": {"type": "integer"},
        "needs": many(TEXT),
        "parent": TEXT,
        "run": {"type": "integer"},
        "ready": {"type": "boolean"},
        "questions": many({"type": "object", "required": ["ask", "question", "asked_at"]}),
        "related": many({"type": "object", "required": ["id", "state", "title"]}),
        "created_at": _TIME,
        "updated_at": _TIME,
        "answered_at": _TIME,
        "closed_at": _TIME,
    },
}
TASKS_GIVEN = many(TASK_GIVEN)
_EXCHANGE_GIVEN = {"type": "object", "required": ["ask_id", "question", "answer", "who", "answers"]}
_AROUND = {
    "history": many(_EXCHANGE_GIVEN),
    "made_by": TEXT,
    "runs": many({"type": "integer"}),
    "run_details": many({"type": "object", "required": ["id", "state", "completed"]}),
    "waits_for": many(TEXT),
    "needed_by": many(TEXT),
    "parts": many(TEXT),
}
WHOLE_TASK_GIVEN: dict[str, Any] = TASK_GIVEN | {
    "required": [*TASK_GIVEN["required"], *_AROUND],
    "properties": TASK_GIVEN["properties"] | _AROUND,
}


def faults(schema: dict[str, Any], body: Any) -> str:
    """Describe where a body does not fit; empty if it fits."""
    errors = list(_validator(canonical(schema)).iter_errors(body))[:5]
    return "; ".join(
        f"{'/'.join(map(str, one.instance_path)) or 'the body'}: {one.message[:200]}"
        for one in errors
    )


@cache
def _validator(schema: str) -> Any:
    import json

    import jsonschema_rs

    return jsonschema_rs.validator_for(json.loads(schema))
