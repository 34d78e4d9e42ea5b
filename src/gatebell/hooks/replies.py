"""Builds the replies in the JSON of the hosts. Claude Code and Codex use the same.

The other hosts get one reply about each call: to go on, a person's yes, or a no.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AgentCli
from gatebell.hooks.host_calls import mark_input

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.ports.calls.waiting_calls import Permission


def permission(decided: Permission) -> dict[str, Any] | None:
    """Build the decision about a permission request; None if there is none."""
    if decided.allow is None:
        return None
    if not decided.allow:
        return deny("PermissionRequest", decided.message)
    instead = {"updatedInput": decided.input} if decided.input else {}
    return _request({"behavior": "allow"} | instead)


def before_use(decided: Permission | None) -> dict[str, Any]:
    """Build an explicit decision, or `defer`: the host ends its turn and comes back later."""
    if decided is None or decided.allow is None:
        return _before("defer", "a person decides")
    if not decided.allow:
        return _before("deny", decided.message)
    instead = {"updatedInput": decided.input} if decided.input else {}
    return _before("allow", "a person said yes", instead)


def ask_first(reason: str) -> dict[str, Any]:
    """Make the host ask, which then comes back as a permission request."""
    return _before("ask", reason)


def tell_agent(event: str, words: str) -> dict[str, Any]:
    """Pass words on to the agent; at the end of a turn they hold it [seen: both hosts]."""
    if event == "Stop":
        return {"decision": "block", "reason": words}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": words}}


def deny(event: str, reason: str) -> dict[str, Any]:
    """A no to a call, whichever event asks about it."""
    if event == "PermissionRequest":
        return _request({"behavior": "deny", "message": reason})
    return _before("deny", reason)


def go_on(cli: str, event: Mapping[str, Any], *, agreed: bool = False) -> dict[str, Any]:
    """Let a call go on to the host's own rules; `agreed`: a person or a grant said yes."""
    match cli:
        case AgentCli.GEMINI:
            marked = mark_input(event)
            return {"hookSpecificOutput": {"tool_input": marked}} if marked else {}
        case AgentCli.COPILOT:
            return {"permissionDecision": "allow"} if agreed else {}
        case AgentCli.CURSOR:
            return {"permission": "allow"}
    return {"decision": "allow"}


def refuse(cli: str, reason: str) -> dict[str, Any]:
    """A no to a call of a host with its own format."""
    match cli:
        case AgentCli.COPILOT:
            return {"permissionDecision": "deny", "permissionDecisionReason": reason}
        case AgentCli.CURSOR:
            return {"permission": "deny", "user_message": reason, "agent_message": reason}
    return {"decision": "deny", "reason": reason}


def _request(decision: dict[str, Any]) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}


def _before(word: str, reason: str, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    said = {
        "hookEventName": "PreToolUse",
        "permissionDecision": word,
        "permissionDecisionReason": reason,
    }
    return {"hookSpecificOutput": {**said, **(more or {})}}
