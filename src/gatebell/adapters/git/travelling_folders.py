"""Put a whole worktree into one commit, and make the same worktree from it on another host.

Snapshots keep files byte for byte. This adds what git's trees do not have: other modes, empty
folders, the index, the branch, and the earlier snapshots.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.adapters.git import indexes, linked_worktrees, removal, snapshots
from gatebell.adapters.git.git_folders import read_head
from gatebell.adapters.git.repositories import is_plain
from gatebell.adapters.git.shadow import make_private_folder
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gatebell.adapters.git.repositories import Repository
    from gatebell.adapters.git.worktree_records import Record

_FOLDER, _INDEX, _ABOUT, _FILES = "folder", "index", "about.json", "files"
_MODES = {"100644": 0o644, "100755": 0o755}
_FOLDER_MODE = 0o755
_PERMISSIONS = 0o777


class Packed(NamedTuple):
    """The content of a commit in which a worktree travels."""

    branch: str
    head: str
    base: str
    began: str
    merges: list[str]
    remarks: list[str]
    inner: str
    """The path from the root to the folder of the agents."""
    snapshots: dict[str, str]
    """The commits of the snapshots, by call."""
    modes: dict[str, int]
    """Modes that git does not keep; the name of a folder ends in a slash."""


def pack(record: Record, files: Mapping[str, bytes]) -> str:
    """Return a commit with the worktree as it is now, and with these files.

    Raises GateError if something in it would be lost on the way.
    """
    repository = record.repository()
    if problem := _find_problem(repository, record):
        raise GateError(problem)
    tree = snapshots.write_tree(repository.keeping_bytes(), record.snapshot_index, record.left_out)
    index = _write_index(repository, record)
    kept = _list_snapshots(repository, record)
    tip = removal.read_tip(repository, record)
    about = Packed(
        branch=record.branch,
        head=tip,
        base=record.base,
        began=record.began,
        merges=list(record.merges),
        remarks=record.remarks,
        inner=os.path.relpath(record.folder, record.root),
        snapshots=kept,
        modes=dict(_list_modes(repository, record, tree)),
    )
    entries = [
        f"040000 tree {tree}\t{_FOLDER}",
        f"040000 tree {index}\t{_INDEX}",
        _add_blob(repository, _ABOUT, json.dumps(about._asdict()).encode()),
    ]
    if files:
        blobs = [_add_blob(repository, name, content) for name, content in files.items()]
        entries.append(f"040000 tree {_add_tree(repository, blobs)}\t{_FILES}")
    parents = dict.fromkeys((tip, record.base, *kept.values()))
    words = [word for parent in parents for word in ("-p", parent)]
    return repository.line("commit-tree", _add_tree(repository, entries), *words, "-m", "gate: run")


def read(repository: Repository, commit: str) -> Packed:
    found: dict[str, Any] = json.loads(repository.run("cat-file", "blob", f"{commit}:{_ABOUT}"))
    return Packed(**found)


def read_files(repository: Repository, commit: str) -> dict[str, bytes]:
    """Return the files that travelled with the worktree."""
    names = repository.names("ls-tree", "-z", "--name-only", f"{commit}:", f"{_FILES}/")
    return {
        os.path.basename(name): repository.run("cat-file", "blob", f"{commit}:{name}")
        for name in names
    }


def is_same(record: Record, commit: str) -> bool:
    """Return whether a worktree of this host is as it was put into a commit."""
    repository = record.repository()
    tree = snapshots.write_tree(repository.keeping_bytes(), record.snapshot_index, record.left_out)
    wanted = repository.ask("rev-parse", "--verify", "--quiet", f"{commit}:{_FOLDER}")
    head = repository.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if tree != wanted or read_head(repository.git_dir) != f"refs/heads/{record.branch}":
        return False
    packed = read(repository, commit)
    return packed.head == head and packed.modes == dict(_list_modes(repository, record, tree))


def lay_out(source: Repository, record: Record, commit: str) -> None:
    """Make the worktree of a record from a commit; its folder does not exist yet."""
    packed = read(source, commit)
    os.makedirs(os.path.dirname(record.root), mode=0o700, exist_ok=True)
    linked_worktrees.add(source, record.root, record.branch, record.head)
    for path, kept in packed.snapshots.items():
        source.refuse_links(record.refs + path)
        source.run("update-ref", "--no-deref", record.refs + path, kept)
    worktree = record.repository()._replace(held=source.held)
    worktree.keeping_bytes().run("read-tree", "--reset", "-u", f"{commit}:{_FOLDER}")
    worktree.run("read-tree", "--reset", f"{commit}:{_INDEX}")
    if not is_plain(record.root, packed.inner):
        raise GateError(f"{record.folder} is a symbolic link in what was sent.")
    os.makedirs(record.folder, exist_ok=True)
    snapshots.keep_out(record.folder)
    _apply_modes(worktree, record.root, f"{commit}:{_FOLDER}", packed.modes)


def _find_problem(repository: Repository, record: Record) -> str:
    """Return what in a worktree would not travel, or ""."""
    if not is_plain(record.root, os.path.relpath(record.folder, record.root)):
        return f"{record.folder} is a symbolic link, which cannot travel."
    if indexes.is_sparse(repository):
        return f"{record.root} is a sparse checkout, which cannot travel."
    head = read_head(repository.git_dir)
    if head != f"refs/heads/{record.branch}":
        return f"{record.root} is not on its branch {record.branch}."
    for module in removal.list_submodules(repository):
        path = os.path.join(record.root, module)
        if os.path.isdir(path) and os.listdir(path):
            return f"{path} is a submodule with files, which do not travel."
    others = repository.names("ls-files", "-z", "--others", "--exclude-standard")
    if inner := next((name for name in others if name.endswith("/")), ""):
        return f"{os.path.join(record.root, inner)} is another repository, which does not travel."
    return ""


def _write_index(repository: Repository, record: Record) -> str:
    """Return the tree of the worktree's own index: what the agent added for its next commit."""
    with tempfile.TemporaryDirectory(dir=make_private_folder()) as apart:
        variables = {"GIT_INDEX_FILE": indexes.copy(repository, apart)}
        try:
            return repository.line("write-tree", variables=variables)
        except GateError:
            raise GateError(
                f"{record.root} is in the middle of a merge, which cannot travel."
            ) from None


def _list_snapshots(repository: Repository, record: Record) -> dict[str, str]:
    lines = repository.run("for-each-ref", "--format=%(objectname) %(refname)", record.refs)
    found = (os.fsdecode(line).split(" ", 1) for line in lines.splitlines())
    return {name.removeprefix(record.refs): commit for commit, name in found}


def _list_modes(repository: Repository, record: Record, tree: str) -> Iterator[tuple[str, int]]:
    """Yield the modes that git does not keep, and every empty folder."""
    # A submodule is an empty folder here.
    modules = {f"{name}/" for name in removal.list_submodules(repository)}
    for name, usual in _list_files(repository, tree):
        mode = stat.S_IMODE(os.lstat(os.path.join(record.root, name)).st_mode) & _PERMISSIONS
        if mode != usual:
            yield name, mode
    ignored = repository.names(
        "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"
    )
    left_out = {".git", record.left_out, *(name.rstrip("/") for name in ignored)}
    for folder, folders, _ in os.walk(record.root):
        here = os.path.relpath(folder, record.root)
        folders[:] = [one for one in folders if os.path.normpath(f"{here}/{one}") not in left_out]
        mode = stat.S_IMODE(os.lstat(folder).st_mode) & _PERMISSIONS
        if (
            here != "."
            and f"{here}/" not in modules
            and (mode != _FOLDER_MODE or not os.listdir(folder))
        ):
            yield f"{here}/", mode


def _list_files(repository: Repository, tree: str) -> Iterator[tuple[str, int]]:
    for entry in repository.names("ls-tree", "-r", "-z", tree):
        about, _, name = entry.partition("\t")
        # Links have no mode of their own.
        if usual := _MODES.get(about.split(" ")[0]):
            yield name, usual


def _apply_modes(repository: Repository, root: str, tree: str, modes: Mapping[str, int]) -> None:
    for name, usual in _list_files(repository, tree):
        os.chmod(os.path.join(root, name), modes.get(name, usual))
    folders = {name: mode for name, mode in modes.items() if name.endswith("/")}
    for name in folders:
        os.makedirs(os.path.join(root, name), exist_ok=True)
    for folder, _, _ in os.walk(root, topdown=False):
        here = f"{os.path.relpath(folder, root)}/"
        os.chmod(folder, folders.get(here, _FOLDER_MODE))


def _add_blob(repository: Repository, name: str, content: bytes) -> str:
    blob = repository.run("hash-object", "-w", "--stdin", "--no-filters", given=content)
    return f"100644 blob {blob.decode().strip()}\t{name}"


def _add_tree(repository: Repository, entries: list[str]) -> str:
    given = "".join(f"{entry}\0" for entry in entries)
    return repository.run("mktree", "-z", given=os.fsencode(given)).decode().strip()
