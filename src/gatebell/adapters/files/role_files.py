"""Find roles: first in the project's files, then the user's, then the built-in ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from gatebell.adapters.files import settings_file
from gatebell.adapters.files.text_files import find_user_folder, list_names, read_text
from gatebell.domain.runs.roles import Role, is_role_name, parse_role
from gatebell.domain.text.suggestions import suggest
from gatebell.errors import GateError, NotFoundError, UsageError

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run

_BUILT_IN = os.path.join(os.path.dirname(__file__), "built_in_roles")


class Roles(NamedTuple):
    """All roles that a project can use."""

    roles: list[Role]
    problems: list[str]
    """The errors of the unreadable files."""


PREAMBLE = "_preamble"
"""The file with the instructions for every agent that works on a task."""


class _RoleFolder(NamedTuple):
    folder: str
    within: str
    """Links may not lead out of this folder; "" for the user's own folders."""
    foreign: bool
    """Its files were made for Claude Code."""


class RoleFiles:
    """The roles of agents, for the runs of any project."""

    def find(self, run: Run, name: str) -> Role:
        found = resolve_model(find(run.project, name))
        if not run.task:
            return found
        return found._replace(instructions=f"{read_preamble(run.project)}\n\n{found.instructions}")


def find(project: str, name: str) -> Role:
    """Return the role of this name. NotFoundError says which file to write."""
    if not is_role_name(name):
        raise UsageError(f"{name!r} is not a name for a role: use letters, digits, _ - and .")
    for folder_set in _list_folders(project):
        path = os.path.join(folder_set.folder, f"{name}.md")
        if os.path.lexists(path):
            return _read(folder_set, name)
    known = sorted(
        {
            name
            for folder_set in _list_folders(project)
            for name in list_names(folder_set.folder, ".md")
        }
    )
    wanted = os.path.join(project, ".gate", "agents", f"{name}.md")
    raise NotFoundError(
        f"there is no role {name!r}; there are {', '.join(known)}{suggest(name, known) or '.'} "
        f"Write its instructions to {wanted}"
    )


def resolve_model(role: Role) -> Role:
    """Return the role with the model that heavy, medium or light means for its program."""
    # Wrong model settings affect only the roles that need them.
    if role.model not in settings_file.MODEL_WORDS:
        return role
    meant = settings_file.models(os.environ).get(role.cli, {})
    return role._replace(model=meant.get(role.model, role.model))


def list_roles(project: str) -> Roles:
    """Return every role that `find` would return for its name."""
    found: dict[str, Role | None] = {}
    problems = []
    for folder_set in _list_folders(project):
        for name in list_names(folder_set.folder, ".md"):
            if name in found or name.casefold() == "readme":
                continue
            found[name] = None
            try:
                found[name] = _read(folder_set, name)
            except GateError as error:
                problems.append(str(error))
    return Roles([role for _, role in sorted(found.items()) if role], problems)


def read_preamble(project: str) -> str:
    """Return the text before each role's own instructions, for agents that work on tasks."""
    ours = [folder_set for folder_set in _list_folders(project) if not folder_set.foreign]
    paths = [
        (os.path.join(folder_set.folder, f"{PREAMBLE}.md"), folder_set.within)
        for folder_set in ours
    ]
    # The last one always exists.
    path, within = next((one for one in paths if os.path.lexists(one[0])), paths[-1])
    return read_text(path, within).strip()


def read_built_in() -> dict[str, str]:
    """Return the built-in texts by file name: every role, and the preamble."""
    return {
        f"{name}.md": read_text(os.path.join(_BUILT_IN, f"{name}.md"))
        for name in (PREAMBLE, *list_names(_BUILT_IN, ".md"))
    }


def _read(folder_set: _RoleFolder, name: str) -> Role:
    path = os.path.join(folder_set.folder, f"{name}.md")
    return parse_role(name, read_text(path, folder_set.within), path, foreign=folder_set.foreign)


def _list_folders(project: str) -> list[_RoleFolder]:
    return [
        _RoleFolder(os.path.join(project, ".gate", "agents"), project, foreign=False),
        _RoleFolder(os.path.join(project, ".claude", "agents"), project, foreign=True),
        _RoleFolder(find_user_folder("agents"), "", foreign=False),
        _RoleFolder(os.path.expanduser("~/.claude/agents"), "", foreign=True),
        _RoleFolder(_BUILT_IN, "", foreign=False),
    ]
