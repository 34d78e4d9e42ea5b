"""Commit the work in a folder on its branch, exactly once, also after a crash."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from gatebell.adapters.git import indexes, snapshots, users_programs
from gatebell.adapters.git.shadow import make_private_folder
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gatebell.adapters.git.repositories import Repository
    from gatebell.adapters.git.worktree_records import Record

_TRAILER = "Gate-Call: "
_TRIES = 5
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}


def commit(repository: Repository, record: Record, words: str, key: str) -> str:
    """Commit all files that are not ignored; without changes, return the tip of the branch."""
    storing, ref = repository.with_programs(), f"refs/heads/{record.branch}"
    _refuse_elsewhere(repository, record)
    for tip in read_tips(repository, ref):
        done = find_commit(repository, key, record.base, tip)
        if not done:
            # Not in the index of snapshots, which has files as they are before any filter.
            with tempfile.TemporaryDirectory(dir=make_private_folder()) as apart:
                tree = snapshots.write_tree(storing, os.path.join(apart, "index"), record.left_out)
            users_programs.refuse_others(storing, tip, tree)
            if tree == repository.line("rev-parse", f"{tip}^{{tree}}"):
                done = tip
            else:
                new = write(repository, tree, [tip], words, key)
                done = new if advance(repository, ref, new, tip) else ""
        if done:
            indexes.show_hidden(repository)
            repository.run("read-tree", "--reset", done)
            # Its exit code is ignored: it also reports files that still need an update.
            storing.answer("update-index", "-q", "--refresh")
            return done
    raise GateError(f"Another process changed {record.branch} during each attempt: try again.")


def _refuse_elsewhere(repository: Repository, record: Record) -> None:
    on = repository.ask("symbolic-ref", "--quiet", "HEAD")
    if on != f"refs/heads/{record.branch}":
        where = f"on {on.removeprefix('refs/heads/')}" if on else "on no branch"
        raise GateError(
            f"{record.root} is {where}, not on {record.branch}, so nothing was committed: bring "
            f"its commits to {record.branch} and `git switch {record.branch}` there, then try again."
        )
    for name, what in _UNFINISHED.items():
        if os.path.exists(os.path.join(repository.git_dir, name)):
            raise GateError(
                f"A {what} is unfinished in {record.root}, so nothing was committed: "
                f"`git {what} --continue` or `git {what} --abort` there, then try again."
            )


def read_tips(repository: Repository, ref: str) -> Iterator[str]:
    """Yield the commit of a branch, read again for each try to advance it."""
    for _ in range(_TRIES):
        tip = repository.ask("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        if not tip:
            raise GateError(f"The branch {ref.removeprefix('refs/heads/')} no longer exists.")
        yield tip


def find_commit(repository: Repository, key: str, since: str, tip: str) -> str:
    """Return the commit that was made for this call, or ""."""
    listed = repository.names(
        *("log", "-z", "--format=%H%n%B", "--fixed-strings", f"--grep={_TRAILER}{key}"),
        *(tip, "--not", since),
    )
    # Only its last line: people and agents may write the same words anywhere else.
    made = (entry.rstrip().split("\n") for entry in listed)
    return next((lines[0] for lines in made if lines[-1] == _TRAILER + key), "")


def write(
    repository: Repository, tree: str, parents: Sequence[str], words: str, key: str = ""
) -> str:
    """Write a commit in the name of the repository's user, without a signature or hooks."""
    user = {what: repository.settings.get(f"user.{what}", "") for what in ("name", "email")}
    variables = {
        f"GIT_{who}_{what.upper()}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in user.items()
        if all(user.values())
    }
    text = words.replace("\0", "").rstrip() + (f"\n\n{_TRAILER}{key}" if key else "") + "\n"
    made = repository.run(
        *("commit-tree", tree, *(word for parent in parents for word in ("-p", parent))),
        given=text.encode("utf-8", "replace"),
        variables=variables,
    )
    return made.decode().strip()


def advance(repository: Repository, ref: str, new: str, old: str) -> bool:
    """Make a branch point to a commit; return False if another process has moved it."""
    # A ref may have been turned into an alias of another ref, which is not ours.
    repository.refuse_links(ref)
    words = ("update-ref", "--no-deref", "-m", "gate: work of agents", ref, new, old)
    code, _ = repository.answer(*words)
    if code and repository.ask("rev-parse", "--verify", "--quiet", ref) != old:
        return False
    if code:
        # Not moved and not written: run it again to raise its error.
        repository.run(*words)
    return True
