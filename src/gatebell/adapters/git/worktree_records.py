"""What is known of the worktrees that were made, kept beside them where no agent works."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from gatebell.adapters.git.git_folders import GitFolders, read_file
from gatebell.adapters.git.repositories import Repository, open_repository
from gatebell.errors import GateError
from gatebell.ports.workspaces import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


INDEXES = (".raw-index", ".diff-index", ".index")
"""The endings of the indexes beside a worktree; the last is of snapshots before they kept bytes."""


class Record(NamedTuple):
    """One worktree, written before it is made and again when it is ready."""

    project: str
    common: str
    """The git folder that all worktrees of the repository share."""
    root: str
    folder: str
    branch: str
    head: str
    """The commit that was checked out at first; see snapshots.Start for these three."""
    base: str
    content: str
    remarks: list[str]
    ready: bool = False
    token: str = ""
    """Tells its run from one of another store that has the same number."""
    began: str = ""
    """The last commit below the base that was the user's; empty: the base itself."""
    merges: Sequence[str] = ()
    """The commits between these two that were made to bring branches together."""
    tip: str = ""
    """What its branch pointed to when it was removed."""
    landed: str = ""
    """The commit that holds all of that; empty: the branch was not removed."""
    settings: Mapping[str, str] = {}
    """Of git, as they were before any agent of this run could change them; empty: not known."""

    @property
    def place(self) -> Place:
        return Place(self.folder, self.root, self.branch, self.base, tuple(self.remarks))

    @property
    def refs(self) -> str:
        """Where its snapshots are held."""
        return f"refs/{self.branch}/"

    @property
    def left_out(self) -> str:
        """What is never part of a diff or snapshot, as a path from the root."""
        return os.path.normpath(os.path.join(os.path.relpath(self.folder, self.root), ".agents"))

    @property
    def snapshot_index(self) -> str:
        """The index of its last snapshot."""
        return os.path.dirname(self.root) + INDEXES[0]

    @property
    def diff_index(self) -> str:
        """The index of its last diff, in which files are as git stores them."""
        return os.path.dirname(self.root) + INDEXES[1]

    def repository(self) -> Repository:
        """The worktree, by what the repository knows of it; GateError where one of them is gone."""
        if not os.path.isdir(self.root):
            raise GateError(
                f"The worktree {self.root} is gone; its branch {self.branch} and its snapshots "
                f"are still in {self.common}: `gate resume RUN --from CALL` starts from one."
            )
        if git_dir := next(self.git_dirs(), ""):
            return self.open(git_dir, self.root)
        raise GateError(
            f"The repository {self.common} does not know the worktree {self.root}: put it back "
            f"where it was, or run `git worktree repair {self.root}` in it."
        )

    def open(self, git_dir: str, root: str) -> Repository:
        """A git folder of the repository, with the settings that were there at the beginning."""
        folders = GitFolders(git_dir, self.common, root)
        return Repository(folders, self.settings) if self.settings else open_repository(folders)

    def git_dirs(self) -> Iterator[str]:
        """The worktree's own git folder. Its `.git` is not asked: whoever works there may write it."""
        worktrees = os.path.join(self.common, "worktrees")
        for name in os.listdir(worktrees) if os.path.isdir(worktrees) else []:
            git_dir = os.path.join(worktrees, name)
            with suppress(GateError, ValueError):
                found = read_file(os.path.join(git_dir, "gitdir")).rstrip(b"\n")
                pointer = os.path.join(git_dir, os.fsdecode(found))
                if found and os.path.realpath(os.path.dirname(pointer)) == os.path.realpath(
                    self.root
                ):
                    yield git_dir

    def move_to(self, folder: str) -> Record:
        """The same worktree in another folder of ours."""
        root = os.path.join(folder, os.path.basename(self.root))
        inner = os.path.relpath(self.folder, self.root)
        return self._replace(root=root, folder=os.path.normpath(os.path.join(root, inner)))


def path_of(root: str) -> str:
    """The record of the worktree with this root."""
    return os.path.dirname(root) + ".json"


@contextmanager
def alone(path: str) -> Iterator[int]:
    """Wait until nobody else makes or removes this worktree; the lock is the file beside it.

    A git command that was given it holds it, too, and may outlive whoever started it.
    """
    beside = path.removesuffix(".json") + ".lock"
    while True:
        lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.stat(beside)):
                break
        os.close(lock)
    try:
        yield lock
    finally:
        os.unlink(beside)
        os.close(lock)


def read(path: str) -> Record | None:
    try:
        with open(path, encoding="utf-8") as file:
            return Record(**json.load(file))
    except FileNotFoundError:
        return None


def write(path: str, record: Record) -> None:
    write_bytes(path, json.dumps(record._asdict()).encode())


def write_bytes(path: str, content: bytes) -> None:
    """Write a file whole, or not at all."""
    folder, name = os.path.split(path)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f"{name}.", delete=False) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, path)


def set_aside(path: str, record: Record | None) -> str:
    """Move a worktree that is another run's, with all that is in it; where it is now.

    Whoever was killed at it is followed: its new record is the first thing written, its old one
    the last to go.
    """
    here = path.removesuffix(".json")
    there = next(name for number in count(1) if _is_for(name := f"{here}.old-{number}", record))
    if record:
        write(f"{there}.json", record.move_to(there))
    for ending in ("", *INDEXES):
        if os.path.lexists(here + ending):
            os.rename(here + ending, there + ending)
    if record:
        for git_dir in record.git_dirs():
            point(git_dir, record.move_to(there).root)
        os.unlink(path)
    return there


def point(git_dir: str, root: str) -> None:
    """Tell the repository where a worktree of it is.

    What `git worktree move` does, which refuses locked ones and those with submodules.
    """
    pointer = os.path.join(root, ".git")
    write_bytes(os.path.join(git_dir, "gitdir"), os.fsencode(pointer) + b"\n")


def _is_for(there: str, record: Record | None) -> bool:
    """Whether this name is free, or was given to this very worktree before."""
    known = read(f"{there}.json")
    if known:
        return record is not None and known == record.move_to(there)
    return not os.path.lexists(there)
