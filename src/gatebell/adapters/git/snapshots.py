"""Commit all files of a worktree without touching the user's index, HEAD and stash."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gatebell.adapters.git import indexes, shadow
from gatebell.adapters.git.repositories import GitHangsError, is_plain
from gatebell.errors import GateError, UsageError

if TYPE_CHECKING:
    from gatebell.adapters.git.repositories import Repository

_MAX_DIFF_BYTES = 5_000_000
_BYTES = "Gate-Bytes: as in the folder"
_REST = "\n… the rest of the diff is left out; see `git diff` in the folder for the whole diff.\n"


class Start(NamedTuple):
    """The commits that a worktree is made from."""

    head: str
    """The commit that is checked out."""
    base: str
    """The commit that the work began with."""
    content: str
    """The commit with the files of the folder."""


def keep(repository: Repository, tree: str, ref: str, base: str, words: str) -> str:
    """Commit a tree on top of HEAD; hold the commit by a private ref, if one is given."""
    head = repository.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    # The base is also a parent, so that it is kept, and found by a start from this snapshot.
    parents = [word for commit in dict.fromkeys((head or base, base)) for word in ("-p", commit)]
    commit = repository.line("commit-tree", tree, *parents, "-m", words, "-m", _BYTES)
    if ref:
        repository.refuse_links(ref)
        repository.run("update-ref", "--no-deref", ref, commit)
    return commit


def has_bytes(repository: Repository, commit: str) -> bool:
    """Return whether a commit has files byte for byte; snapshots of older versions do not."""
    return _BYTES in repository.line("log", "-1", "--format=%B", commit).split("\n")


def read_start(repository: Repository, commit: str) -> Start:
    """Return the commits behind a snapshot."""
    found = repository.ask("rev-list", "--parents", "--max-count=1", f"{commit}^{{commit}}")
    content, *parents = found.split() or [""]
    if not parents:
        raise UsageError(f"{commit} is not a snapshot in the repository of this project.")
    return Start(parents[0], parents[-1], content)


def lay_out(repository: Repository, begin: Start) -> None:
    """Write the files into a new worktree; differences from its HEAD stay uncommitted."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(repository.git_dir, "index.lock"))
    keeper = repository.keeping_bytes() if has_bytes(repository, begin.content) else repository
    keeper.run("read-tree", "--reset", "-u", begin.content)
    repository.run("read-tree", "--reset", begin.head)


def keep_out(folder: str) -> None:
    """Keep the session files of agents out of commits."""
    agents_folder = os.path.join(folder, ".agents")
    with suppress(FileExistsError):
        os.mkdir(agents_folder)
    if os.path.islink(agents_folder) or not os.path.isdir(agents_folder):
        raise UsageError(
            f"{agents_folder} must be a folder: remove the file or link from the project."
        )
    # A file of the project itself stays.
    with suppress(FileExistsError), open(os.path.join(agents_folder, ".gitignore"), "x") as file:
        file.write("*\n")


def write_tree(repository: Repository, kept: str, left_out: str, objects: str = "") -> str:
    """Return the tree of all files that are not ignored.

    `kept` is the index of the last call, which makes this one fast. `objects` is a folder for new
    objects, if the repository should not get them.
    """
    # Try again: an agent may be writing now, or an index may be damaged.
    for source in (kept, kept):
        try:
            return _write_tree(repository, source, kept, left_out, objects)
        except GitHangsError:
            raise
        except GateError:
            continue
    return _write_tree(repository, "", kept, left_out, objects)


def _write_tree(repository: Repository, source: str, kept: str, left_out: str, objects: str) -> str:
    # A copy for each: branches of a run may do this at once, and each may be killed.
    beside, name = os.path.split(kept)
    with tempfile.TemporaryDirectory(dir=beside, prefix=f"{name}.") as folder:
        index = os.path.join(folder, "index")
        # With its time: git reads files again that are not older than the index.
        variables = {"GIT_INDEX_FILE": index, **_build_object_variables(repository, objects)}
        try:
            shutil.copy2(source, index)
        except FileNotFoundError:
            # From the tree: the agent controls the folder's index, which can hide changes.
            head = repository.ask("rev-parse", "--verify", "--quiet", "HEAD^{tree}")
            repository.run("read-tree", head or "--empty", variables=variables)
        except OSError as error:
            raise GateError(f"The index {source} cannot be read: {error}.") from error
        _take_in(repository, variables, left_out)
        written = repository.line("write-tree", variables=variables)
        # Without an old index and without files, git writes none.
        with suppress(FileNotFoundError):
            os.replace(index, kept)
    return written


def _build_object_variables(repository: Repository, objects: str) -> dict[str, str]:
    if not objects:
        return {}
    theirs = os.path.join(repository.folders.common, "objects")
    return {"GIT_OBJECT_DIRECTORY": objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES": theirs}


def _take_in(repository: Repository, variables: dict[str, str], left_out: str) -> None:
    # Not `git add`: it runs git in submodules, with the filters that their settings name.
    but = ("--", f":(top,exclude,literal){left_out}")
    told = repository.names(
        *("diff-files", "-z", "--name-status", "--no-renames", "--ignore-submodules=dirty", *but),
        variables=variables,
    )
    changed = list(zip(told[1::2], told[::2], strict=True))
    # A pipe, socket or device replaced the file: for git, the file is deleted.
    is_gone = {name: change == "D" or _is_odd(repository, name) for name, change in changed}
    if indexes.is_sparse(repository):
        # Not deleted: a sparse checkout never had them.
        for name in indexes.list_left_out(indexes.read_marks(repository)):
            is_gone.pop(name, None)
    gone = [name for name in is_gone if is_gone[name]]
    present = [name for name in is_gone if not is_gone[name]]
    untracked = repository.names(
        "ls-files", "-z", "--others", "--exclude-standard", *but, variables=variables
    )
    # Ignored files that were added by force are only in the worktree's own index.
    tracked = repository.names("ls-files", "-z", "--cached", *but)
    known = set(repository.names("ls-files", "-z", "--cached", *but, variables=variables))
    added = [
        name
        for name in dict.fromkeys(tracked)
        if name not in known
        and is_plain(repository.root, os.path.dirname(name))
        and not _is_odd(repository, name)
    ]
    # The name of an inner repository ends in a slash; it is left alone.
    fresh = [name for name in (*present, *untracked, *added) if not name.endswith("/")]
    for option, names in (("--force-remove", gone), ("--remove", fresh)):
        if names:
            repository.run(
                *("update-index", "-z", "--add", option, "--stdin"),
                given=b"".join(os.fsencode(name) + b"\0" for name in names),
                variables=variables,
            )


def _is_odd(repository: Repository, name: str) -> bool:
    """Return whether this file exists and cannot be part of a tree."""
    with suppress(OSError):
        mode = os.lstat(os.path.join(repository.root, name)).st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))
    return False


def build_diff(repository: Repository, base: str, changed: str, objects: str = "") -> str:
    """Return the diff of all files between two trees, as text without colours."""
    attributes = shadow.read_own_attributes(repository.folders) + shadow.SHOW_ALL
    settings = {**repository.settings, **shadow.LIMIT_DIFFS}
    output = repository._replace(attributes=attributes, settings=settings).beginning(
        _MAX_DIFF_BYTES + 1,
        *("diff-tree", "-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv"),
        *("--ignore-submodules=dirty", base, changed),
        variables=_build_object_variables(repository, objects),
    )
    text = output[:_MAX_DIFF_BYTES].decode("utf-8", "replace")
    return text + _REST if len(output) > _MAX_DIFF_BYTES else text
