"""Requests and responses as a server reads and writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Origin
    from gatebell.domain.asks.requests import Request
    from gatebell.domain.permissions.rules import Rule


def session_name(origin: Origin) -> str:
    """Return the session as a request names it: the server puts the token before the slash."""
    return origin.session.replace("/", ":")


def build_origin(origin: Origin) -> dict[str, Any]:
    """Return the place of an agent for a request."""
    names = ("project", "project_key", "cwd", "agent", "tool_use_id")
    told = {name: getattr(origin, name) for name in names} | {"session": session_name(origin)}
    return {name: text for name, text in told.items() if text}


def build_request(request: Request, origin: Origin) -> dict[str, Any]:
    """Return the body of a new ask, without fields that have their default."""
    given = request._asdict()
    body = {
        name: value
        for name, value in given.items()
        if value != request._field_defaults.get(name) and name not in ("session", "call")
    }
    if request.escalations:
        body["escalations"] = [step._asdict() for step in request.escalations]
    if origin.owner:
        body["owner"] = origin.owner
    return body | build_origin(origin)


def read_rule(document: dict[str, Any]) -> Rule:
    from gatebell.domain.asks.document_reader import read_time
    from gatebell.domain.enums import RuleKind
    from gatebell.domain.permissions.rules import Rule

    times = {
        name: document[name] and read_time(document[name]) for name in ("made_at", "expires_at")
    }
    return Rule(**document | times | {"kind": RuleKind(document["kind"])})


def quote(text: str) -> str:
    """Return a text for the path or query of an address."""
    if text.isascii() and text.replace("-", "").isalnum():
        return text
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
    parts = (chr(one) if one in plain else f"%{one:02X}" for one in text.encode("utf-8", "replace"))
    return "".join(parts)
