"""Claude Code: rules that make it ask, hooks that carry the question, the MCP server, its limits."""

from __future__ import annotations

import os
import shlex
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AgentCli
from gatebell.domain.permissions.acts import GATED_ACTS, TRIGGERS
from gatebell.domain.permissions.rules import OUTSIDE
from gatebell.install.background_hook import hand_over_hook
from gatebell.install.default_gates import SPELLINGS_NOTE
from gatebell.install.instructions import INSTRUCTIONS
from gatebell.install.json_entries import Entry, EntryKind
from gatebell.install.places import Target, Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.install.default_gates import Rules
    from gatebell.install.places import Place

NAME = AgentCli.CLAUDE

_DAY_SECONDS = 86_400
_GUARD_SECONDS = 60
_RETIRE_SECONDS = 30
_TOOLS = ("ask_human", "notify_human", "inbox_status", "signal", "decide")
_WRITERS = "Edit|Write|MultiEdit|NotebookEdit"
_ENVIRONMENT = {
    # A shell command over its limit goes to the background, and its output loses its authority.
    "BASH_DEFAULT_TIMEOUT_MS": "600000",
    "BASH_MAX_TIMEOUT_MS": "600000",
    "GATE_AGENT_WAIT_SECONDS": "540",
    # The same for a tool call, after two minutes; 0 means never.
    "CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS": "0",
    "MCP_TOOL_TIMEOUT": f"{_DAY_SECONDS}000",
}

_VALUE = r'(""|0|\{\})'
# For sed: turns one line with one JSON object into `{}`, and anything else into something else.
# Each step replaces valid JSON by valid JSON, so that nothing invalid becomes valid.
_REDUCE = (
    "$!d",
    "1!d",
    "/[^ -~]/d",
    r's,\\["\\/bfnrt],_,g',
    r"s/\\u[0-9a-fA-F]{4}/_/g",
    r's/"[^"\\]*"/""/g',
    r"s/-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/0/g",
    "s/true|false|null/0/g",
    "s/ //g",
    ":a",
    rf"s/\[({_VALUE}(,{_VALUE})*)?\]/0/g",
    rf's/\{{"":{_VALUE}(,"":{_VALUE})*\}}/{{}}/g',
    "ta",
    "p",
)


def root(place: Place) -> str:
    return place.folder("CLAUDE_CONFIG_DIR", ".claude")


def plan_targets(place: Place, gate: str, rules: Rules) -> Wanted:
    server = Entry(
        ("mcpServers", "gatebell"),
        {
            "command": gate,
            "args": ["mcp"],
            "alwaysLoad": True,
            "timeout": _DAY_SECONDS * 1000,
        },
        EntryKind.OWN,
    )
    if place.project:
        settings = os.path.join(place.project, ".claude", "settings.json")
        servers = os.path.join(place.project, ".mcp.json")
        memory = os.path.join(place.project, "CLAUDE.md")
        # Before that, it ignores our allow rules and asks about its questions [seen].
        notes = ["Claude Code will ask once whether you trust this project and its MCP server."]
    else:
        settings = os.path.join(root(place), "settings.json")
        moved = place.environ.get("CLAUDE_CONFIG_DIR")
        servers = os.path.join(root(place) if moved else place.home, ".claude.json")
        memory = os.path.join(root(place), "CLAUDE.md")
        notes = []
    targets = (
        Target(settings, tuple(_settings(place, gate, rules))),
        Target(servers, (server,)),
        Target(memory, block=INSTRUCTIONS),
    )
    if rules.gates:
        notes.append(SPELLINGS_NOTE)
    notes.append("Restart running sessions to use the new settings.")
    return Wanted(targets, tuple(notes))


def _settings(place: Place, gate: str, rules: Rules) -> list[Entry]:
    gate = shlex.quote(gate)
    # exec: then the hook's parent is the host itself, so the hook notices its end.
    hook = f"exec {gate} hook claude"
    asked = [rule for gate in rules.gates if gate != OUTSIDE for rule in list_rules(gate)]
    entries = [Entry(("permissions", "ask"), rule) for rule in asked]
    entries += [Entry(("permissions", "deny"), rule) for rule in rules.denials]
    entries += [Entry(("permissions", "allow"), f"mcp__gatebell__{tool}") for tool in _TOOLS]
    entries.append(_hook("PermissionRequest", f"{hook} --limit {_DAY_SECONDS}", _DAY_SECONDS, "*"))
    if OUTSIDE in rules.gates:
        check = guard_hook(f"{gate} hook claude")
        entries.append(_hook("PreToolUse", check, _GUARD_SECONDS, _WRITERS))
    entries += [
        _hook(event, hand_over_hook(place, f"{gate} hook claude"), _RETIRE_SECONDS, "*")
        for event in ("PostToolUse", "PostToolUseFailure")
    ]
    entries += [
        _hook(event, hook, _RETIRE_SECONDS) for event in ("Stop", "UserPromptSubmit", "SessionEnd")
    ]
    rewake = hand_over_hook(place, f"{gate} hook claude --rewake --limit {_DAY_SECONDS}")
    # async: a version that does not know asyncRewake does not wait for it, nor does claude -p.
    entries.append(_hook("Stop", rewake, _DAY_SECONDS, also={"async": True, "asyncRewake": True}))
    entries += [
        Entry(("env", name), value, EntryKind.DEFAULT) for name, value in _ENVIRONMENT.items()
    ]
    return entries


def list_rules(gate: str) -> list[str]:
    """Return the rules of Claude Code for a gate: for an act, wide patterns."""
    act = GATED_ACTS.get(gate)
    return [f"Bash({trigger})" for trigger in TRIGGERS[act]] if act else [gate]


def _hook(
    event: str,
    command: str,
    seconds: int,
    matcher: str = "",
    also: Mapping[str, bool] = MappingProxyType({}),
) -> Entry:
    group: dict[str, Any] = {"matcher": matcher} if matcher else {}
    group["hooks"] = [{"type": "command", "command": command, "timeout": seconds, **also}]
    return Entry(("hooks", event), group)


def guard_hook(hook: str, limit: int = _GUARD_SECONDS, ends_at: int = 80) -> str:
    """Return a PreToolUse hook as a line of shell that blocks the tool unless all went well.

    `limit` is the time limit of the host, and the hook is ended after `ends_at` percent of it.

    Claude Code lets the tool run when such a hook is missing, dies, is late, or prints anything but
    one JSON object; only exit code 2 stops it. So the shell passes only one line with one object
    and the tab that ends it. If there is a `timeout` program, the hook is never late.
    """
    run = f'${{t:+"$t" {limit * ends_at // 100}}} {hook} --guarded --limit {limit}'
    check = "LC_ALL=C sed -nE" + "".join(f" -e '{step}'" for step in _REDUCE)
    return (
        f't=$(command -v timeout); e=$(printf "\\t"); o=$({run}) && b=${{o%"$e"}} && '
        f'[ "$o" = "$b$e" ] && c=$(printf "%s\\n" "$b" | {check}) && [ "$c" = "{{}}" ] && '
        'printf "%s\\n" "$b" || { echo \'gatebell could not check this, so it is blocked: '
        "gate doctor says why' >&2; exit 2; }"
    )
