"""Requests and responses as a server reads and writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatebell.domain.asks.asks import Origin
    from gatebell.domain.asks.attachments import Attachment
    from gatebell.domain.asks.requests import Request
    from gatebell.domain.permissions.rules import Rule
    from gatebell.domain.sessions.visits import Terms

WAIT_SECONDS = 50
"""How long one request waits at most."""
OUTAGE_SECONDS = 600.0
"""How long a wait without a limit goes on without a server."""


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
    if request.attachments:
        body["attachments"] = name_uploads(request.attachments)
    if request.session:
        body |= _build_terms(request.session)
    if origin.owner:
        body["owner"] = origin.owner
    return body | build_origin(origin)


def name_uploads(attachments: Iterable[Attachment]) -> list[dict[str, str]]:
    """Return how a request names files that were uploaded before."""
    return [{"name": one.name, "digest": one.digest} for one in attachments]


def _build_terms(terms: Terms) -> dict[str, Any]:
    """Return the fields of a session, and the host that has its folder."""
    from gatebell.adapters.system.hosts import this_host

    if terms.mcp_config or terms.resume_session:
        raise UsageError(
            "mcp_config and resume_session name a file and a conversation of this machine, which a "
            "server cannot check: leave them out, or ask on a store of this machine"
        )
    given = terms._asdict().items()
    chosen = {name: value for name, value in given if value != terms._field_defaults[name]}
    return {"terms": chosen, "host": this_host()}


def build_wait(ask_id: str, seconds: float, hears: bool) -> tuple[str, int]:
    """Return the path of a request that waits for an ask, and how long it waits."""
    whole = min(WAIT_SECONDS, max(1, int(seconds)) if seconds > 0 else 0)
    words = "true" if hears else "false"
    return f"/api/asks/{quote(ask_id)}/wait?seconds={whole}&hears={words}", whole


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
