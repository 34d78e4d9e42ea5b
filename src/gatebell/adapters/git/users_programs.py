"""The filters and merge drivers of the user's git settings, as they were before any agent ran.

An agent may add a filter to `~/.gitconfig`, and a commit of ours would run it. So the programs in
the settings are recorded with the first worktree of a store, and only those are run.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from gatebell.adapters.git import repositories, shadow, worktree_records
from gatebell.adapters.git.git_folders import GitFolders
from gatebell.adapters.git.repositories import UsersPrograms
from gatebell.errors import GateError

if TYPE_CHECKING:
    from gatebell.adapters.git.repositories import Repository

_FILE = "git-programs.json"
_KEYS = r"^(filter\..*|merge\..*\.driver)$"


def read(folder: str) -> UsersPrograms:
    """Return the programs that were recorded for this folder and have not changed since."""
    path, now = os.path.join(folder, _FILE), _read_settings(folder)
    if not os.path.exists(path):
        worktree_records.write_bytes(path, json.dumps(now, indent=1).encode())
    with open(path, encoding="utf-8") as file:
        known: dict[str, str] = json.load(file)
    changed = {_find_program_name(key) for key, _ in known.items() ^ now.items()}
    same = {key: value for key, value in known.items() if _find_program_name(key) not in changed}
    return UsersPrograms(same, frozenset(changed), path)


def refuse_others(repository: Repository, old: str, new: str) -> None:
    """Raise an error if a file would be stored without the filter of the user's own git.

    The files are those that differ between two trees.
    """
    names = repository.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new)
    found = repository.names("check-attr", "-z", "--stdin", "filter", given=names)
    filtered = {value: name for name, _, value in zip(*[iter(found)] * 3, strict=True)}
    others = filtered.keys() - {
        _find_program_name(key).partition(".")[2] for key in repository.users.settings
    }
    if not others - {"unspecified", "unset", "set"}:
        return
    for value in sorted(others & _list_filters(repository)):
        name = filtered[value]
        if f"filter.{value}" in repository.users.changed:
            raise GateError(
                f"{name} is stored through the git filter {value}, and your git settings for "
                f"{value} were changed after agents began to work here. If that was you, "
                f"delete {repository.users.path} and try again."
            )
        raise GateError(
            f"{name} is stored through the git filter {value}, which only the settings of this "
            "repository name, and gate runs no program that a repository names. Commit it "
            f"yourself, or name the filter in your own settings (`git config --global`), delete "
            f"{repository.users.path} and try again."
        )


def _list_filters(repository: Repository) -> set[str]:
    """Return the names of all filters that the user's own git knows or knew."""
    _, environ = shadow.build_settings_command(repository.folders)
    words = ("config", "-z", "--name-only", "--includes", "--get-regexp", r"^filter\.")
    code, output, errors = repositories.run_git(repository.folders, environ, words)
    if code not in (0, 1):
        raise GateError(f"The git settings of {repository.root} cannot be read: {errors}")
    keys = [os.fsdecode(key) for key in output.split(b"\0")[:-1]]
    gone = {name.partition(".")[2] for name in repository.users.changed}
    return {_find_program_name(key).partition(".")[2] for key in keys} | gone


def _read_settings(folder: str) -> dict[str, str]:
    # Without a repository, only the settings of the system and the user are read.
    nowhere = GitFolders(os.devnull, os.devnull, folder)
    _, environ = shadow.build_settings_command(nowhere)
    words = ("config", "-z", "--show-scope", "--includes", "--get-regexp", _KEYS)
    code, output, errors = repositories.run_git(nowhere, environ, words)
    if code not in (0, 1):
        raise GateError(f"Your git settings cannot be read: {errors}")
    return shadow.parse_settings(output)


def _find_program_name(key: str) -> str:
    """Return the filter or merge driver of a setting: `filter.lfs` for `filter.lfs.clean`."""
    return key.rpartition(".")[0]
