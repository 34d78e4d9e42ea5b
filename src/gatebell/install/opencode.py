"""opencode: the MCP server and the instructions. It has no rules that could hold a gate."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from gatebell.domain.enums import AgentCli
from gatebell.errors import UsageError
from gatebell.install.instructions import INSTRUCTIONS
from gatebell.install.json_entries import Entry, EntryKind
from gatebell.install.places import Target, Wanted

if TYPE_CHECKING:
    from gatebell.install.default_gates import Rules
    from gatebell.install.places import Place

NAME = AgentCli.OPENCODE
HAS_GATES = False


def root(place: Place) -> str:
    return os.path.join(place.folder("XDG_CONFIG_HOME", ".config"), "opencode")


def plan_targets(place: Place, gate: str, _: Rules) -> Wanted:
    server = {
        "type": "local",
        "command": [gate, "mcp"],
        "enabled": True,
        "timeout": 86_400_000,
    }
    folder = place.project or root(place)
    commented = os.path.join(folder, "opencode.jsonc")
    if os.path.exists(commented):
        raise UsageError(
            f"{commented} may have comments, which would be lost, so it is left alone. Add this "
            f'to it yourself: "mcp": {{"gatebell": {json.dumps(server)}}}'
        )
    targets = (
        Target(
            os.path.join(folder, "opencode.json"),
            (Entry(("mcp", "gatebell"), server, EntryKind.OWN),),
        ),
        Target(os.path.join(folder, "AGENTS.md"), block=INSTRUCTIONS),
    )
    return Wanted(targets, ("opencode can ask; nothing here makes it ask before it acts.",))
