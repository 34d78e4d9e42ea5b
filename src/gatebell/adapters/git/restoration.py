"""Compare a worktree with a snapshot of it, and restore it if its folder is gone."""

from __future__ import annotations

import os
import shlex
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.adapters.git import (
    indexes,
    linked_worktrees,
    merges,
    removal,
    snapshots,
    worktree_records,
)
from gatebell.adapters.git.git_folders import GitFolders
from gatebell.adapters.git.shadow import make_private_folder
from gatebell.errors import GateError

if TYPE_CHECKING:
    from gatebell.adapters.git.repositories import Repository
    from gatebell.adapters.git.snapshots import Start
    from gatebell.adapters.git.worktree_records import Record

_MAX_NAMES = 20


def find_snapshot(repository: Repository, record: Record, path: str) -> str:
    """Return the commit of a snapshot, or ""."""
    return repository.ask("rev-parse", "--verify", "--quiet", f"{record.refs}{path}^{{commit}}")


def clear(record: Record) -> None:
    """Remove the remains of a restore that was killed."""
    removal.clear(_move_beside(record))


def _move_beside(record: Record) -> Record:
    return record.move_to(os.path.dirname(record.root) + ".again")


def restore(repository: Repository, record: Record, path: str) -> list[str]:
    """Restore a worktree if it is gone; return remarks for a person, see the port."""
    commit = find_snapshot(repository, record, path)
    if os.path.lexists(record.root) or not commit:
        worktree = record.repository()
        return _describe_differences(worktree, record, commit, path) if commit else []
    clear(record)
    _make_again(repository, record, commit)
    what = f"{record.root} was missing: it was restored from the snapshot for call {path}"
    return [f"{what}, without the files that git ignores."]


def _describe_differences(
    worktree: Repository, record: Record, commit: str, path: str
) -> list[str]:
    if snapshots.has_bytes(worktree, commit):
        tree = snapshots.write_tree(
            worktree.keeping_bytes(), record.snapshot_index, record.left_out
        )
    else:
        tree = snapshots.write_tree(worktree, record.diff_index, record.left_out)
    names = worktree.names("diff-tree", "-r", "-z", "--name-only", "--no-renames", commit, tree)
    if not names:
        return []
    more = len(names) - _MAX_NAMES
    listed = ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
    return [
        f"{record.root} differs from the snapshot for call {path}; changed since then: {listed}."
    ]


def _make_again(repository: Repository, record: Record, commit: str) -> None:
    """Restore beside the old path, then move it there, so that a partial folder is never used."""
    start, beside = snapshots.read_start(repository, commit), _move_beside(record)
    git_dir = next(record.git_dirs(), "")
    content = _merge_content(repository, record, git_dir, start)
    os.makedirs(os.path.dirname(beside.root), mode=0o700)
    if git_dir:
        # Keep its HEAD and index.
        os.mkdir(beside.root)
        with open(os.path.join(beside.root, ".git"), "wb") as file:
            file.write(b"gitdir: " + os.fsencode(git_dir) + b"\n")
    else:
        git_dir = _register(repository, record, start)
    folders = GitFolders(git_dir, record.common, beside.root)
    worktree = repository._replace(folders=folders)
    with tempfile.TemporaryDirectory(dir=make_private_folder()) as apart:
        index = {"GIT_INDEX_FILE": os.path.join(apart, "index")}
        _lay_out(worktree, start, content, index)
    if not os.path.exists(os.path.join(git_dir, "index")):
        worktree.run("read-tree", "--reset", "HEAD")
    os.makedirs(beside.folder, exist_ok=True)
    snapshots.keep_out(beside.folder)
    os.makedirs(os.path.dirname(record.root), mode=0o700, exist_ok=True)
    try:
        os.rename(beside.root, record.root)
    except OSError as error:
        raise GateError(f"{record.root} cannot be restored: {error.strerror}.") from error
    os.rmdir(os.path.dirname(beside.root))


def _lay_out(worktree: Repository, start: Start, content: str, index: dict[str, str]) -> None:
    """Write files into the folder: the snapshot's byte for byte, later ones as git does."""
    holds_bytes = snapshots.has_bytes(worktree, start.content)
    keeper = worktree.keeping_bytes() if holds_bytes else worktree
    keeper.run("read-tree", "--reset", "-u", content, variables=index)
    differing = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=AM")
    if holds_bytes:
        later = worktree.names(*differing, start.content, content)
        _lay_out_again(worktree, later, index)
    if indexes.is_sparse(worktree):
        # Work outside of the part that a sparse checkout has.
        changed = worktree.names(*differing, start.head, content)
        there = {name for name in changed if os.path.lexists(os.path.join(worktree.root, name))}
        _lay_out_again(keeper, sorted(set(changed) - there), index)


def _lay_out_again(worktree: Repository, names: list[str], index: dict[str, str]) -> None:
    for name in names:
        # Git does not overwrite a file that exists.
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(worktree.root, name))
    given = b"".join(os.fsencode(name) + b"\0" for name in names)
    words = ("checkout-index", "-z", "--ignore-skip-worktree-bits", "--stdin")
    worktree.run(*words, given=given, variables=index)


def _register(repository: Repository, record: Record, start: Start) -> str:
    """Return a git folder for a worktree that the repository no longer lists."""
    git_dir = linked_worktrees.add(repository, _move_beside(record).root, record.branch, start.head)
    worktree_records.record_root(git_dir, record.root)
    return git_dir


def _merge_content(repository: Repository, record: Record, git_dir: str, start: Start) -> str:
    """Return the tree of a snapshot, merged with the commits after it."""
    folders = repository.folders._replace(git_dir=git_dir or record.common)
    where = repository._replace(folders=folders)
    name = "HEAD" if git_dir else f"refs/heads/{record.branch}"
    head = where.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") or start.head
    if head == start.head:
        return start.content
    # Snapshots have files as in the folder; commits have them as git stores them.
    settings = {**repository.settings, "merge.renormalize": "true"}
    merged = merges.merge(repository._replace(settings=settings), head, start.content)
    if merged.files:
        project = shlex.quote(record.project)
        raise GateError(
            f"{record.root} is missing, and {record.branch} has new commits since: both changed "
            f"{', '.join(merged.files)}. Its files are in the snapshot: "
            f"`git -C {project} worktree add --detach FOLDER {start.content}`."
        )
    return merged.tree
