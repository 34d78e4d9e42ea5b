"""Record the worktrees, in files beside them where no agent works."""

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
"""The endings of the indexes beside a worktree; the last is from older snapshots."""


class Record(NamedTuple):
    """One worktree, written before it is made and again when it is ready."""

    project: str
    common: str
    """The git folder that all worktrees of the repository share."""
    root: str
    folder: str
    branch: str
    head: str
    """The commit that was checked out first; for the next two see snapshots.Start."""
    base: str
    content: str
    remarks: list[str]
    ready: bool = False
    token: str = ""
    """It distinguishes its run from a run of another store with the same number."""
    began: str = ""
    """The last commit of the user below the base; empty: the base itself."""
    merges: Sequence[str] = ()
    """The commits between these two that merge branches."""
    tip: str = ""
    """The commit of its branch when the branch was removed."""
    landed: str = ""
    """The commit that contains that one; empty: the branch was not removed."""
    settings: Mapping[str, str] = {}
    """Git's settings before any agent of this run could change them; empty: unknown."""
    left: str = ""
    """The commit by which its run last left this host; empty: never."""

    @property
    def place(self) -> Place:
        return Place(self.folder, self.root, self.branch, self.base, tuple(self.remarks))

    @property
    def refs(self) -> str:
        """The prefix of its snapshots' refs."""
        return f"refs/{self.branch}/"

    @property
    def left_out(self) -> str:
        """The path from the root that is never part of a diff or snapshot."""
        return os.path.normpath(os.path.join(os.path.relpath(self.folder, self.root), ".agents"))

    @property
    def snapshot_index(self) -> str:
        """The index of its last snapshot."""
        return os.path.dirname(self.root) + INDEXES[0]

    @property
    def diff_index(self) -> str:
        """The index of its last diff, with files as git stores them."""
        return os.path.dirname(self.root) + INDEXES[1]

    def repository(self) -> Repository:
        """Open the worktree by the repository's records; GateError if one of them is gone."""
        if not os.path.isdir(self.root):
            raise GateError(
                f"The worktree {self.root} is missing; its branch {self.branch} and its snapshots "
                f"are still in {self.common}: start from one with `gate resume RUN --from CALL`."
            )
        if git_dir := next(self.git_dirs(), ""):
            return self.open(git_dir, self.root)
        raise GateError(
            f"The repository {self.common} does not list the worktree {self.root}: move it back "
            f"where it was, or run `git worktree repair {self.root}` in it."
        )

    def open(self, git_dir: str, root: str) -> Repository:
        """Open a git folder of the repository, with the settings from the beginning of the run."""
        folders = GitFolders(git_dir, self.common, root)
        return Repository(folders, self.settings) if self.settings else open_repository(folders)

    def git_dirs(self) -> Iterator[str]:
        """Yield the worktree's git folder; its `.git` is not read, because agents may write it."""
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
        """Return the record of the worktree in another folder of ours."""
        root = os.path.join(folder, os.path.basename(self.root))
        inner = os.path.relpath(self.folder, self.root)
        return self._replace(root=root, folder=os.path.normpath(os.path.join(root, inner)))


def build_path(root: str) -> str:
    """Return the path of the record of the worktree with this root."""
    return os.path.dirname(root) + ".json"


@contextmanager
def lock_worktree(path: str) -> Iterator[int]:
    """Lock this worktree by a file beside it; no other process makes or removes it.

    Git commands that inherit the lock also hold it, and may outlive this process.
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
    """Write a file completely, or not at all."""
    folder, name = os.path.split(path)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f"{name}.", delete=False) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, path)


def set_aside(path: str, record: Record | None) -> str:
    """Move the worktree of another run aside, with its content; return the new path.

    It continues after a process that was killed: the new record is written first, and the old one
    is removed last.
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
            record_root(git_dir, record.move_to(there).root)
        os.unlink(path)
    return there


def record_root(git_dir: str, root: str) -> None:
    """Record in the repository where a worktree is.

    Like `git worktree move`, which refuses locked worktrees and those with submodules.
    """
    pointer = os.path.join(root, ".git")
    write_bytes(os.path.join(git_dir, "gitdir"), os.fsencode(pointer) + b"\n")


def _is_for(there: str, record: Record | None) -> bool:
    """Return whether this name is free, or was used for this worktree before."""
    known = read(f"{there}.json")
    if known:
        return record is not None and known == record.move_to(there)
    return not os.path.lexists(there)
