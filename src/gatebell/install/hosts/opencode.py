"""opencode: a plugin that holds calls, a rule for the case that it is not loaded, the MCP server."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AgentCli
from gatebell.errors import UsageError
from gatebell.install import json_entries, settings_files
from gatebell.install.held_tools import DAY_SECONDS, OWN_GATES_NOTE, choose_tools
from gatebell.install.instructions import INSTRUCTIONS
from gatebell.install.json_entries import Entry, EntryKind
from gatebell.install.places import Target, Wanted
from gatebell.install.text_blocks import Block

if TYPE_CHECKING:
    from gatebell.install.default_gates import Rules
    from gatebell.install.places import Place

NAME = AgentCli.OPENCODE

_TOOLS = {"Bash": ("bash",), "Edit": ("write", "edit", "multiedit", "patch", "apply_patch")}
# The plugin removes the rule that has this name, because it decides itself. So opencode asks about
# shell commands only if the plugin is not loaded.
_RULE = {"*": "ask", "gatebell": "ask"}


def root(place: Place) -> str:
    return os.path.join(place.folder("XDG_CONFIG_HOME", ".config"), "opencode")


def plan_targets(place: Place, gate: str, rules: Rules) -> Wanted:
    server = {
        "type": "local",
        "command": [gate, "mcp"],
        "enabled": True,
        "timeout": DAY_SECONDS * 1000,
    }
    folder = place.project or root(place)
    commented = os.path.join(folder, "opencode.jsonc")
    if os.path.exists(commented):
        raise UsageError(
            f"{commented} may have comments, which would be lost, so it is left alone. Add this "
            f'to it yourself: "mcp": {{"gatebell": {json.dumps(server)}}}'
        )
    path = os.path.join(folder, "opencode.json")
    entries = [Entry(("mcp", "gatebell"), server, EntryKind.OWN)]
    targets = [Target(os.path.join(folder, "AGENTS.md"), block=INSTRUCTIONS)]
    notes = []
    if rules.gates or rules.denials:
        home = os.path.join(place.project, ".opencode") if place.project else folder
        plugin = os.path.join(home, "plugin", "gatebell.js")
        targets.append(Target(plugin, block=build_plugin(gate, choose_tools(rules, _TOOLS))))
        notes.append(OWN_GATES_NOTE)
        if _may_have_rule(path):
            entries.append(Entry(("permission", "bash"), _RULE, EntryKind.DEFAULT))
            notes.append(
                "If our plugin is not loaded, opencode itself asks about shell commands; "
                "opencode run rejects them. Its file tools are then not held."
            )
        else:
            notes.append(
                f"{path} has one permission for all tools. It decides if our plugin fails."
            )
    return Wanted((Target(path, tuple(entries)), *targets), tuple(notes))


def _may_have_rule(path: str) -> bool:
    document = json_entries.parse(settings_files.text_of(settings_files.read(path), path), path)
    return isinstance(document.get("permission", {}), dict)


def build_plugin(gate: str, tools: tuple[str, ...]) -> Block:
    """Return the plugin for this gate; it asks about these tools, or about all if there are none."""
    text = files("gatebell.install").joinpath("scripts", "opencode_plugin.js").read_text("utf-8")
    values: dict[str, Any] = {"GATE": gate, "TOOLS": tools, "LIMIT_SECONDS": DAY_SECONDS}
    for name, value in values.items():
        text = text.replace(f"@{name}@", json.dumps(value))
    lines = text.splitlines()
    return Block(lines[0], lines[-1], tuple(lines))
