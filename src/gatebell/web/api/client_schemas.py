"""The JSON Schemas of the routes for hosts and commands on other machines."""

from __future__ import annotations

from typing import Any

from gatebell.domain.enums import RuleKind
from gatebell.domain.tasks.tasks import TIMEOUTS, TaskSize, TaskType
from gatebell.web.api.schemas import (
    ASK_GIVEN,
    EVENTS_GIVEN,
    RUN_GIVEN,
    SECONDS,
    TEXT,
    WORDS,
    many,
    thing,
)

SESSION = {"type": "string", "maxLength": 200, "pattern": "^[^/]*$"}
_PATH = {"type": "string", "maxLength": 4000, "pattern": "^[^\\x00]*$"}
_PLACE = {
    "project": _PATH,
    "project_key": _PATH,
    "cwd": _PATH,
    "agent": {"type": "string", "maxLength": 200},
    "session": SESSION,
    "tool_use_id": {"type": "string", "maxLength": 200},
}
_CALL = thing(
    {"tool": {"type": "string", "minLength": 1, "maxLength": 200}, "input": {"type": "object"}},
    cwd=_PATH,
    branch={"type": "string", "maxLength": 1000},
    real_path=_PATH,
    remark={"type": "string", "maxLength": 200_000},
)
_HELD = {
    **_PLACE,
    "guess": {"type": "string", "maxLength": 200},
    "outside_of": _PATH,
    "folders": many(_PATH, maxItems=100),
    "remind_every_seconds": SECONDS | {"minimum": 60},
    "is_harmless": {"type": "boolean"},
    "runs_ungated": {"type": "boolean"},
}
HELD = thing(
    {"call": _CALL},
    **_HELD,
    activity={"type": "string", "maxLength": 256_000},
    seconds=SECONDS | {"type": "number", "maximum": 86_400},
    only_rules={"type": "boolean"},
    defer={"type": "boolean"},
)
USED = thing(
    {"call": _CALL},
    **_HELD,
    edits={"enum": ["yes", "no", "unless_gated"]},
    drop={"type": "boolean"},
)
GATED = thing({"call": _CALL}, **_HELD)
NOTE = thing({"text": {"type": "string", "pattern": r"\S", "maxLength": 200_000}}, **_PLACE)
SIGNAL = thing(
    {"status": {"type": "string", "pattern": r"\S", "maxLength": 200}},
    summary={"type": "string", "maxLength": 200_000},
    **_PLACE,
)
RUN_SIGNAL = thing(
    {"status": {"type": "string", "pattern": r"\S", "maxLength": 200}},
    message={"type": "string", "maxLength": 200_000},
)
WANTED_RUN = thing(
    {
        "project_key": _PATH | {"minLength": 1},
        "flow": {"type": "string", "minLength": 1, "maxLength": 200},
    },
    prompt={"type": "string", "maxLength": 200_000},
    source_digest={"type": "string", "pattern": "^[0-9a-f]{64}$"},
    pool={"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
)
HEARD = thing({"messages": {"type": "integer", "minimum": 0, "maximum": 1_000_000}})
REOPENED = thing({}, fresh={"type": "boolean"})
_TASK_ID = {"type": "string", "maxLength": 100}
# The service itself refuses texts that are empty or too long, with the sentences of gate task.
_TASK_FIELDS = {
    "description": TEXT,
    "role": TEXT,
    # Words, P0 to P4 and numbers: the service names those that it knows.
    "priority": {"type": ["string", "integer"], "maxLength": 20},
    "size": {"enum": [size.value for size in TaskSize]},
    "type": {"enum": [kind.value for kind in TaskType]},
    "parent": _TASK_ID,
    "needs": many(_TASK_ID, maxItems=1000),
    "test_command": TEXT,
    "status": TEXT,
    "answer_within_seconds": SECONDS,
    "on_timeout": {"enum": [str(way) for way in TIMEOUTS]},
}
NEW_TASK = thing({"title": TEXT, "project": _PATH}, project_key=_PATH, **_TASK_FIELDS)
CHANGED_TASK = thing({}, title=TEXT, **_TASK_FIELDS) | {"minProperties": 1}
NEEDED = thing({"needed": many(_TASK_ID, minItems=1, maxItems=1000)}, remove={"type": "boolean"})
RESUMED = thing({}, accept={"type": "string", "maxLength": 200})
RULE = thing(
    {"kind": {"enum": [RuleKind.ASK.value, RuleKind.DENY.value]}, "pattern": WORDS},
    project=_PATH,
    project_key=_PATH,
)

STARTED_GIVEN: dict[str, Any] = RUN_GIVEN | {
    "required": [*RUN_GIVEN["required"], "has_worker"],
    "properties": RUN_GIVEN["properties"] | {"has_worker": {"type": "boolean"}},
}
_PERMISSION_GIVEN = {"type": ["object", "null"], "required": ["allow", "message", "input"]}
HELD_GIVEN = thing(
    {
        "permission": _PERMISSION_GIVEN,
        "ask": ASK_GIVEN | {"type": ["object", "null"]},
        # Why nothing was decided: a person has frozen everything.
        "frozen": TEXT,
    }
)
FREEZE_GIVEN = thing(
    {
        "frozen": {"type": "boolean"},
        "by": {"type": ["string", "null"]},
        "since": {"type": ["string", "null"]},
        "reason": TEXT,
    },
    is_new={"type": "boolean"},
)
GATED_GIVEN = thing({"gated": {"type": "boolean"}})
GATING_GIVEN = thing({"had_gates": {"type": "boolean"}})
ME_GIVEN: dict[str, Any] = thing(
    {"person": TEXT, "scopes": many(TEXT), "token_id": TEXT, "may_approve": {"type": "boolean"}}
)
TASK_EVENTS_GIVEN = thing({"head": {"type": "integer"}, "events": EVENTS_GIVEN})
WORKER_GIVEN = thing({"running": {"type": "boolean"}})
NOTES_GIVEN = many({"type": "object", "required": ["author", "project", "text", "sent_at"]})
RULE_GIVEN: dict[str, Any] = {
    "type": "object",
    "required": ["id", "kind", "pattern", "made_by", "made_at"],
}
RULES_GIVEN = many(RULE_GIVEN)
TESTED_RULE = thing(
    {"project": _PATH, "pattern": WORDS},
    shadow_days={"type": "integer"},
)
PROMOTED = thing({"promote": WORDS})
_DECIDED = ["pattern", "project", "decided"]
SUGGESTION_GIVEN: dict[str, Any] = {"type": "object", "required": [*_DECIDED, "ask_id"]}
SUGGESTIONS_GIVEN = many(SUGGESTION_GIVEN)
SUGGESTED_GIVEN = thing({"suggested_rule": SUGGESTION_GIVEN | {"type": ["object", "null"]}})
TESTED_RULE_GIVEN: dict[str, Any] = {
    "type": "object",
    "required": [*_DECIDED, "asks", "objecting", "why_not", "shadow"],
}
SHADOW_GIVEN: dict[str, Any] = {
    "type": "object",
    "required": ["id", "pattern", "project", "made_by", "made_at", "until", "state"],
}
SHADOWS_GIVEN = many(SHADOW_GIVEN)
STATS_GIVEN: dict[str, Any] = {
    "type": "object",
    "required": ["since", "until", "asks", "agent_hours", "blocked_minutes", "share_by_grants"],
}
