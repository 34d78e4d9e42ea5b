"""Find out whether Claude Code would run a harmless command without our wide rules.

A permission request does not say which rule led to it. So the settings are read: a question that
the person wants for another reason must reach a person.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.acts import TRIGGERS
from gatebell.domain.permissions.calls import Call
from gatebell.domain.permissions.rules import Rule, covers, forbids
from gatebell.domain.permissions.shell_lines import GLOB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gatebell.domain.permissions.judgement import Verdict

_MANAGED = "/etc/claude-code/managed-settings.json"
_NAMES = ("settings.json", "settings.local.json")
# In these modes, rules of the settings allow a command. In auto mode its own check decides.
_BY_RULES = ("default", "manual", "acceptEdits")
_OURS = frozenset(f"Bash({trigger})" for many in TRIGGERS.values() for trigger in many)
_EVERYTHING = ("Bash", "Bash(*)", "Bash(:*)")
_WHEN = datetime(2000, 1, 1, tzinfo=UTC)


def runs_ungated(
    environ: Mapping[str, str], project: str, mode: str, verdict: Verdict, cwd: str = ""
) -> bool:
    """Return whether no other rule or hook of the settings would ask about these commands.

    `cwd`: the folder in which the commands run, if it is not the project.
    """
    allowed: list[str] = []
    for path in _list_paths(environ, project):
        try:
            settings = _read(path)
        except (OSError, ValueError, RecursionError):
            return False
        asks, allows = _list_rules(settings, "ask"), _list_rules(settings, "allow")
        others = [one for one in asks if one not in _OURS]
        if any(
            _is_met(one, RuleKind.ASK, forbids, text) for one in others for text in verdict.commands
        ):
            return False
        if _has_other_hook(settings):
            return False
        allowed += allows
    if mode == "bypassPermissions":
        return True
    if verdict.only_reads and _stays_inside(project, cwd or project, verdict.paths):
        return True
    if mode not in _BY_RULES:
        return False
    if any(one in _EVERYTHING for one in allowed):
        return True
    # A rule for a command covers no file that its output goes to, and no variable.
    return verdict.is_plain and all(
        any(_is_met(one, RuleKind.GRANT, covers, text) for one in allowed)
        for text in verdict.commands
    )


def _stays_inside(project: str, cwd: str, paths: Sequence[str]) -> bool:
    """Return whether no link leads from these paths out of the project."""
    top = os.path.realpath(project).rstrip(os.sep) + os.sep
    if not project:
        return False
    for path in ("", *paths):
        before, pattern, _ = path.partition(GLOB)
        folder = os.path.join(cwd, os.path.dirname(before) if pattern else path)
        found = [folder]
        if pattern:
            if os.sep in path[len(before) :]:
                # It may match a link to a folder.
                return False
            found += _list_links(folder)
        if any(not f"{os.path.realpath(one)}{os.sep}".startswith(top) for one in found):
            return False
    return True


def _list_links(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_symlink()]
    except OSError:
        return []


def _list_paths(environ: Mapping[str, str], project: str) -> Iterator[str]:
    yield _MANAGED
    home = environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    for folder in (home, os.path.join(project, ".claude") if project else ""):
        yield from (os.path.join(folder, name) for name in _NAMES if folder)


def _read(path: str) -> dict[str, Any]:
    """Return the settings of a file; without the file there are none."""
    try:
        with open(path, encoding="utf-8") as file:
            found: Any = json.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    if not isinstance(found, dict):
        raise ValueError(path)  # noqa: TRY004  as any other unreadable file
    return found


def _list_rules(settings: dict[str, Any], kind: str) -> list[str]:
    permissions = settings.get("permissions")
    listed = permissions.get(kind) if isinstance(permissions, dict) else None
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def _is_met(
    pattern: str, kind: RuleKind, matches: Callable[[Rule, Call], bool], command: str
) -> bool:
    """Return whether a rule of the host applies to a command, as our rules are compared."""
    rule = Rule("", kind, pattern, "", _WHEN)
    return matches(rule, Call("Bash", {"command": command}))


def _has_other_hook(settings: dict[str, Any]) -> bool:
    """Return whether a hook of others may ask before a command runs."""
    hooks = settings.get("hooks")
    groups = hooks.get("PreToolUse") if isinstance(hooks, dict) else None
    return any("gate hook " not in json.dumps(group).replace("'", "") for group in groups or ())
