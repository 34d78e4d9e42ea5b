"""Remove a worktree, or say why it must stay, so that no work is lost."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from typing import TYPE_CHECKING

from gatebell.adapters.git import indexes, linked_worktrees, worktree_records
from gatebell.adapters.git.git_folders import read_head
from gatebell.adapters.git.shadow import make_private_folder

if TYPE_CHECKING:
    from gatebell.adapters.git.repositories import Repository
    from gatebell.adapters.git.worktree_records import Record

_GITLINK = "160000"


def find_loss(repository: Repository, record: Record) -> str:
    """Return why a worktree must stay, or ""."""
    heads = [f"refs/heads/{record.branch}"]
    if os.path.isdir(record.root):
        worktree = record.repository()
        if changed := list_uncommitted(worktree, record.left_out):
            root = shlex.quote(record.root)
            return (
                f"{record.root} has changes to {format_files(len(changed))} that are not committed. To "
                f"keep them: git -C {root} add -A && git -C {root} commit, then {_build_merge_command(record)}."
            )
        for module in list_submodules(worktree):
            path = os.path.join(record.root, module)
            if os.path.isdir(path) and os.listdir(path):
                return f"{path} is a submodule that may have work in it: check it, then empty it."
        if os.path.exists(os.path.join(worktree.git_dir, "locked")):
            return f"{record.root} is locked: run `git worktree unlock {record.root}`."
        heads.append(worktree.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))
    tips = [
        tip for head in heads if (tip := repository.ask("rev-parse", "--verify", "--quiet", head))
    ]
    # A branch that came here from another may exist only here. So only the user's branches count as
    # kept, and above them only our own merges contain no work.
    found = tips and repository.line(
        *("rev-list", *tips, "--not", record.began or record.base),
        *(f"--exclude={record.branch}", "--branches", "--remotes"),
        *([record.tip] if _has_landed(repository, record) else []),
    )
    only_here = set(found.split() if found else ()) - set(record.merges)
    if only_here:
        return (
            f"{record.branch} has commits that are on no other branch ({len(only_here)}). To keep "
            f"them: {_build_merge_command(record)}, or push it."
        )
    where = linked_worktrees.find_holder(repository, record.branch, record.root)
    return f"{record.branch} is checked out in {where}: switch branches there." if where else ""


def _has_landed(repository: Repository, record: Record) -> bool:
    """Return whether a branch of the user has all commits of the removed branch."""
    refs = ("--format=%(refname)", "refs/heads", "refs/remotes")
    return bool(
        record.landed and repository.ask("for-each-ref", f"--contains={record.landed}", *refs)
    )


def _build_merge_command(record: Record) -> str:
    root = shlex.quote(record.root)
    what = f'"$(git -C {root} rev-parse HEAD)"' if record.landed else shlex.quote(record.branch)
    return f"git -C {shlex.quote(record.project)} merge {what}"


def read_tip(repository: Repository, record: Record) -> str:
    """Return the commit of a worktree's branch, or ""."""
    return repository.ask("rev-parse", "--verify", "--quiet", f"refs/heads/{record.branch}")


def drop_branch(worktree: Repository, record: Record, tip: str) -> None:
    """Remove the branch of a worktree; the worktree stays, on no branch."""
    branch = f"refs/heads/{record.branch}"
    worktree.refuse_links(branch)
    if read_head(worktree.git_dir) == branch:
        # Not by git, which would write the HEAD of its shadow.
        worktree_records.write_bytes(os.path.join(worktree.git_dir, "HEAD"), f"{tip}\n".encode())
    worktree.run("update-ref", "--no-deref", "-d", branch, tip)


def clear(record: Record) -> None:
    remove_tree(os.path.dirname(record.root))
    for git_dir in list(record.git_dirs()):
        linked_worktrees.forget(git_dir)


def remove_tree(folder: str) -> None:
    if not os.path.lexists(folder):
        return
    try:
        shutil.rmtree(folder)
    except PermissionError:
        # Some tools create folders without write permission (Go's module cache).
        for inner, _, _ in os.walk(folder):
            os.chmod(inner, 0o700)
        shutil.rmtree(folder)


def list_submodules(repository: Repository) -> list[str]:
    entries = repository.names("ls-files", "-z", "--stage")
    return [entry.partition("\t")[2] for entry in entries if entry.startswith(_GITLINK)]


def list_uncommitted(repository: Repository, left_out: str) -> list[str]:
    """Return the files that differ from the last commit, whatever the marks in the index are."""
    with tempfile.TemporaryDirectory(dir=make_private_folder()) as apart:
        index = {"GIT_INDEX_FILE": indexes.copy(repository, apart)}
        indexes.show_hidden(repository, index)
        # Without entering submodules: that would run the filters that they name.
        return repository.names(
            *("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"),
            *("--ignore-submodules=dirty", "--", f":(top,exclude,literal){left_out}"),
            variables=index,
        )


def format_files(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"
