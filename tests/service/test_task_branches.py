"""The start of the work of a task: its base and its dependencies."""

from __future__ import annotations

import os
import shutil

import pytest
from tests.support.git_project import (
    ODD,
    begin,
    branch,
    files,
    git,
    names_in,
    odd_file,
    project,
    state,
    workspace,
    write,
)

from gatebell.errors import GateError, MergeConflictError, UsageError

__all__ = ["project", "workspace"]


@pytest.mark.proves("TASK-1", "S3-P6")
def test_task_has_the_requested_branch(project, workspace):
    place = begin(workspace, project)
    assert place.branch == "task/tm-abc" == git(place.folder, "branch", "--show-current")
    assert place.remarks == ()
    again = begin(workspace, project, run_id=2)
    assert again.branch == "task/tm-abc-2"
    assert again.remarks == ("The branch task/tm-abc exists already: this run uses task/tm-abc-2.",)
    assert begin(workspace, project) == place


@pytest.mark.proves("TASK-1")
def test_branch_that_blocks_task_branches_is_named(project, workspace):
    git(project, "branch", "task")
    with pytest.raises(UsageError, match="`task` is in the way of branches like task/tm-abc"):
        begin(workspace, project)


@pytest.mark.proves("TASK-2")
def test_work_begins_from_the_base_that_is_named(project, workspace):
    tip = branch(project, "release", a_txt="released\n")
    write(project, b_txt="not committed\n")
    place = begin(workspace, project, base="release")
    assert place.base == tip
    assert files(place.folder)["a.txt"] == b"released\n"
    assert place.remarks == ("Changes to 1 file are not committed and were left out.",)
    assert begin(workspace, project, run_id=2, base=tip[:12]).base == tip
    for unknown in ("nowhere", "--all"):
        with pytest.raises(UsageError, match=f"no branch or commit {unknown}"):
            begin(workspace, project, run_id=3, base=unknown)
    with pytest.raises(UsageError, match="can only be used with the checked-out commit"):
        begin(workspace, project, run_id=3, base="release", with_changes=True)


@pytest.mark.proves("TASK-3")
def test_work_starts_with_all_dependencies(project, workspace):
    one, two, three = (
        branch(project, f"task/tm-{name}", **{f"{name}_txt": f"{name}\n"})
        for name in ("one", "two", "three")
    )
    branch(project, "task/tm-four", "task/tm-three", four_txt="four\n")
    before = state(project)
    needed = ["task/tm-one", two, "task/tm-four", "task/tm-three", "main"]
    place = begin(workspace, project, onto=needed)
    assert state(project)[:3] == before[:3]
    assert {"one.txt", "two.txt", "three.txt", "four.txt"} < set(names_in(project, place.base))
    assert git(place.folder, "rev-parse", "HEAD") == place.base
    assert git(place.folder, "status", "--porcelain") == ""
    merged = git(project, "rev-list", "--merges", place.base).splitlines()
    assert len(merged) == 2, "the first is taken as it is, the last two are there already"
    assert git(project, "merge-base", "--octopus", place.base, one, two, three)
    write(place.folder, own_txt="own\n")
    assert [line for line in workspace.diff(place).splitlines() if line.startswith("+++")] == [
        "+++ b/own.txt"
    ]


@pytest.mark.proves("TASK-3")
def test_chain_of_unmerged_branches_holds_all_work(project, workspace):
    needed = []
    for run_id, name in enumerate(("tm-a", "tm-b", "tm-c"), 1):
        place = begin(workspace, project, name, run_id, onto=needed)
        write(place.folder, **{f"{name}_txt": name})
        workspace.commit(place, name, f"key-{name}")
        needed = [place.branch]
    assert {"tm-a.txt", "tm-b.txt", "tm-c.txt"} < set(names_in(project, "task/tm-c"))
    assert workspace.diff(place).count("+++ ") == 1


@pytest.mark.proves("TASK-4")
def test_dependencies_at_odds_are_named_and_nothing_is_made(project, workspace, tmp_path):
    branch(project, "task/tm-else", b_txt="else\n")
    branch(project, "task/tm-one", a_txt="one of them\n")
    branch(project, "task/tm-two", a_txt="two of them\n")
    before = git(project, "for-each-ref")
    needed = ["task/tm-else", "task/tm-one", "task/tm-two"]
    with pytest.raises(MergeConflictError) as told:
        begin(workspace, project, onto=needed)
    assert told.value.names == ("task/tm-one", "task/tm-two")
    assert told.value.files == ("a.txt",)
    assert "task/tm-one and task/tm-two cannot be merged, both have changed a.txt" in str(
        told.value
    )
    assert git(project, "for-each-ref") == before
    assert os.listdir(tmp_path / "data/worktrees") == []
    git(project, "branch", "-f", "task/tm-two", "task/tm-one")
    place = begin(workspace, project, onto=needed)
    assert files(place.folder)["a.txt"] == b"one of them\n"


@pytest.mark.proves("TASK-4")
def test_branches_that_conflict_only_together_are_all_named(project, workspace):
    lines = [f"line {number} of many\n" for number in range(100)]
    git(project, "checkout", "-qb", "old")
    write(project, a_txt="".join(lines))
    git(project, "commit", "-qam", "many lines")
    git(project, "checkout", "-q", "main")
    git(project, "merge", "-q", "old")
    mine = [f"{number} is other\n" for number in range(40)] + lines[40:]
    write(project, a_txt="".join(mine))
    git(project, "commit", "-qam", "other at the top")
    git(project, "checkout", "-qb", "renamed", "old")
    git(project, "mv", "a.txt", "c.txt")
    write(project, c_txt="".join(lines[:60] + [f"{number} is new\n" for number in range(40)]))
    git(project, "commit", "-qam", "other at the end, and another name")
    git(project, "checkout", "-q", "main")
    branch(project, "between", "old", a_txt="".join([*lines[:50], "between\n", *lines[51:]]))
    with pytest.raises(MergeConflictError) as told:
        begin(workspace, project, onto=["renamed", "between"])
    assert told.value.names == ("main with renamed", "between")


@pytest.mark.proves("TASK-5")
def test_conflicts_are_left_in_the_files_on_request(project, workspace):
    branch(project, "task/tm-one", a_txt="one of them\n")
    branch(project, "task/tm-two", a_txt="two of them\n")
    branch(project, "task/tm-else", b_txt="else\n")
    needed = ["task/tm-one", "task/tm-two", "task/tm-else"]
    place = begin(workspace, project, onto=needed, markers=True)
    text = files(place.folder)["a.txt"].decode()
    assert "<<<<<<<" in text and "one of them" in text and "two of them" in text
    assert files(place.folder)["b.txt"] == b"else\n"
    told = "task/tm-one and task/tm-two were merged with conflicts, marked by git in the files"
    assert place.remarks == (f"{told}: a.txt.",)
    assert git(place.folder, "status", "--porcelain") == "" == workspace.diff(place)
    assert all(
        git(project, "merge-base", name, place.base) == git(project, "rev-parse", name)
        for name in needed
    )


def delete(folder, theirs):
    if theirs:
        (folder / "a.txt").unlink()
    else:
        write(folder, a_txt="changed\n")


def rename(folder, theirs):
    if theirs:
        (folder / "a.txt").unlink()
    else:
        git(folder, "mv", "a.txt", "renamed.txt")


def binary(folder, theirs):
    (folder / "a.txt").write_bytes(b"\0theirs" if theirs else b"\0ours")


def link(folder, theirs):
    if theirs:
        (folder / "a.txt").unlink()
        os.symlink("b.txt", folder / "a.txt")
    else:
        write(folder, a_txt="changed\n")


def file_and_folder(folder, theirs):
    if theirs:
        write(folder, new="a file\n")
    else:
        (folder / "new").mkdir()
        write(folder / "new", x_txt="in a folder\n")


def split_folder(folder, theirs):
    if theirs:
        write(folder / "many", fifth="5\n")
    else:
        for name, into in zip("1234", "xxyy", strict=True):
            (folder / into).mkdir(exist_ok=True)
            git(folder, "mv", f"many/{name}", f"{into}/{name}")


def submodule(folder, theirs):
    one, two = git(folder, "rev-list", "--all", "--max-count=2").split()
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{one if theirs else two},sub")


@pytest.mark.proves("TASK-4", "TASK-5")
@pytest.mark.parametrize(
    ("change", "named"),
    [
        (odd_file, (ODD,)),
        (delete, ("a.txt",)),
        (rename, ("renamed.txt", "a.txt")),
        (binary, ("a.txt",)),
        (link, ("a.txt",)),
        (file_and_folder, ("new",)),
        (split_folder, ("many",)),
        (submodule, ("sub",)),
    ],
)
def test_every_kind_of_conflict_is_reported(project, workspace, change, named):
    many = project / "many"
    many.mkdir()
    for number in "1234":
        write(many, **{number: "".join(f"{number}{line}\n" for line in range(40))})
    git(project, "add", ".")
    git(project, "commit", "-qm", "many")
    for name in ("one", "two"):
        git(project, "checkout", "-qb", name, "main")
        change(project, name == "two")
        if change is not submodule:
            git(project, "add", "-A")
        git(project, "commit", "-qm", name)
        git(project, "checkout", "-qf", "main")
        git(project, "clean", "-qffdx")
    with pytest.raises(MergeConflictError) as told:
        begin(workspace, project, onto=["one", "two"])
    assert set(named) <= set(told.value.files)
    place = begin(workspace, project, onto=["one", "two"], markers=True)
    assert "merged with conflicts" in place.remarks[0] and named[0] in place.remarks[0]
    assert workspace.diff(place) == ""


@pytest.mark.proves("TASK-4")
def test_merge_that_git_refuses_is_reported_in_its_words(project, workspace, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-qb", "main")
    write(other, x_txt="x\n")
    git(other, "add", ".")
    git(other, "commit", "-qm", "of another root")
    git(project, "fetch", "-q", other, "main:unrelated")
    with pytest.raises(GateError, match="refusing to merge unrelated histories"):
        begin(workspace, project, onto=["unrelated"])


@pytest.mark.proves("TASK-4")
def test_git_that_is_too_old_is_named(project, workspace, monkeypatch, tmp_path):
    branch(project, "one", a_txt="1\n")
    branch(project, "two", b_txt="2\n")
    old = tmp_path / "bin/git"
    old.parent.mkdir()
    refuse = 'case "$*" in *--write-tree*) exit 129;; esac'
    old.write_text(f'#!/bin/sh\n{refuse}\nexec "{shutil.which("git")}" "$@"\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    with pytest.raises(UsageError, match=r"need git 2\.38 or newer"):
        begin(workspace, project, onto=["one", "two"])
