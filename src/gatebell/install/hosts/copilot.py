"""GitHub Copilot CLI: a hook that holds calls, the MCP server and the instructions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AgentCli
from gatebell.install.held_tools import DAY_SECONDS, OWN_GATES_NOTE, build_hook, choose_tools
from gatebell.install.instructions import INSTRUCTIONS
from gatebell.install.json_entries import Entry, EntryKind
from gatebell.install.places import Target, Wanted

if TYPE_CHECKING:
    from gatebell.install.default_gates import Rules
    from gatebell.install.places import Place

NAME = AgentCli.COPILOT

# With an event in PascalCase, it names its tools as Claude Code does.
_EVENT = "PreToolUse"
_TOOLS = {"Bash": ("Bash",), "Edit": ("Edit", "Write")}


def root(place: Place) -> str:
    return place.folder("COPILOT_HOME", ".copilot")


def plan_targets(place: Place, gate: str, rules: Rules) -> Wanted:
    server = Entry(
        ("mcpServers", "gatebell"),
        {
            "type": "local",
            "command": gate,
            "args": ["mcp"],
            "tools": ["*"],
            "timeout": DAY_SECONDS * 1000,
        },
        EntryKind.OWN,
    )
    if place.project:
        hooks = os.path.join(place.project, ".github", "hooks", "gatebell.json")
        servers = os.path.join(place.project, ".github", "mcp.json")
        memory = os.path.join(place.project, "AGENTS.md")
    else:
        hooks = os.path.join(root(place), "hooks", "gatebell.json")
        servers = os.path.join(root(place), "mcp-config.json")
        memory = os.path.join(root(place), "copilot-instructions.md")
    targets = [Target(servers, (server,)), Target(memory, block=INSTRUCTIONS)]
    notes = []
    if rules.gates or rules.denials:
        targets.insert(0, Target(hooks, tuple(_hooks(gate, rules))))
        notes.append(OWN_GATES_NOTE)
        notes.append(
            "Copilot CLI runs a call whose hook is over its limit of a day; ours ends before."
        )
        notes.append("If the file of hooks is removed, or cannot be read, it holds nothing.")
    if place.project:
        notes.append("It starts no hook of a project in a folder that you have not trusted.")
    return Wanted(tuple(targets), tuple(notes))


def _hooks(gate: str, rules: Rules) -> list[Entry]:
    hook: dict[str, Any] = {
        "type": "command",
        "bash": build_hook(gate, NAME),
        "timeoutSec": DAY_SECONDS,
    }
    if tools := choose_tools(rules, _TOOLS):
        hook["matcher"] = "|".join(tools)
    return [Entry(("version",), 1, EntryKind.DEFAULT), Entry(("hooks", _EVENT), hook)]
