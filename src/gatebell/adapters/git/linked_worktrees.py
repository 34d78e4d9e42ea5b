"""Add, find and remove the worktrees of a repository in its own records, without git.

`git worktree` would read the repository's configuration, and run its hooks.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

from gatebell.adapters.git.git_folders import read_file, read_head, refuse_link
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.adapters.git.repositories import Repository

_SPARSE = ("core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse")


def add(repository: Repository, root: str, branch: str, start: str) -> str:
    """Create the empty folder of a new worktree on a branch; return its git folder.

    The branch is created at `start` if it is missing. Raises GateError if it is checked out
    elsewhere.
    """
    ref = f"refs/heads/{branch}"
    repository.refuse_links(ref)
    if where := find_holder(repository, branch):
        raise GateError(f"{branch} is checked out in {where}: switch to another branch there.")
    if not repository.ask("rev-parse", "--verify", "--quiet", ref):
        repository.run("update-ref", "-m", "gate: begin", ref, start, "")
    git_dir = _make_git_dir(repository.folders.common, root)
    _copy_sparse(repository, git_dir)
    _write(git_dir, "HEAD", f"ref: {ref}\n")
    os.makedirs(root, exist_ok=True)
    _write(root, ".git", f"gitdir: {git_dir}\n")
    return git_dir


def _make_git_dir(common: str, root: str) -> str:
    worktrees = os.path.join(common, "worktrees")
    refuse_link(worktrees)
    os.makedirs(worktrees, exist_ok=True)
    name = "".join(
        sign if sign.isalnum() or sign in "-_" else "-" for sign in os.path.basename(root)
    )
    for number in count():
        git_dir = os.path.join(worktrees, (name or "worktree") + (str(number) if number else ""))
        with suppress(FileExistsError):
            os.mkdir(git_dir)
            # First: this file is needed to find and remove an unfinished worktree.
            _write(git_dir, "gitdir", os.path.join(root, ".git") + "\n")
            _write(git_dir, "commondir", "../..\n")
            return git_dir
    raise AssertionError("there is always another number")


def _copy_sparse(repository: Repository, git_dir: str) -> None:
    """Copy the sparse checkout settings of the repository to a new worktree."""
    patterns = read_file(os.path.join(repository.git_dir, "info", "sparse-checkout"))
    if not patterns:
        return
    os.mkdir(os.path.join(git_dir, "info"))
    _write(os.path.join(git_dir, "info"), "sparse-checkout", os.fsdecode(patterns))
    if repository.settings.get("extensions.worktreeconfig", "false") != "false":
        lines = [
            f"[{section}]\n\t{name} = true\n"
            for section, name in (key.split(".") for key in _SPARSE)
            if repository.settings.get(f"{section}.{name}") == "true"
        ]
        _write(git_dir, "config.worktree", "".join(lines))


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "wb") as file:
        file.write(os.fsencode(text))


def forget(git_dir: str) -> None:
    """Remove a worktree from the repository's records; keep its folder."""
    refuse_link(git_dir, os.path.dirname(os.path.dirname(git_dir)))
    shutil.rmtree(git_dir)
    with suppress(OSError):
        os.rmdir(os.path.dirname(git_dir))


def find_holder(repository: Repository, branch: str, besides: str = "") -> str:
    """Return the folder that has a branch checked out, or needs it for a rebase or bisection."""
    ref, common = f"refs/heads/{branch}", repository.folders.common
    for git_dir in _list_git_dirs(common):
        is_bare = git_dir == common and repository.settings.get("core.bare", "false") != "false"
        where = _find_folder(git_dir)
        is_on = not is_bare and ref in _read_heads(git_dir, common)
        if where != besides and (is_on or ref in _list_busy_refs(git_dir)):
            return where
    return ""


def _list_git_dirs(common: str) -> Iterator[str]:
    yield common
    worktrees = os.path.join(common, "worktrees")
    for name in os.listdir(worktrees) if os.path.isdir(worktrees) else []:
        yield os.path.join(worktrees, name)


def _read_heads(git_dir: str, common: str) -> set[str]:
    """Return the branch that is checked out, and the branches that it is an alias of."""
    found: set[str] = set()
    # A damaged one has no branch.
    with suppress(GateError, OSError):
        ref = read_head(git_dir)
        while ref not in found:
            found.add(ref)
            name, _, other = os.fsdecode(read_file(os.path.join(common, ref))).partition("ref: ")
            ref = other.strip() if not name and other else ref
    return found


def _find_folder(git_dir: str) -> str:
    """Return the folder of a worktree; for the main one, the folder around its git folder."""
    pointer = next(iter(_read_lines(os.path.join(git_dir, "gitdir"))), git_dir)
    pointer = os.path.normpath(os.path.join(git_dir, pointer))
    return os.path.dirname(pointer) if os.path.basename(pointer) == ".git" else pointer


def _list_busy_refs(git_dir: str) -> set[str]:
    """Return the branches that an unfinished rebase or bisection will write or return to."""
    names = ("rebase-merge/head-name", "rebase-merge/update-refs", "rebase-apply/head-name")
    refs = {line for name in names for line in _read_lines(os.path.join(git_dir, name))}
    return refs | {
        f"refs/heads/{name}" for name in _read_lines(os.path.join(git_dir, "BISECT_START"))
    }


def _read_lines(path: str) -> list[str]:
    # A file that is not regular, or too long, names no branch.
    with suppress(GateError):
        if found := read_file(path):
            return os.fsdecode(found).split("\n")
    return []
