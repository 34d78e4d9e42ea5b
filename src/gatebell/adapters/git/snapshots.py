"""Everything in a worktree as a commit of its own, made beside the user's index, HEAD and stash."""

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
_REST = "\n… the rest of the diff is left out; `git diff` in the folder shows all of it.\n"


class Start(NamedTuple):
    """What a worktree is made from."""

    head: str
    """The commit that is checked out."""
    base: str
    """The commit that the work began with."""
    content: str
    """The commit whose files stand in the folder."""


def keep(repository: Repository, tree: str, ref: str, base: str, words: str) -> str:
    """A commit of a tree of bytes on top of HEAD, held by a private ref where one is named."""
    head = repository.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    # The base is a parent as well, so that it stays and is found again by whoever starts here.
    parents = [word for commit in dict.fromkeys((head or base, base)) for word in ("-p", commit)]
    commit = repository.line("commit-tree", tree, *parents, "-m", words, "-m", _BYTES)
    if ref:
        repository.refuse_links(ref)
        repository.run("update-ref", "--no-deref", ref, commit)
    return commit


def holds_bytes(repository: Repository, commit: str) -> bool:
    """Whether a commit holds files byte for byte: a snapshot, and not one of an older version."""
    return _BYTES in repository.line("log", "-1", "--format=%B", commit).split("\n")


def start(repository: Repository, commit: str) -> Start:
    """Where a snapshot leads back to."""
    found = repository.ask("rev-list", "--parents", "--max-count=1", f"{commit}^{{commit}}")
    content, *parents = found.split() or [""]
    if not parents:
        raise UsageError(f"{commit} is not a snapshot that the repository of this project holds.")
    return Start(parents[0], parents[-1], content)


def lay_out(repository: Repository, begin: Start) -> None:
    """Put the files into a fresh worktree; what differs from its HEAD stays uncommitted."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(repository.git_dir, "index.lock"))
    keeper = repository.keeping_bytes() if holds_bytes(repository, begin.content) else repository
    keeper.run("read-tree", "--reset", "-u", begin.content)
    repository.run("read-tree", "--reset", begin.head)


def keep_out(folder: str) -> None:
    """Agents' papers stay out of whatever is committed."""
    agents_folder = os.path.join(folder, ".agents")
    with suppress(FileExistsError):
        os.mkdir(agents_folder)
    if os.path.islink(agents_folder) or not os.path.isdir(agents_folder):
        raise UsageError(f"{agents_folder} must be a folder: the project has something else there.")
    # One that the project has of its own stays.
    with suppress(FileExistsError), open(os.path.join(agents_folder, ".gitignore"), "x") as file:
        file.write("*\n")


def tree(repository: Repository, kept: str, left_out: str, objects: str = "") -> str:
    """The tree of all files that are not ignored.

    `kept` is the index of the last time, which makes this time cheap; `objects` is a folder
    for what is new, where the repository should not have it.
    """
    # An agent may be at work in the folder right now, and an index may be torn: once more.
    for source in (kept, kept):
        try:
            return _written(repository, source, kept, left_out, objects)
        except GitHangsError:
            raise
        except GateError:
            continue
    return _written(repository, "", kept, left_out, objects)


def _written(repository: Repository, source: str, kept: str, left_out: str, objects: str) -> str:
    # A copy for each: branches of a run may be at it at the same time, and any may be killed.
    beside, name = os.path.split(kept)
    with tempfile.TemporaryDirectory(dir=beside, prefix=f"{name}.") as folder:
        index = os.path.join(folder, "index")
        # With its time: git reads again what is not older than the index.
        variables = {"GIT_INDEX_FILE": index, **_elsewhere(repository, objects)}
        try:
            shutil.copy2(source, index)
        except FileNotFoundError:
            # From the tree: the index of the folder is the agent's, and can hide changes.
            head = repository.ask("rev-parse", "--verify", "--quiet", "HEAD^{tree}")
            repository.run("read-tree", head or "--empty", variables=variables)
        except OSError as error:
            raise GateError(f"The index {source} cannot be read: {error}.") from error
        _take_in(repository, variables, left_out)
        written = repository.line("write-tree", variables=variables)
        # There is none where there was none and no file either.
        with suppress(FileNotFoundError):
            os.replace(index, kept)
    return written


def _elsewhere(repository: Repository, objects: str) -> dict[str, str]:
    if not objects:
        return {}
    theirs = os.path.join(repository.folders.common, "objects")
    return {"GIT_OBJECT_DIRECTORY": objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES": theirs}


def _take_in(repository: Repository, variables: dict[str, str], left_out: str) -> None:
    # Not `git add`: it runs git inside of submodules, with the filters that their settings name.
    but = ("--", f":(top,exclude,literal){left_out}")
    told = repository.names(
        *("diff-files", "-z", "--name-status", "--no-renames", "--ignore-submodules=dirty", *but),
        variables=variables,
    )
    changed = list(zip(told[1::2], told[::2], strict=True))
    # A pipe, socket or device in a file's place: git has no word for it, the file is gone.
    is_gone = {name: letter == "D" or _is_odd(repository, name) for name, letter in changed}
    if indexes.is_sparse(repository):
        # Not deleted: they were never laid out.
        for name in indexes.left_out(indexes.marks(repository)):
            is_gone.pop(name, None)
    gone = [name for name in is_gone if is_gone[name]]
    present = [name for name in is_gone if not is_gone[name]]
    untracked = repository.names(
        "ls-files", "-z", "--others", "--exclude-standard", *but, variables=variables
    )
    # What was added in spite of being ignored is tracked by the worktree's own index only.
    tracked = repository.names("ls-files", "-z", "--cached", *but)
    known = set(repository.names("ls-files", "-z", "--cached", *but, variables=variables))
    added = [
        name
        for name in dict.fromkeys(tracked)
        if name not in known
        and is_plain(repository.root, os.path.dirname(name))
        and not _is_odd(repository, name)
    ]
    # A repository inside of the folder ends in a slash, and is left to itself.
    fresh = [name for name in (*present, *untracked, *added) if not name.endswith("/")]
    for option, names in (("--force-remove", gone), ("--remove", fresh)):
        if names:
            repository.run(
                *("update-index", "-z", "--add", option, "--stdin"),
                given=b"".join(os.fsencode(name) + b"\0" for name in names),
                variables=variables,
            )


def _is_odd(repository: Repository, name: str) -> bool:
    """Whether this is there and can be no part of a tree."""
    with suppress(OSError):
        mode = os.lstat(os.path.join(repository.root, name)).st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))
    return False


def diff(repository: Repository, base: str, changed: str, objects: str = "") -> str:
    """What lies between two trees, as text without colours, of all files."""
    attributes = shadow.own_attributes(repository.folders) + shadow.SHOW_ALL
    settings = {**repository.settings, **shadow.LIMIT_DIFFS}
    output = repository._replace(attributes=attributes, settings=settings).beginning(
        _MAX_DIFF_BYTES + 1,
        *("diff-tree", "-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv"),
        *("--ignore-submodules=dirty", base, changed),
        variables=_elsewhere(repository, objects),
    )
    text = output[:_MAX_DIFF_BYTES].decode("utf-8", "replace")
    return text + _REST if len(output) > _MAX_DIFF_BYTES else text
