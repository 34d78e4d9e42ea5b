"""The index of a folder: an agent can write it, and mark files in it as never to be checked."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.adapters.git.repositories import Repository

_SHARED = "sharedindex."


def copy(repository: Repository, folder: str) -> str:
    """Copy the index, with the shared parts of a split index; return the path of the copy."""
    path, source = os.path.join(folder, "index"), repository.folders.index_path
    if os.path.lexists(source) and not os.path.isfile(source):
        raise GateError(f"{source} is not a regular file: remove it.")
    with suppress(FileNotFoundError):
        shutil.copy2(source, path)
    for name in os.listdir(repository.git_dir):
        if name.startswith(_SHARED):
            os.symlink(os.path.join(repository.git_dir, name), os.path.join(folder, name))
    return path


def show_hidden(repository: Repository, variables: Mapping[str, str] | None = None) -> None:
    """Make git check all files again that are marked as unchanged or as left out."""
    marked = read_marks(repository, variables)
    for option, names in (
        ("--no-assume-unchanged", [name for name, mark in marked.items() if mark.islower()]),
        # In a sparse checkout these marks are right, and git itself removes wrong ones.
        ("--no-skip-worktree", [] if is_sparse(repository) else list_left_out(marked)),
    ):
        if names:
            repository.run(
                *("update-index", "-z", option, "--stdin"),
                given=b"".join(os.fsencode(name) + b"\0" for name in names),
                variables=variables,
            )


def read_marks(
    repository: Repository, variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return each file's mark of `git ls-files -v`: S: left out, lower case: assumed unchanged."""
    listed = repository.names("ls-files", "-z", "-v", variables=variables)
    return {name: mark for mark, name in (entry.split(" ", 1) for entry in listed)}


def list_left_out(marked: Mapping[str, str]) -> list[str]:
    """Return the files that are marked as left out of the folder."""
    return [name for name, mark in marked.items() if mark in "Ss"]


def is_sparse(repository: Repository) -> bool:
    """Return whether the folder has only a part of the files."""
    return repository.settings.get("core.sparsecheckout", "false") == "true"
