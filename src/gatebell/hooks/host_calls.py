"""Translate the events of hosts with other formats into calls that the rules know.

Seen with gemini 0.61.0, opencode 1.18.33 and copilot 1.0.102; Cursor by its documentation. All of
them ask before every call, so these events are our PreToolUse.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AgentCli
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

EVENTS: dict[str, tuple[str, ...]] = {
    AgentCli.GEMINI: ("BeforeTool",),
    AgentCli.OPENCODE: ("tool.execute.before",),
    AgentCli.COPILOT: ("PreToolUse",),
    AgentCli.CURSOR: ("beforeShellExecution", "preToolUse"),
}
"""The events by which each host asks whether a call may run."""

# The names of their tools in our rules. A tool without one keeps its name.
_TOOLS: dict[str, dict[str, str]] = {
    AgentCli.GEMINI: {
        "run_shell_command": "Bash",
        "write_file": "Write",
        "replace": "Edit",
        "read_file": "Read",
    },
    AgentCli.OPENCODE: {
        "bash": "Bash",
        "write": "Write",
        "edit": "Edit",
        "multiedit": "MultiEdit",
        "patch": "Edit",
        "apply_patch": "Edit",
        "read": "Read",
        "webfetch": "WebFetch",
    },
    # It names the tools as Claude Code does; these are the names that it may keep.
    AgentCli.COPILOT: {
        "bash": "Bash",
        "create": "Write",
        "edit": "Edit",
        "str_replace_editor": "Edit",
        "apply_patch": "Edit",
        "view": "Read",
        "web_fetch": "WebFetch",
    },
    AgentCli.CURSOR: {"Shell": "Bash", "StrReplace": "Edit", "Delete": "Edit"},
}
_PATHS = ("file_path", "filePath", "path")
_FILE_TOOLS = ("Write", "Edit", "MultiEdit", "Read")
_PATCHES = ("patchText", "patch", "input")
_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)
MARK = "(checked by gatebell)"
"""Gemini CLI runs a shell command at once only with this mark before its description."""


def translate(cli: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event as a PreToolUse event of Claude Code.

    Raises:
        UsageError: It is not an event by which this host asks.
    """
    name = event["hook_event_name"]
    if name not in EVENTS[cli]:
        raise UsageError(f"gate does not know the event {name!r} of {cli}: update gate")
    if name == "beforeShellExecution":
        event = {**event, "tool_name": "Shell", "tool_input": {"command": event.get("command")}}
    tool, given = event.get("tool_name"), event.get("tool_input")
    if isinstance(tool, str):
        tool = _TOOLS[cli].get(tool, tool)
    folder = event.get("cwd") or _first_root(event)
    return {
        "hook_event_name": "PreToolUse",
        "session_id": event.get("session_id") or event.get("conversation_id"),
        "cwd": folder,
        "tool_name": tool,
        "tool_input": _translate_input(tool, given, folder),
        "tool_use_id": event.get("tool_use_id") or "",
    }


def _first_root(event: Mapping[str, Any]) -> Any:
    roots = event.get("workspace_roots")
    return roots[0] if isinstance(roots, list) and roots else None


def _translate_input(tool: Any, given: Any, folder: Any) -> Any:
    if isinstance(given, str):
        # Copilot's apply_patch has only a text.
        given = {"patch": given} if tool in _FILE_TOOLS else _read_object(given)
    if not isinstance(given, dict) or tool not in _FILE_TOOLS:
        return given
    rest = {name: value for name, value in given.items() if name not in _PATHS}
    path = next((given[name] for name in _PATHS if name in given), None)
    if path is None:
        path = _find_patched_file(given, folder)
    if not isinstance(path, str) or not path:
        raise UsageError(f"the event's {tool} names no file")
    return {"file_path": path, **rest}


def _read_object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _find_patched_file(given: Mapping[str, Any], folder: Any) -> str:
    """Return a file of a patch: one outside the folder, if there is one."""
    patches = [given[name] for name in _PATCHES if isinstance(given.get(name), str)]
    paths = [str(found).strip() for patch in patches for found in _PATCHED.findall(patch)]
    inside = os.path.realpath(str(folder)) + os.sep
    for path in paths:
        if not os.path.realpath(os.path.join(str(folder), path)).startswith(inside):
            return path
    return paths[0] if paths else ""


def mark_input(event: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the input of a shell command with our mark; None for other tools."""
    given = event["tool_input"]
    if event["tool_name"] != "Bash":
        return None
    said = given.get("description")
    words = said.replace(MARK, "").strip() if isinstance(said, str) else ""
    return {**given, "description": f"{MARK} {words}".rstrip()}
