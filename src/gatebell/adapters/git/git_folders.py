"""Find where a repository keeps its data, without starting git."""

from __future__ import annotations

import os
import stat

from gatebell.domain.records import NamedTuple
from gatebell.errors import GateError, UsageError

MAX_BYTES = 4_000_000
"""The limit for git's own small files; a longer file is an error, and is not cut."""


class GitFolders(NamedTuple):
    """The folders of one worktree."""

    git_dir: str
    """The worktree's own git folder: HEAD and index."""
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
    """Return the repository around a folder, or None.

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
    """Return the folders that belong to a git folder."""
    if not _is_git_dir(git_dir):
        raise GateError(
            f"{git_dir}, the git folder of {root}, cannot be read: repair the repository."
        )
    pointer = read_file(os.path.join(git_dir, "commondir"))
    common = os.path.join(git_dir, os.fsdecode(pointer.rstrip(b"\n"))) if pointer else git_dir
    return GitFolders(git_dir, os.path.realpath(common), root)


def read_head(git_dir: str) -> str:
    """Return the ref or the commit that is checked out.

    Raises GateError if HEAD has anything else.
    """
    path = os.path.join(git_dir, "HEAD")
    try:
        # Git once made HEAD a symbolic link, and still reads one.
        text = os.readlink(path)
    except OSError:
        text = os.fsdecode(read_file(path)).strip()
    ref = text.removeprefix("ref:").strip()
    is_commit = len(text) in (40, 64) and not text.strip("0123456789abcdef")
    if not is_commit and (not ref.startswith("refs/") or "\n" in ref):
        raise GateError(f"{path} names neither a branch nor a commit: repair the repository.")
    return ref


def read_branch(folder: str) -> str:
    """Return the branch or commit that is checked out in this folder."""
    try:
        folders = find(folder)
        return read_head(folders.git_dir).removeprefix("refs/heads/") if folders else ""
    except (GateError, OSError, ValueError):
        return ""


def read_file(path: str) -> bytes:
    """Return all of a small file of git, or b"" if it is missing.

    Raises GateError if it is not a regular file, is too long, or cannot be read.
    """
    try:
        # Without blocking: a pipe in place of the file must not block this process.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except (OSError, ValueError) as error:
        raise GateError(f"{path} cannot be read: {error}.") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise GateError(f"{path} is not a regular file, so git was not run: remove it.")
        found = file.read(MAX_BYTES + 1)
    if len(found) > MAX_BYTES:
        raise GateError(f"{path} is longer than {MAX_BYTES} bytes, so git was not run.")
    return found


def refuse_link(path: str, below: str = "") -> None:
    """Raise an error if a path, or a folder above it up to `below`, is a symbolic link."""
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
