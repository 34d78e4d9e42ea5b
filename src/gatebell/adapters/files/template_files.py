"""Where answers written beforehand are found: the project's files, the user's, the settings file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from gatebell.adapters.files.text_files import (
    names_in,
    read_text,
    refuse_outside,
    refuse_worktree,
    user_folder,
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
    """What is wrong with those that could not be read."""


def find(project: str, name: str, written: Mapping[str, str]) -> Template:
    """The template of this name; `written`: those of the settings file.

    NotFoundError says how to make it.
    """
    check_name(name)
    for folder, within in _list_folders(project):
        path = os.path.join(folder, f"{name}.md")
        if os.path.lexists(path):
            return Template(name, read_text(path, within).strip(), path)
    if name in written:
        return Template(name, written[name].strip(), settings_file(os.environ))
    known = _names(project, written)
    there = f"; there are {', '.join(known)}" if known else ""
    raise NotFoundError(f"there is no template {name!r}{there}. gate template set {name} makes one")


def all(project: str, written: Mapping[str, str]) -> Templates:  # noqa: A001 - it reads as templates.all
    """Every template, the one that `find` would give for its name."""
    found, problems = [], []
    for name in _names(project, written):
        try:
            found.append(find(project, name, written))
        except GateError as error:
            problems.append(str(error))
    return Templates(found, problems)


def path_for(project: str, name: str) -> str:
    """The file in which a project's template stands or would stand; without one, the user's."""
    check_name(name)
    if not project:
        return os.path.join(user_folder("templates"), f"{name}.md")
    path = os.path.join(project, ".gate", "templates", f"{name}.md")
    refuse_outside(os.path.dirname(path), project)
    refuse_worktree(path)
    return path


def _names(project: str, written: Mapping[str, str]) -> list[str]:
    found = {name for folder, _ in _list_folders(project) for name in names_in(folder, ".md")}
    return sorted(found | written.keys())


def _list_folders(project: str) -> list[tuple[str, str]]:
    """The folders with templates, and what a file there may not lead out of."""
    return [(os.path.join(project, ".gate", "templates"), project), (user_folder("templates"), "")]
