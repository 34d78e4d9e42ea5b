"""The JSON Schemas of the routes for hosts and commands on other machines."""

from __future__ import annotations

from typing import Any

from gatebell.domain.enums import RuleKind
from gatebell.web.api.schemas import ASK_GIVEN, SECONDS, TEXT, WORDS, many, thing

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
HEARD = thing({"messages": {"type": "integer", "minimum": 0, "maximum": 1_000_000}})
REOPENED = thing({}, fresh={"type": "boolean"})
RULE = thing(
    {"kind": {"enum": [RuleKind.ASK.value, RuleKind.DENY.value]}, "pattern": WORDS},
    project=_PATH,
    project_key=_PATH,
)

_PERMISSION_GIVEN = {"type": ["object", "null"], "required": ["allow", "message", "input"]}
HELD_GIVEN = thing(
    {"permission": _PERMISSION_GIVEN, "ask": ASK_GIVEN | {"type": ["object", "null"]}}
)
GATED_GIVEN = thing({"gated": {"type": "boolean"}})
GATING_GIVEN = thing({"had_gates": {"type": "boolean"}})
ME_GIVEN: dict[str, Any] = thing(
    {"person": TEXT, "scopes": many(TEXT), "token_id": TEXT, "may_approve": {"type": "boolean"}}
)
NOTES_GIVEN = many({"type": "object", "required": ["author", "project", "text", "sent_at"]})
RULE_GIVEN: dict[str, Any] = {
    "type": "object",
    "required": ["id", "kind", "pattern", "made_by", "made_at"],
}
RULES_GIVEN = many(RULE_GIVEN)
