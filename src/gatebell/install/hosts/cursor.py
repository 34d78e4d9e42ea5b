"""Cursor: hooks that hold calls, by its documentation only; none of this was tried."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AgentCli
from gatebell.install.held_tools import DAY_SECONDS, OWN_GATES_NOTE, build_hook
from gatebell.install.instructions import INSTRUCTIONS
from gatebell.install.json_entries import Entry, EntryKind
from gatebell.install.places import Target, Wanted

if TYPE_CHECKING:
    from gatebell.install.default_gates import Rules
    from gatebell.install.places import Place

NAME = AgentCli.CURSOR

_WRITERS = "Write|StrReplace|Edit|Delete"


def root(place: Place) -> str:
    return os.path.join(place.home, ".cursor")


def plan_targets(place: Place, gate: str, rules: Rules) -> Wanted:
    folder = os.path.join(place.project, ".cursor") if place.project else root(place)
    server = Entry(("mcpServers", "gatebell"), {"command": gate, "args": ["mcp"]}, EntryKind.OWN)
    targets = [Target(os.path.join(folder, "mcp.json"), (server,))]
    if place.project:
        targets.append(Target(os.path.join(place.project, "AGENTS.md"), block=INSTRUCTIONS))
    notes = [
        "Untried: this follows Cursor's documentation. Try a gated command before you trust it."
    ]
    if rules.gates or rules.denials:
        targets.insert(0, Target(os.path.join(folder, "hooks.json"), tuple(_hooks(gate, rules))))
        notes.append(OWN_GATES_NOTE)
    return Wanted(tuple(targets), tuple(notes))


def _hooks(gate: str, rules: Rules) -> list[Entry]:
    hook: dict[str, Any] = {
        "command": build_hook(gate, NAME),
        "timeout": DAY_SECONDS,
        "failClosed": True,
    }
    entries = [
        Entry(("version",), 1, EntryKind.DEFAULT),
        Entry(("hooks", "beforeShellExecution"), hook),
    ]
    if any(not pattern.startswith("Bash") for pattern in (*rules.gates, *rules.denials)):
        entries.append(Entry(("hooks", "preToolUse"), {**hook, "matcher": _WRITERS}))
    return entries
