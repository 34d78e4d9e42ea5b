"""Translate requests of Codex into calls that the rules know, and decisions into its replies."""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gatebell.ports.agents import Ruling

_SHELL = re.compile(r"/(usr/(local/)?)?bin/(ba|da|z)?sh")
# A yes to the command alone does not include these.
_BESIDE_A_COMMAND = ("networkApprovalContext", "additionalPermissions")


def list_calls(
    request: dict[str, Any], items: Mapping[str, dict[str, Any]], cwd: str
) -> Iterator[tuple[str, Any, str]]:
    """Yield the tool, input and id of each call of a request, named as in the rules.

    `items` are the items that the agent has begun; `cwd` is its working folder.
    """
    params, method = request["params"], request["method"]
    if method == "item/commandExecution/requestApproval":
        yield "Bash", _describe_command(params, cwd), params.get("approvalId") or params["itemId"]
    elif method == "item/fileChange/requestApproval":
        item = items.get(params["itemId"], {})
        for number, (tool, given) in enumerate(_list_changes(item.get("changes", []))):
            yield tool, given, f"{params['itemId']}{f'-{number}' if number else ''}"
    elif (params.get("_meta") or {}).get("codex_approval_kind") == "mcp_tool_call":
        for item in list(items.values()):
            if item["type"] == "mcpToolCall" and _is_about(params, item):
                yield name_tool(item), item["arguments"], item["id"]
                return


def _describe_command(params: dict[str, Any], cwd: str) -> dict[str, Any]:
    given = {"command": unwrap_shell(params.get("command") or "")}
    given |= {name: params[name] for name in _BESIDE_A_COMMAND if params.get(name)}
    if params.get("reason"):
        given["description"] = params["reason"]
    if params.get("kind", "command") != "command":
        given["kind"] = params["kind"]
    where = params.get("cwd") or cwd
    if os.path.realpath(where) != os.path.realpath(cwd):
        given["cwd"] = where
    return given


def unwrap_shell(line: str) -> str:
    """Return the command that the agent wrote, without codex's shell around it."""
    try:
        words = shlex.split(line)
    except ValueError:
        return line
    wrapped = len(words) == 3 and _SHELL.fullmatch(words[0]) and words[1] in ("-c", "-lc")
    return words[2] if wrapped else line


def _list_changes(changes: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for change in changes:
        change_type = change["kind"]["type"]
        tool, part = ("Write", "content") if change_type == "add" else ("Edit", "diff")
        given = {"file_path": change["path"], part: change["diff"]}
        yield tool, given | ({"delete": True} if change_type == "delete" else {})
        if moved := change["kind"].get("move_path"):
            yield "Write", {"file_path": moved, "moved_from": change["path"]}


def name_tool(item: dict[str, Any]) -> str:
    return f"mcp__{item['server']}__{item['tool']}"


def _is_about(params: dict[str, Any], item: dict[str, Any]) -> bool:
    """Return whether a request is about this call; it names the tool only in its message."""
    asked = (params["serverName"], params["_meta"].get("tool_params"))
    return asked == (item["server"], item["arguments"]) and f'"{item["tool"]}"' in params["message"]


def describe_changed_call(tool: str, ruling: Ruling) -> str:
    allowed = json.dumps(ruling.input, ensure_ascii=False)
    said = f"{ruling.message}\n" if ruling.message else ""
    return (
        f"{said}This call was not allowed, but a changed one was. Make this call: {tool} {allowed}"
    )


def build_reply(method: str, allow: bool) -> dict[str, Any]:
    if method == "mcpServer/elicitation/request":
        action = "accept" if allow else "decline"
        return {"action": action, "content": {} if allow else None, "_meta": None}
    return {"decision": "accept" if allow else "decline"}
