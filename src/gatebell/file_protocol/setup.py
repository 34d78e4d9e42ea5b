"""Plans, makes, repairs and removes the folders of the file protocol."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gatebell.app.environment import (
    HELPERS,
    WAY,
    find_main_project,
    find_set_up_project,
    read_project_link,
)
from gatebell.domain.asks.file_questions import parse_answer_name, parse_name
from gatebell.errors import RefusedError, UsageError
from gatebell.file_protocol import registry
from gatebell.file_protocol.folders import (
    INNER,
    MODE,
    TEMPORARY,
    Helpers,
    flaw,
    listener_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection

_PRIVATE = f"mode {MODE:04o}"


class FolderChange(NamedTuple):
    """One folder and its change."""

    path: str
    word: str
    """made, repaired, removed, kept or same"""
    detail: str = ""
    """Its state, now or before."""


def plan_folders(project: str) -> list[FolderChange]:
    """Return the changes that make every folder exist for this user only; UsageError: not ours."""
    if read_project_link(project):
        leads_to = find_set_up_project(project)
    else:
        has_own = os.path.lexists(os.path.join(project, HELPERS))
        leads_to = "" if has_own else find_main_project(project)
    if leads_to not in ("", project):
        raise UsageError(
            f"{project} is a worktree that asks through the folders of {leads_to}: gate init belongs "
            "there"
        )
    return [*(_plan_folder(path) for path in _paths(project)), _way_needed(project)]


def _way_needed(project: str) -> FolderChange:
    path, before = _way(project), read_project_link(project)
    if before == project:
        return FolderChange(path, "same")
    if not os.path.lexists(path):
        return FolderChange(path, "made", "shows worktrees the path to this project")
    return FolderChange(path, "repaired", f"it led to {before or 'nowhere'}")


def _plan_folder(path: str) -> FolderChange:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return FolderChange(path, "made", _PRIVATE)
    except OSError as error:
        # The folder around it is closed even to its owner, and is repaired first.
        return FolderChange(path, "repaired", f"{_PRIVATE}; before: {error.strerror}")
    if wrong := flaw(path, found):
        return FolderChange(path, "repaired", f"{_PRIVATE}; it had {wrong}")
    return FolderChange(path, "same")


def set_up(project: str) -> None:
    """Make every folder."""
    try:
        for path in _paths(project):
            _open_to_its_owner(path)
        helpers = Helpers(project)
        try:
            helpers.show_the_way()
        finally:
            helpers.close()
    except OSError as error:
        raise UsageError(f"{path} cannot be made ready: {error.strerror}") from None


def _open_to_its_owner(path: str) -> None:
    try:
        os.mkdir(path, MODE)
    except FileExistsError:
        found = os.lstat(path)
        # Everything else is repaired once it is open.
        if flaw(path, found) and found.st_mode & MODE != MODE:
            os.chmod(path, MODE)


def removable(project: str, made: Collection[str]) -> list[FolderChange]:
    """Return which folders of ours can be removed; RefusedError: they are in use."""
    there = [path for path in (*_paths(project), _way(project)) if os.path.lexists(path)]
    if not there:
        return []
    if (process := listener_of(project)) is not None:
        raise RefusedError(
            f"process {process} listens to the questions in {project}: end that first"
        )
    if waiting := _waiting(project):
        raise RefusedError(
            f"{len(waiting)} questions wait in {os.path.join(project, HELPERS, INNER[0])}: answer "
            "them, or withdraw them by removing their files; then again"
        )
    return [FolderChange(path, "removed" if path in made else "same") for path in there]


def take_away(project: str, folders: Collection[FolderChange]) -> list[FolderChange]:
    """Remove folders with the files of this protocol; folders with other files stay."""
    going = [folder.path for folder in folders if folder.word == "removed"]
    if not going:
        return list(folders)
    helpers = Helpers(project)
    try:
        helpers.remove_temporary()
        inner = (helpers.questions, helpers.answers, helpers.agents, helpers.queue)
        for folder in inner:
            for name in folder.names() if folder.path in going else ():
                if _is_ours(name):
                    folder.remove(name)
        if helpers.path in going:
            helpers.remove_marks()
        if _way(project) in going:
            helpers.hide_the_way()
    finally:
        helpers.close()
    # The innermost folder first.
    gone = [_remove_folder(path) for path in reversed(going)]
    return [*(folder for folder in folders if folder.word != "removed"), *reversed(gone)]


def _remove_folder(path: str) -> FolderChange:
    try:
        with suppress(FileNotFoundError):
            os.rmdir(path)
    except OSError:
        left = ", ".join(sorted(os.listdir(path))[:3])
        return FolderChange(path, "kept", f"left in it: {left}")
    return FolderChange(path, "removed")


def _is_ours(name: str) -> bool:
    return (
        name.startswith((TEMPORARY, "agent_"))
        or name in {registry.ALL, registry.QUEUE}
        or parse_answer_name(name) is not None
    )


def _waiting(project: str) -> list[str]:
    with suppress(OSError):
        found = os.listdir(os.path.join(project, HELPERS, INNER[0]))
        return sorted(name for name in found if parse_name(name))
    return []


def _way(project: str) -> str:
    return os.path.join(project, HELPERS, WAY)


def _paths(project: str) -> list[str]:
    outer = os.path.join(project, HELPERS)
    return [outer, *(os.path.join(outer, name) for name in INNER)]
