"""Find templates: in the project's files, the user's, or the settings file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from gatebell.adapters.files.text_files import (
    find_user_folder,
    list_names,
    read_text,
    refuse_outside,
    refuse_worktree,
)
from gatebell.adapters.system.folders import settings_file
from gatebell.domain.asks.templates import Template, check_name
from gatebell.errors import GateError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Templates(NamedTuple):
    """All templates that can be used in a project."""

    templates: list[Template]
    problems: list[str]
    """The errors of the unreadable ones."""


def find(project: str, name: str, written: Mapping[str, str]) -> Template:
    """Return the template of this name; `written`: the templates of the settings file.

    NotFoundError says how to create it.
    """
    check_name(name)
    for folder, within in _list_folders(project):
        path = os.path.join(folder, f"{name}.md")
        if os.path.lexists(path):
            return Template(name, read_text(path, within).strip(), path)
    if name in written:
        return Template(name, written[name].strip(), settings_file(os.environ))
    known = _list_names(project, written)
    there = f"; there are {', '.join(known)}" if known else ""
    raise NotFoundError(
        f"there is no template {name!r}{there}: create it with gate template set {name}"
    )


def list_templates(project: str, written: Mapping[str, str]) -> Templates:
    """Return every template that `find` would return for its name."""
    found, problems = [], []
    for name in _list_names(project, written):
        try:
            found.append(find(project, name, written))
        except GateError as error:
            problems.append(str(error))
    return Templates(found, problems)


def build_path(project: str, name: str) -> str:
    """Return the file for a project's template, existing or not; without a project, the user's."""
    check_name(name)
    if not project:
        return os.path.join(find_user_folder("templates"), f"{name}.md")
    path = os.path.join(project, ".gate", "templates", f"{name}.md")
    refuse_outside(os.path.dirname(path), project)
    refuse_worktree(path)
    return path


def _list_names(project: str, written: Mapping[str, str]) -> list[str]:
    found = {name for folder, _ in _list_folders(project) for name in list_names(folder, ".md")}
    return sorted(found | written.keys())


def _list_folders(project: str) -> list[tuple[str, str]]:
    """Return the folders with templates, each with the folder that links may not leave, or ""."""
    return [
        (os.path.join(project, ".gate", "templates"), project),
        (find_user_folder("templates"), ""),
    ]
