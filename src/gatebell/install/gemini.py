"""Gemini CLI: the MCP server and the instructions. It has no rules that could hold a gate."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.domain.enums import AgentCli
from gatebell.install.instructions import INSTRUCTIONS
from gatebell.install.json_entries import Entry, EntryKind
from gatebell.install.places import Target, Wanted

if TYPE_CHECKING:
    from gatebell.install.default_gates import Rules
    from gatebell.install.places import Place

NAME = AgentCli.GEMINI
HAS_GATES = False


def root(place: Place) -> str:
    return os.path.join(place.home, ".gemini")


def plan_targets(place: Place, gate: str, _: Rules) -> Wanted:
    server = Entry(
        ("mcpServers", "gatebell"),
        {"command": gate, "args": ["mcp"], "trust": True, "timeout": 86_400_000},
        EntryKind.OWN,
    )
    folder = os.path.join(place.project, ".gemini") if place.project else root(place)
    targets = (
        Target(os.path.join(folder, "settings.json"), (server,)),
        Target(os.path.join(place.project or folder, "GEMINI.md"), block=INSTRUCTIONS),
    )
    notes = (
        "Gemini CLI can ask; nothing here makes it ask before it acts.",
        "It starts no MCP server in a folder that you have not trusted.",
    )
    return Wanted(targets, notes)
