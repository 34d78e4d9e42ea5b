"""Where a repository keeps its data, found without starting git."""

from __future__ import annotations

import os
import stat

from gatebell.domain.records import NamedTuple
from gatebell.errors import GateError, UsageError

MAX_BYTES = 4_000_000
"""More than this in one of git's own small files is an error, not a reason to cut."""


class GitFolders(NamedTuple):
    """The folders of one worktree."""

    git_dir: str
    """Its own git folder: HEAD and index."""
    common: str
    """The git folder that all worktrees of the repository share."""
    root: str
    """The folder with the files."""

    @property
    def is_linked(self) -> bool:
        return self.git_dir != self.common

    @property
    def index_path(self) -> str:
        return os.path.join(self.git_dir, "index")


def find(folder: str) -> GitFolders | None:
    """The repository around a folder; None where there is none.

    Raises UsageError for a repository without files, GateError for one that cannot be read.
    """
    here = os.path.realpath(folder)
    while True:
        dot_git = os.path.join(here, ".git")
        if os.path.isfile(dot_git):
            git_dir = os.path.join(here, os.fsdecode(_read_pointer(dot_git)))
            return open_folders(os.path.realpath(git_dir), here)
        if _is_git_dir(dot_git):
            return open_folders(os.path.realpath(dot_git), here)
        if _is_git_dir(here):
            raise UsageError(
                f"{folder} is a repository without files, or with its files elsewhere: "
                "start from a clone or a worktree of it."
            )
        parent = os.path.dirname(here)
        if parent == here:
            return None
        here = parent


def open_folders(git_dir: str, root: str) -> GitFolders:
    """The folders that belong to a git folder."""
    if not _is_git_dir(git_dir):
        raise GateError(f"{git_dir}, the git folder of {root}, is gone or cannot be read.")
    pointer = read_file(os.path.join(git_dir, "commondir"))
    common = os.path.join(git_dir, os.fsdecode(pointer.rstrip(b"\n"))) if pointer else git_dir
    return GitFolders(git_dir, os.path.realpath(common), root)


def read_head(git_dir: str) -> str:
    """What is checked out: a ref, or a commit.

    Raises GateError where HEAD holds anything else.
    """
    path = os.path.join(git_dir, "HEAD")
    try:
        # Git once made HEAD a symbolic link, and still reads it.
        text = os.readlink(path)
    except OSError:
        text = os.fsdecode(read_file(path)).strip()
    ref = text.removeprefix("ref:").strip()
    is_commit = len(text) in (40, 64) and not text.strip("0123456789abcdef")
    if not is_commit and (not ref.startswith("refs/") or "\n" in ref):
        raise GateError(f"{path} names neither a branch nor a commit: repair the repository.")
    return ref


def read_file(path: str) -> bytes:
    """A small file of git's own, whole; empty where it is missing.

    Raises GateError where it is not a regular file, too long, or cannot be read.
    """
    try:
        # Without blocking: a pipe in the file's place must not hold us up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except (OSError, ValueError) as error:
        raise GateError(f"{path} cannot be read: {error}.") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise GateError(f"{path} is not a file, so git is not run there: remove it.")
        found = file.read(MAX_BYTES + 1)
    if len(found) > MAX_BYTES:
        raise GateError(f"{path} holds more than {MAX_BYTES} bytes, so git is not run there.")
    return found


def refuse_link(path: str, below: str = "") -> None:
    """Refuse to write where a symbolic link leads elsewhere: at a path, or above it up to `below`."""
    while len(path) > len(below):
        if os.path.islink(path):
            raise GateError(f"{path} is a symbolic link, so gate does not write there: remove it.")
        if not below:
            return
        path = os.path.dirname(path)


def _read_pointer(dot_git: str) -> bytes:
    word, _, pointer = read_file(dot_git).rstrip(b"\n").partition(b": ")
    if word != b"gitdir" or not pointer:
        raise GateError(f"{dot_git} does not name a git folder: repair the repository.")
    return pointer


def _is_git_dir(path: str) -> bool:
    if not os.path.lexists(os.path.join(path, "HEAD")):
        return False
    if os.path.isfile(os.path.join(path, "commondir")):
        return True
    return all(os.path.isdir(os.path.join(path, name)) for name in ("objects", "refs"))
