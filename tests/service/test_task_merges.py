"""A task branch is merged into another once, and never into a checked out one."""

from __future__ import annotations

import os
import shutil

import pytest
from tests.support.git_project import (
    begin,
    branch,
    done,
    git,
    names_in,
    project,
    workspace,
    write,
)

from gatebell.adapters.git import commits
from gatebell.errors import CheckedOutError, GateError, MergeConflictError, UsageError

__all__ = ["done", "project", "workspace"]


@pytest.mark.proves("TASK-9", "S3-P6")
@pytest.mark.parametrize("squash", [False, True])
def test_branch_is_merged_once(project, workspace, done, squash):
    write(project, a_txt="later\n")
    git(project, "commit", "-qam", "later")
    git(project, "branch", "-f", "main")
    old, tip = git(project, "rev-parse", "main"), git(project, "rev-parse", done.branch)
    made = workspace.merge(done, "main", "Merge own", "key", squash=squash)
    assert made == git(project, "rev-parse", "main")
    parents = [old] if squash else [old, tip]
    assert git(project, "log", "-1", "--format=%P", made) == " ".join(parents)
    assert git(project, "log", "-1", "--format=%B", made) == "Merge own\n\nGate-Call: key"
    assert {"own.txt", "a.txt"} < set(names_in(project, made))
    git(project, "checkout", "-q", "main")
    git(project, "commit", "-q", "--allow-empty", "-m", "even later")
    assert workspace.merge(done, "main", "Merge own", "key", squash=squash) == made
    assert git(project, "status", "--porcelain") == ""
    again = (
        workspace.merge(done, "main", "Merge own", "other", squash=False) if not squash else made
    )
    assert again == (made if squash else git(project, "rev-parse", "main"))


@pytest.mark.proves("TASK-315", "LAW-7")
@pytest.mark.parametrize("squash", [False, True])
def test_fully_merged_branch_is_removed_and_its_folder_stays(project, workspace, done, squash):
    write(project, a_txt="later\n")
    git(project, "commit", "-qam", "later")
    git(project, "branch", "-f", "main")
    assert not workspace.let_go(done, git(project, "rev-parse", "main"))
    made = workspace.merge(done, "main", "Own", "key", squash=squash)
    git(project, "worktree", "add", "-qf", f"{project}-other", done.branch)
    assert not workspace.let_go(done, made) and git(project, "branch", "--list", "task/*")
    git(project, "worktree", "remove", f"{project}-other")
    # Leave the state of a process that was killed in the middle.
    git(done.folder, "checkout", "-q", "--detach")
    for _ in range(2):
        assert workspace.merge(done, "main", "Own", "key", squash=squash) == made
        assert workspace.let_go(done, made)
        assert git(project, "branch", "--list", "task/*") == ""
    assert git(done.folder, "status", "--porcelain") == "" and "own.txt" in os.listdir(done.folder)
    git(done.folder, "commit", "-q", "--allow-empty", "-m", "more")
    assert "rev-parse HEAD" in workspace.remove(done, 1, dry_run=True)
    git(done.folder, "reset", "-q", "--hard", "HEAD~1")
    assert workspace.remove(done, 1) == "" and not os.path.exists(done.root)


@pytest.mark.proves("TASK-9")
def test_work_already_merged_is_not_merged_again(project, workspace, done):
    git(project, "merge", "-q", "--squash", done.branch)
    git(project, "commit", "-qm", "by hand")
    git(project, "branch", "-f", "main")
    there = git(project, "rev-parse", "main")
    assert workspace.merge(done, "main", "Own", "key", squash=True) == there
    assert git(project, "rev-parse", "main") == there


@pytest.mark.proves("TASK-9", "TASK-4")
def test_conflict_with_the_base_changes_nothing(project, workspace, done):
    write(project, own_txt="theirs\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "theirs")
    git(project, "branch", "-f", "main")
    before = git(project, "for-each-ref")
    with pytest.raises(MergeConflictError) as told:
        workspace.merge(done, "main", "Own", "key")
    assert (told.value.names, told.value.files) == (("main", "task/tm-abc"), ("own.txt",))
    assert git(project, "for-each-ref") == before


@pytest.mark.proves("TASK-9")
def test_missing_branch_is_not_merged_into(project, workspace, done):
    with pytest.raises(UsageError, match="has no branch nowhere"):
        workspace.merge(done, "nowhere", "Own", "key")
    git(project, "symbolic-ref", "refs/heads/trunk", "refs/heads/main")
    with pytest.raises(UsageError, match="trunk is an alias of refs/heads/main"):
        workspace.merge(done, "trunk", "Own", "key")


def in_the_project(project, elsewhere):
    git(project, "checkout", "-q", "main")
    return project


def in_a_linked_one(project, elsewhere):
    git(project, "worktree", "add", "-q", elsewhere, "main")
    return elsewhere


def in_one_that_is_gone(project, elsewhere):
    git(project, "worktree", "add", "-q", elsewhere, "main")
    shutil.rmtree(elsewhere)
    return elsewhere


def while_it_is_rebased(project, elsewhere):
    git(project, "worktree", "add", "-q", elsewhere, "main")
    git(elsewhere, "commit", "-q", "--allow-empty", "-m", "x")
    with pytest.raises(Exception, match="rebase"):
        git(elsewhere, "rebase", "-q", "--exec", "false", "HEAD~1")
    return elsewhere


def while_one_above_it_is_rebased(project, elsewhere):
    git(project, "checkout", "-q", "main")
    git(project, "checkout", "-qb", "above")
    git(project, "commit", "-q", "--allow-empty", "-m", "x")
    git(project, "branch", "low", "HEAD~1")
    git(project, "commit", "-q", "--allow-empty", "-m", "y")
    git(project, "branch", "-f", "main", "HEAD~1")
    with pytest.raises(Exception, match="rebase"):
        git(project, "rebase", "-q", "--update-refs", "--exec", "false", "low")
    return project


def while_it_is_bisected(project, elsewhere):
    git(project, "checkout", "-q", "main")
    git(project, "commit", "-q", "--allow-empty", "-m", "x")
    git(project, "bisect", "start", "main", "main~1")
    git(project, "checkout", "-q", "--detach")
    return project


@pytest.mark.proves("TASK-10")
@pytest.mark.parametrize(
    "check_out",
    [
        in_the_project,
        in_a_linked_one,
        in_one_that_is_gone,
        while_it_is_rebased,
        while_one_above_it_is_rebased,
        while_it_is_bisected,
    ],
)
def test_checked_out_branch_is_not_written(project, workspace, done, tmp_path, check_out):
    where = check_out(project, tmp_path / "elsewhere")
    before = git(project, "rev-parse", "main")
    with pytest.raises(CheckedOutError) as told:
        workspace.merge(done, "main", "Own", "key")
    assert os.path.realpath(told.value.where) == os.path.realpath(where)
    assert f"main is checked out in {told.value.where}" in str(told.value)
    assert git(project, "rev-parse", "main") == before
    if check_out is in_one_that_is_gone:
        git(project, "worktree", "prune")
        assert workspace.merge(done, "main", "Own", "key") != before


@pytest.mark.proves("TASK-10")
def test_bare_repository_has_no_checkout(project, workspace, tmp_path):
    bare, linked = tmp_path / "shop.git", tmp_path / "tree"
    git(tmp_path, "clone", "-q", "--bare", project, bare)
    git(bare, "worktree", "add", "-qb", "mine", linked, "main")
    place = begin(workspace, linked, base="main")
    write(place.folder, own_txt="own\n")
    workspace.commit(place, "Own", "1")
    assert workspace.merge(place, "main", "Merge own", "2") == git(bare, "rev-parse", "main")


@pytest.mark.proves("TASK-11")
def test_base_moved_during_the_merge_keeps_its_commits(project, workspace, done, monkeypatch):
    real, moved = commits.write, []

    def disturb(repository, tree, parents, *words):
        made = real(repository, tree, parents, *words)
        if len(moved) < 2:
            moved.append(
                branch(project, f"other-{len(moved)}", f"{parents[0]}", b_txt=f"{len(moved)}\n")
            )
            git(project, "branch", "-f", "main", moved[-1])
        return made

    monkeypatch.setattr(commits, "write", disturb)
    made = workspace.merge(done, "main", "Own", "key")
    assert git(project, "log", "-1", "--format=%P", made).split()[0] == moved[-1]
    assert {"own.txt"} < set(names_in(project, "main")) and len(moved) == 2
    git(project, "branch", "-f", "main", done.base)
    monkeypatch.setattr(commits, "advance", lambda *_: False)
    with pytest.raises(GateError, match="changed main during each attempt"):
        workspace.merge(done, "main", "Own", "again")
