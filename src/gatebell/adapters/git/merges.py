"""Merge branches without a worktree: before work begins, and when it is done."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from gatebell.adapters.git import commits, linked_worktrees
from gatebell.errors import CheckedOutError, GateError, MergeConflictError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.adapters.git.repositories import Repository
    from gatebell.adapters.git.worktree_records import Record

_UNKNOWN_OPTION = 129


class Merged(NamedTuple):
    """The result of a merge of two commits."""

    tree: str
    files: list[str]
    """The files that a person must decide about; the tree has git's version of them."""


class Stack(NamedTuple):
    """The commit that work begins from."""

    commit: str
    merges: list[str]
    """The merge commits that were made for it."""
    remarks: list[str]


class _Part(NamedTuple):
    name: str
    commit: str


def resolve(repository: Repository, name: str, instead: str = "") -> str:
    """Return the commit of a branch or another name of git, or else of `instead`."""
    for ref in filter(None, (f"refs/heads/{name}", name, instead)):
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        if commit := repository.ask(*words):
            return commit
    raise UsageError(
        f"{repository.root} has no branch or commit {name} to begin the work from: "
        "list the branches with `git branch`."
    )


def merge(repository: Repository, ours: str, theirs: str) -> Merged:
    """Merge two commits into a tree; files in conflict have git's markers."""
    words = ("merge-tree", "--write-tree", "--name-only", "-z", ours, theirs)
    code, output = repository.merging().answer(*words)
    if code == _UNKNOWN_OPTION:
        raise UsageError("Branches of tasks need git 2.38 or newer: update git.")
    if code not in (0, 1) or not output:
        repository.merging().run(*words)
    # The text after the last zero byte is advice.
    tree, *rest = (os.fsdecode(field) for field in output.split(b"\0")[:-1])
    return Merged(tree, _list_conflicts(rest) if code else [])


def _list_conflicts(fields: list[str]) -> list[str]:
    """Return the files that git lists, then those that only its messages name."""
    rest = iter(fields)
    files = list(iter(lambda: next(rest, ""), ""))
    for number in rest:
        paths, kind, _ = list(islice(rest, int(number))), next(rest, ""), next(rest, "")
        files += paths if kind.startswith("CONFLICT") else []
    return list(dict.fromkeys(files))


def stack(
    repository: Repository,
    base: tuple[str, str],
    onto: Sequence[str],
    instead: Mapping[str, str],
    *,
    markers: bool,
) -> Stack:
    """Merge branches one after the other on top of a base, given as name and commit.

    `instead` has the commits of branches that may no longer exist.
    """
    parts = [_Part(*base)]
    made = Stack(parts[0].commit, [], [])
    for part in (_Part(name, resolve(repository, name, instead.get(name, ""))) for name in onto):
        if _contains(repository, made.commit, part.commit):
            continue
        made = _add_part(repository, made, parts, part, markers)
        parts.append(part)
    return made


def _add_part(
    repository: Repository, made: Stack, parts: list[_Part], part: _Part, markers: bool
) -> Stack:
    if _contains(repository, part.commit, made.commit):
        return made._replace(commit=part.commit)
    merged = merge(repository, made.commit, part.commit)
    names = (_find_conflicting(repository, parts, part) if merged.files else "", part.name)
    if merged.files and not markers:
        raise MergeConflictError(names, merged.files)
    commit = commits.write(
        repository, merged.tree, [made.commit, part.commit], f"Merge {part.name} to begin with"
    )
    if merged.files:
        made.remarks.append(
            f"{names[0]} and {names[1]} were merged with conflicts, marked by git in the "
            f"files: {', '.join(merged.files)}."
        )
    return Stack(commit, [*made.merges, commit], made.remarks)


def _find_conflicting(repository: Repository, parts: list[_Part], part: _Part) -> str:
    """Return which of the merged branches is in conflict with this one."""
    alone = (one.name for one in parts if merge(repository, one.commit, part.commit).files)
    return next(alone, " with ".join(one.name for one in parts))


def _contains(repository: Repository, commit: str, other: str) -> bool:
    return not repository.answer("merge-base", "--is-ancestor", other, commit)[0]


def is_in(repository: Repository, tip: str, commit: str) -> bool:
    """Return whether a commit already has all changes of another one."""
    if _contains(repository, commit, tip):
        return True
    merged = merge(repository, commit, tip)
    tree = repository.line("rev-parse", f"{commit}^{{tree}}")
    return not merged.files and merged.tree == tree


def merge_branch(
    repository: Repository, record: Record, base: str, words: str, key: str, *, squash: bool
) -> str:
    """Merge the branch of a worktree into another branch, which must not be checked out."""
    ref = f"refs/heads/{base}"
    if not repository.ask("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"):
        raise UsageError(f"{record.project} has no branch {base} to merge {record.branch} into.")
    if other := repository.ask("symbolic-ref", "--quiet", ref):
        raise UsageError(f"{base} is an alias of {other}: name that branch itself.")
    for old in commits.read_tips(repository, ref):
        tip = next(commits.read_tips(repository, f"refs/heads/{record.branch}"))
        if done := _find_merge(repository, record, old, tip, key, squash=squash):
            return done
        if where := linked_worktrees.find_holder(repository, base):
            raise CheckedOutError(base, where)
        merged = merge(repository, old, tip)
        if merged.files:
            raise MergeConflictError((base, record.branch), merged.files)
        if squash and merged.tree == repository.line("rev-parse", f"{old}^{{tree}}"):
            return old
        parents = [old] if squash else [old, tip]
        new = commits.write(repository, merged.tree, parents, words, key)
        if commits.advance(repository, ref, new, old):
            return new
    raise GateError(f"Another process changed {base} during each attempt: try again.")


def _find_merge(
    repository: Repository, record: Record, old: str, tip: str, key: str, *, squash: bool
) -> str:
    """Return the commit of an earlier merge of this call, or ""."""
    is_there = _contains(repository, old, tip)
    made = commits.find_commit(repository, key, record.base, old) if squash or is_there else ""
    return made or (old if is_there else "")
