"""Gemini CLI: a hook that holds calls, a rule for the case that it fails, and the MCP server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AgentCli
from gatebell.errors import UsageError
from gatebell.install.held_tools import DAY_SECONDS, OWN_GATES_NOTE, build_hook, choose_tools
from gatebell.install.instructions import INSTRUCTIONS
from gatebell.install.json_entries import Entry, EntryKind
from gatebell.install.places import Target, Wanted
from gatebell.install.text_blocks import build_comment_block

if TYPE_CHECKING:
    from gatebell.install.default_gates import Rules
    from gatebell.install.places import Place

NAME = AgentCli.GEMINI

_TOOLS = {"Bash": ("run_shell_command",), "Edit": ("write_file", "replace")}
# The hook marks each shell command that it lets pass. Gemini CLI itself asks about one without the
# mark: the hook was missing, killed or late. In JSON no command can contain the quotes before it.
_UNMARKED = r"""'^(?![\s\S]*"description":"\(checked by gatebell\))'"""


def root(place: Place) -> str:
    return os.path.join(place.environ.get("GEMINI_CLI_HOME") or place.home, ".gemini")


def plan_targets(place: Place, gate: str, rules: Rules) -> Wanted:
    folder = os.path.join(place.project, ".gemini") if place.project else root(place)
    targets = [
        Target(os.path.join(folder, "settings.json"), tuple(_settings(gate, rules))),
        Target(os.path.join(place.project or folder, "GEMINI.md"), block=INSTRUCTIONS),
    ]
    is_held = bool(rules.gates or rules.denials)
    if is_held and not place.project:
        targets.append(Target(os.path.join(folder, "policies", "gatebell.toml"), block=_RULE))
    return Wanted(tuple(targets), tuple(_notes(place, is_held)))


def _settings(gate: str, rules: Rules) -> list[Entry]:
    server = {"command": gate, "args": ["mcp"], "trust": True, "timeout": DAY_SECONDS * 1000}
    entries = [Entry(("mcpServers", "gatebell"), server, EntryKind.OWN)]
    if rules.gates or rules.denials:
        tools = choose_tools(rules, _TOOLS)
        if tools and "run_shell_command" not in tools:
            # The rule below asks about every shell command that the hook has not seen.
            tools = (*tools, "run_shell_command")
        hook: dict[str, Any] = {
            "type": "command",
            "name": "gatebell",
            "command": build_hook(gate, NAME),
            "timeout": DAY_SECONDS * 1000,
        }
        matcher = f"^({'|'.join(tools)})$" if tools else "*"
        entries.append(Entry(("hooks", "BeforeTool"), {"matcher": matcher, "hooks": [hook]}))
    return entries


def _notes(place: Place, is_held: bool) -> list[str]:
    notes = [OWN_GATES_NOTE] if is_held else []
    if place.project:
        notes.append(
            "Gemini CLI reads rules only from your home: in one project, a call runs if our hook is "
            "killed. gate install gemini (without --project) closes that for shell commands."
        )
        notes.append("It starts no hook and no MCP server in a folder that you have not trusted.")
    else:
        notes.append(
            "If our hook fails, Gemini CLI itself asks about the shell command, or denies it in -p."
        )
        notes.append("It starts no MCP server in a folder that you have not trusted.")
    notes.append("After your yes in the inbox, its own mode decides whether it asks once more.")
    return notes


def check(text: str, path: str) -> None:
    """Refuse a file of rules that is not TOML."""
    # Imported here: only the rules are TOML.
    import tomllib

    try:
        tomllib.loads(text)
    except ValueError as error:
        raise UsageError(
            f"{path} is not TOML, so it is left alone: {error}. Repair it, then try again"
        ) from None


_RULE = build_comment_block(
    "[[rule]]",
    'toolName = "run_shell_command"',
    f"argsPattern = {_UNMARKED}",
    'decision = "ask_user"',
    "priority = 999",
)
