"""Reads an event of a host, and refuses anything that is not an event or a call."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any, NoReturn

from gatebell.domain.enums import AgentCli
from gatebell.domain.permissions.calls import WRITERS, make_call
from gatebell.domain.text.display import storable
from gatebell.errors import UsageError
from gatebell.hooks.host_calls import EVENTS, translate

if TYPE_CHECKING:
    from collections.abc import Iterable

GATING = ("PermissionRequest", "PreToolUse")
"""A host asks by these whether a call may run."""

# All other events of claude 2.1.325 and codex 0.166.0. A name that is in neither list may be one
# by which a newer host asks, and no answer would let its call run.
OTHERS = frozenset(
    [
        "ConfigChange",
        "CwdChanged",
        "DirectoryAdded",
        "Elicitation",
        "ElicitationResult",
        "FileChanged",
        "InstructionsLoaded",
        "MessageDisplay",
        "Notification",
        "PermissionDenied",
        "PostCompact",
        "PostModelSwitch",
        "PostToolBatch",
        "PostToolUse",
        "PostToolUseFailure",
        "PreCompact",
        "PreModelSwitch",
        "SessionEnd",
        "SessionStart",
        "Setup",
        "Stop",
        "StopFailure",
        "SubagentStart",
        "SubagentStop",
        "TaskCompleted",
        "TaskCreated",
        "TeammateIdle",
        "UserPromptExpansion",
        "UserPromptSubmit",
        "WorktreeCreate",
        "WorktreeRemove",
    ]
)
_KNOWN_TOOLS = {tool.lower(): tool for tool in ("Bash", "Read", "WebFetch", *WRITERS)}
_MAX_BYTES = 8_000_000


def read_event(stream: IO[bytes], cli: str = AgentCli.CLAUDE) -> dict[str, Any]:
    """Read the one JSON object that a host writes, with an event that we know.

    Events of hosts with another format become events of Claude Code.

    Raises:
        UsageError: It is something else.
    """
    given = stream.read(_MAX_BYTES + 1)
    if len(given) > _MAX_BYTES:
        raise UsageError(f"the event is longer than {_MAX_BYTES} bytes")
    try:
        # Decoded here: json.loads would also take UTF-16, and halves of characters.
        event = json.loads(
            given.decode(), object_pairs_hook=_build_object, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise UsageError(f"a hook reads one JSON object on its standard input: {error}") from None
    name = event.get("hook_event_name") if isinstance(event, dict) else None
    if not isinstance(name, str):
        raise UsageError("a hook's JSON is an object with a hook_event_name")
    if cli in EVENTS:
        return translate(cli, event)
    if name not in GATING and name not in OTHERS:
        raise UsageError(f"gate does not know the event {name!r}: update gate")
    return dict(event)


def check_call(event: dict[str, Any]) -> None:
    """Refuse an event by which a host asks, if a field that gate needs is missing."""
    for field in ("tool_name", "session_id", "cwd"):
        if not event.get(field):
            raise UsageError(f"the event has no {field}")
    for field in ("tool_name", "session_id", "cwd", "tool_use_id", "transcript_path"):
        found = event.get(field, "")
        if not isinstance(found, str) or storable(found) != found:
            raise UsageError(f"the event's {field} is not a text")
    tool = event["tool_name"]
    if _KNOWN_TOOLS.get(tool.lower(), tool) != tool:
        raise UsageError(f"there is no tool {tool}, only {_KNOWN_TOOLS[tool.lower()]}")
    call = make_call(tool, event.get("tool_input"))
    if tool == "Bash" and not call.command:
        raise UsageError("the event has no command")


def _build_object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that comes twice: the host may use the other value."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"the name {name!r} comes twice")
        made[name] = value
    return made


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")
