"""The folder of a task: compared with its snapshot, restored, and kept if it holds work."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.support.git_project import begin, branch, files, git, odd_file, project, workspace, write

from gatebell.adapters.git.worktrees import GitWorkspace
from gatebell.errors import GateError
from gatebell.ports.workspaces import Place

__all__ = ["project", "workspace"]


@pytest.fixture
def place(project, workspace):
    """Make a folder with all kinds of unfinished work, saved for call 3."""
    found = begin(workspace, project)
    folder = Path(found.folder)
    write(folder, a_txt="committed\n")
    git(folder, "commit", "-qam", "the agent's own")
    write(folder, a_txt="half done\n", new_txt="new\n", _env="SECRET=1")
    (folder / "build").mkdir()
    write(folder / "build", forced_txt="tracked all the same\n", left_txt="ignored\n")
    git(folder, "add", "-f", "build/forced.txt")
    (folder / "b.txt").unlink()
    odd_file(folder)
    os.symlink("a.txt", folder / "link")
    (folder / "a.txt").chmod(0o755)
    workspace.snapshot(found, 1, "3")
    return found


def kept_files(place):
    """Only files that git does not ignore."""
    left = (".env", "build/left.txt")
    return {name: text for name, text in files(place.folder).items() if name not in left}


def status(place):
    return sorted(git(place.folder, "status", "--porcelain", "-z", "--no-renames").split("\0"))


@pytest.mark.proves("TASK-13", "S3-26", "S3-27")
def test_unchanged_folder_is_left_as_it_is(project, workspace, place):
    before, tip = files(place.folder), git(project, "rev-parse", place.branch)
    assert workspace.restore(place, 1, "3") == []
    assert files(place.folder) == before and git(project, "rev-parse", place.branch) == tip
    assert workspace.find_snapshot(place, 1, "3") == git(project, "rev-parse", "refs/task/tm-abc/3")
    assert workspace.find_snapshot(place, 1, "4") == ""
    assert workspace.restore(place, 1, "4") == []
    in_place = Place(place.folder, place.root)
    assert workspace.find_snapshot(in_place, 1, "3") == ""
    assert workspace.restore(in_place, 1, "3") == []


@pytest.mark.proves("TASK-13")
def test_changed_folder_is_reported_and_left_as_it_is(project, workspace, place):
    write(place.folder, a_txt="somebody was here\n", other_txt="theirs\n")
    before = files(place.folder)
    assert workspace.restore(place, 1, "3") == [
        f"{place.root} differs from the snapshot for call 3; changed since then: a.txt, other.txt."
    ]
    for number in range(30):
        write(place.folder, **{f"x{number:02}": "x"})
    (told,) = workspace.restore(place, 1, "3")
    assert told.endswith("x16, x17 and 12 more.")
    assert before.items() <= files(place.folder).items()


@pytest.mark.proves("TASK-14", "S3-26", "S3-27", "LAW-7")
@pytest.mark.parametrize("forgotten", ["", "pruned", "locked", "branch"])
def test_missing_folder_is_created_again(project, workspace, place, forgotten):
    before, changed, link = kept_files(place), status(place), os.readlink(f"{place.folder}/link")
    tip = git(project, "rev-parse", place.branch)
    if forgotten == "locked":
        git(project, "worktree", "lock", place.root)
    beside = Path(place.root).parent / "shop.bak"
    if forgotten == "branch":
        shutil.rmtree(Path(place.root).parent)
    else:
        os.rename(place.root, beside)
    if forgotten in {"pruned", "branch"}:
        git(project, "worktree", "prune")
    if forgotten == "branch":
        git(project, "branch", "-qD", place.branch)
    told = f"{place.root} was missing: it was restored from the snapshot for call 3"
    assert workspace.restore(place, 1, "3") == [f"{told}, without the files that git ignores."]
    assert kept_files(place) == before and os.readlink(f"{place.folder}/link") == link
    assert os.access(f"{place.folder}/a.txt", os.X_OK)
    assert git(project, "rev-parse", place.branch) == tip == git(place.folder, "rev-parse", "HEAD")
    assert git(place.folder, "branch", "--show-current") == place.branch
    is_known = forgotten in {"", "locked"}
    assert not is_known or status(place) == changed, "what was staged is staged"
    assert os.path.exists(f"{place.folder}/.agents/.gitignore")
    assert workspace.restore(place, 1, "3") == []
    assert workspace.make(str(project), 1) == place
    assert git(project, "worktree", "list", "--porcelain").count("prunable") == 0
    assert beside.exists() == (forgotten != "branch"), "what somebody has kept beside it stays"
    assert sorted(os.listdir(Path(place.root).parent.parent)) == [
        "run-1",
        "run-1.json",
        "run-1.raw-index",
    ]
    made = workspace.commit(place, "Work", "1")
    assert ("forced.txt" in git(project, "show", "--stat", made)) == is_known


@pytest.mark.proves("TASK-14")
def test_part_of_the_repository_is_restored_as_that_part(project, workspace):
    (project / "web").mkdir()
    write(project, c_txt="c\n")
    place = workspace.make(str(project / "web"), 1, branch="task/tm-abc")
    workspace.snapshot(place, 1, "1")
    shutil.rmtree(place.root)
    assert workspace.restore(place, 1, "1")
    assert os.listdir(place.folder) == [".agents"]


@pytest.mark.proves("TASK-14")
def test_commits_after_the_snapshot_are_restored_too(project, workspace, place):
    write(place.folder, later_txt="later\n")
    git(place.folder, "add", "later.txt")
    git(place.folder, "commit", "-qm", "later", "later.txt")
    before = kept_files(place)
    shutil.rmtree(place.root)
    assert workspace.restore(place, 1, "3")
    assert kept_files(place) == before
    assert " M a.txt" in status(place)
    write(place.folder, a_txt="otherwise\n")
    git(place.folder, "commit", "-qam", "otherwise")
    shutil.rmtree(place.root)
    with pytest.raises(GateError, match=r"has new commits since: both changed a\.txt") as told:
        workspace.restore(place, 1, "3")
    assert workspace.find_snapshot(place, 1, "3") in str(told.value)
    assert not os.path.exists(place.root)


@pytest.mark.proves("TASK-14")
def test_folder_that_cannot_be_restored_is_reported(project, workspace, place, monkeypatch):
    os.rename(place.root, project.parent / "kept")
    with pytest.raises(GateError, match="is missing; its branch task/tm-abc"):
        workspace.restore(place, 1, "4")
    git(project, "worktree", "prune")
    git(project, "checkout", "-q", place.branch)
    with pytest.raises(GateError, match="is checked out in"):
        workspace.restore(place, 1, "3")
    git(project, "checkout", "-q", "main")
    real = os.rename

    def hinder(here, there):
        if there == place.root:
            os.mkdir(there)
            write(there, theirs_txt="put back\n")
        real(here, there)

    monkeypatch.setattr(os, "rename", hinder)
    with pytest.raises(GateError, match="cannot be restored: Directory not empty"):
        workspace.restore(place, 1, "3")
    assert files(place.root) == {"theirs.txt": b"put back\n"}


@pytest.mark.proves("S3-B2", "LAW-7")
def test_changes_of_one_task_are_in_no_other(project, workspace):
    places = [begin(workspace, project, f"tm-{name}", name) for name in (1, 2, 3)]
    for number, place in enumerate(places, 1):
        write(place.folder, a_txt=f"by {number}\n", **{f"own{number}_txt": "own\n"})
    workspace.snapshot(places[0], 1, "1")
    made = [workspace.commit(place, "Work", "key") for place in places[1:]]
    assert git(places[0].folder, "status", "--porcelain") == " M a.txt\n?? own1.txt"
    for number, commit in enumerate(made, 2):
        changed = git(project, "diff", "--name-only", places[0].base, commit).split()
        assert changed == ["a.txt", f"own{number}.txt"]
        assert git(project, "show", f"{commit}:a.txt") == f"by {number}"
    assert git(project, "status", "--porcelain") == ""
    assert workspace.restore(places[0], 1, "1") == []


# Removing


def finish(workspace, project, task, run_id, **wish):
    place = begin(workspace, project, task, run_id, **wish)
    write(place.folder, **{f"{task}_txt": task})
    workspace.commit(place, task, "key")
    return place


@pytest.mark.proves("TASK-15")
def test_last_branch_that_holds_other_work_stays(project, workspace):
    first = finish(workspace, project, "tm-a", 1)
    second = finish(workspace, project, "tm-b", 2)
    third = begin(workspace, project, "tm-c", 3, onto=[first.branch, second.branch])
    kept = workspace.snapshot(third, 3, "1")
    fork = workspace.make(str(project), 4, snapshot=kept)
    assert workspace.remove(first, 1) == "" == workspace.remove(second, 2)
    assert workspace.remove(third, 3) == "", "the fork holds all of it"
    assert "on no other branch (3)" in workspace.remove(fork, 4)
    git(project, "merge", "-q", fork.branch)
    assert workspace.remove(fork, 4) == ""
    assert {"tm-a.txt", "tm-b.txt"} <= set(files(project))


@pytest.mark.proves("TASK-15")
def test_merge_that_only_joined_branches_holds_no_work(project, workspace):
    for name in ("one", "two"):
        branch(project, name, **{f"{name}_txt": name})
    place = begin(workspace, project, onto=["one", "two"])
    assert workspace.remove(place, 1) == ""
    place = finish(workspace, project, "tm-d", 2, onto=["one", "two"])
    assert "task/tm-d has commits that are on no other branch (1)" in workspace.remove(place, 2)
    git(project, "branch", "-D", "one")
    assert "(2)" in workspace.remove(place, 2)
    assert workspace.remove(place, 2, force=True) == ""


@pytest.mark.proves("TASK-15")
def test_remains_of_an_interrupted_restore_are_removed(project, workspace, place, tmp_path):
    shutil.rmtree(place.root)
    git(project, "worktree", "prune")
    left = tmp_path / "data/worktrees/run-1.again/shop"
    git(project, "worktree", "add", "-q", left, place.branch)
    write(left, a_txt="half of it\n")
    assert "on no other branch" in workspace.remove(place, 1)
    assert workspace.remove(place, 1, force=True) == ""
    assert os.listdir(tmp_path / "data/worktrees") == []
    assert git(project, "branch", "--format=%(refname:short)") == "main"


@pytest.mark.proves("TASK-15")
def test_worktree_of_an_earlier_version_is_removed(project, workspace, tmp_path):
    place = workspace.make(str(project), 1)
    path = tmp_path / "data/worktrees/run-1.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in known.items() if k not in {"began", "merges"}}))
    write(place.folder, a_txt="work\n")
    git(place.folder, "commit", "-qam", "work")
    assert "(1)" in GitWorkspace(str(tmp_path / "data")).remove(place, 1)
    git(place.folder, "reset", "-q", "--hard", "HEAD~1")
    assert workspace.remove(place, 1) == ""
