"""The folder of a run, with the real git: created, recreated, and removed without loss."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading

import pytest
from tests.support.git_project import ODD, files, git, project, state, workspace, write

from gatebell.adapters.git import (
    linked_worktrees,
    removal,
    repositories,
    worktree_records,
)
from gatebell.adapters.git.worktrees import GitWorkspace
from gatebell.errors import GateError, NoWorktreeError, UsageError

__all__ = ["project", "workspace"]


class Killed(BaseException):
    """The process was killed."""


def die_at(patch, number, writing):
    """Kill the process after a number of writes, by git or by us."""
    passed = []

    def struck(real, name):
        def strike(*given, **more):
            done = real(*given, **more)
            if name != "run_git" or given[2][0] in writing:
                passed.append(name)
                if len(passed) == number:
                    raise Killed
            return done

        return strike

    for module, name in (
        (repositories, "run_git"),
        (linked_worktrees, "_write"),
        (linked_worktrees, "forget"),
    ):
        patch.setattr(module, name, struck(getattr(module, name), name))
    return passed


@pytest.mark.proves("RUN-170", "S2-P5")
def test_run_has_its_own_folder_and_branch(project, workspace, tmp_path):
    place = workspace.make(str(project), 7)
    assert place.folder == place.root == str(tmp_path / "data/worktrees/run-7/shop")
    assert place.branch == "gate/run-7" == git(place.folder, "branch", "--show-current")
    assert place.base == git(project, "rev-parse", "HEAD") == git(place.folder, "rev-parse", "HEAD")
    assert place.remarks == ()
    assert files(place.folder) == files(project)
    assert git(place.folder, "status", "--porcelain") == ""


@pytest.mark.proves("RUN-170")
def test_project_in_a_subfolder_uses_that_subfolder(project, workspace):
    part = project / "web"
    part.mkdir()
    write(part, page_txt="hello\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "web")
    place = workspace.make(str(part), 1)
    assert place.folder == os.path.join(place.root, "web")
    assert os.path.exists(os.path.join(place.folder, "page.txt"))
    write(os.path.join(place.folder, ".agents"), context_md="secret")
    write(place.folder, page_txt="bye\n")
    assert ".agents" not in git(place.root, "status", "--porcelain", "-uall")
    assert "+bye" in workspace.diff(place)
    assert ".agents" not in workspace.diff(place)


@pytest.mark.proves("RUN-170")
def test_uncommitted_subfolder_starts_empty_and_is_reported(project, workspace):
    (project / "new").mkdir()
    write(project / "new", x_txt="x")
    place = workspace.make(str(project / "new"), 1)
    assert os.listdir(place.folder) == [".agents"]
    assert any("new is not in the last commit" in remark for remark in place.remarks)


@pytest.mark.proves("RUN-171")
def test_uncommitted_changes_are_left_out_and_that_is_said(project, workspace):
    write(project, a_txt="changed\n", new_txt="new\n")
    before = state(project)
    place = workspace.make(str(project), 1)
    assert files(place.folder) == {
        ".gitignore": b".env\nbuild/\n",
        "a.txt": b"one\n",
        "b.txt": b"two\n",
    }
    assert place.remarks == (
        "Changes to 2 files are not committed and were left out; include them with --with-changes.",
    )
    assert state(project) == before


@pytest.mark.proves("RUN-172")
def test_changes_are_copied_on_request_and_the_originals_stay(project, workspace):
    write(project, a_txt="staged\n")
    git(project, "add", "a.txt")
    write(project, a_txt="staged and more\n", _env="SECRET=1")
    (project / "b.txt").unlink()
    os.symlink("a.txt", project / "link")
    with open(os.fsencode(project) + b"/" + os.fsencode(ODD), "w") as file:
        file.write("odd\n")
    before = state(project)
    place = workspace.make(str(project), 1, with_changes=True)
    expected = files(project)
    del expected[".env"]
    assert files(place.folder) == expected
    assert os.readlink(os.path.join(place.folder, "link")) == "a.txt"
    assert place.remarks == ()
    assert git(place.folder, "rev-parse", "HEAD") == place.base == git(project, "rev-parse", "HEAD")
    assert git(place.folder, "diff", "--cached", "--name-only") == ""
    assert state(project) == before
    assert git(project, "stash", "list") == ""


@pytest.mark.proves("RUN-172")
def test_unfinished_merge_is_copied_with_its_conflict_markers(project, workspace):
    git(project, "checkout", "-qb", "other")
    write(project, a_txt="theirs\n")
    git(project, "commit", "-qam", "theirs")
    git(project, "checkout", "-q", "main")
    write(project, a_txt="ours\n")
    git(project, "commit", "-qam", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(project, "merge", "other")
    before = state(project)
    place = workspace.make(str(project), 1, with_changes=True)
    assert files(place.folder) == files(project)
    assert state(project) == before


@pytest.mark.proves("RUN-173")
@pytest.mark.parametrize("kind", ["none", "empty", "bare", "missing"])
def test_impossible_worktree_is_refused_with_a_hint(tmp_path, workspace, kind):
    folder = tmp_path / "x"
    if kind != "missing":
        folder.mkdir()
    if kind in {"empty", "bare"}:
        git(folder, "init", "-q", *(["--bare"] if kind == "bare" else []))
    with pytest.raises(UsageError) as told:
        workspace.make(str(folder), 1)
    sentence = {
        "none": "is not in a git repository",
        "empty": "has no commit to start a worktree from",
        "bare": "is a repository without files",
        "missing": "There is no folder",
    }[kind]
    assert sentence in str(told.value) and "--in-place" not in str(told.value)
    assert isinstance(told.value, NoWorktreeError) == (kind in {"none", "empty"})


@pytest.mark.proves("RUN-173")
def test_missing_git_is_refused_with_a_hint(project, workspace, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="git is not installed"):
        workspace.make(str(project), 1)


@pytest.mark.proves("RUN-173")
def test_repository_not_trusted_by_git_is_refused(project, workspace):
    (project / ".git/config").write_text("[core\n")
    with pytest.raises(UsageError, match="bad config"):
        workspace.make(str(project), 1)


@pytest.mark.proves("RUN-173")
def test_repository_with_its_files_elsewhere_is_refused(project, workspace, tmp_path):
    git(project, "config", "core.worktree", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(UsageError, match="with its files elsewhere"):
        workspace.make(str(project), 1)


@pytest.mark.proves("RUN-174")
def test_linked_worktree_and_submodule_are_projects(project, workspace, tmp_path):
    linked = tmp_path / "linked"
    git(project, "worktree", "add", "-qb", "feature", linked)
    write(linked, a_txt="feature\n")
    git(linked, "commit", "-qam", "feature")
    place = workspace.make(str(linked), 1)
    assert files(place.folder)["a.txt"] == b"feature\n"
    whole = tmp_path / "whole"
    whole.mkdir()
    git(whole, "init", "-q")
    git(whole, "submodule", "--quiet", "add", project, "sub")
    git(whole, "commit", "-qm", "with a part")
    inner = workspace.make(str(whole / "sub"), 2)
    assert inner.root.endswith("run-2/sub")
    write(inner.folder, a_txt="in the part\n")
    assert "+in the part" in workspace.diff(inner)
    assert workspace.snapshot(inner, 2, "1")
    outer = workspace.make(str(whole), 3)
    assert "Submodules are empty folders (sub)" in outer.remarks[0]
    assert workspace.diff(outer) == ""


@pytest.mark.proves("RUN-363")
def test_diff_between_snapshots_has_only_later_changes(project, workspace):
    place = workspace.make(str(project), 7)
    write(place.folder, first_txt="one\r\n")
    begin = workspace.snapshot(place, 7, "1")
    write(place.folder, second_txt="two\r\n")
    end = workspace.snapshot(place, 7, "2")
    write(place.folder, third_txt="three\n")
    names = ("first.txt", "second.txt", "third.txt")
    shown = {
        ends: [name for name in names if name in workspace.diff(place, *ends)]
        for ends in ((), (begin,), (begin, end), (end,))
    }
    assert list(shown.values()) == [list(names), [*names[1:]], [names[1]], [names[2]]]
    with pytest.raises(GateError, match="snapshot that is none"):
        workspace.diff(place, "--output=x")


@pytest.mark.proves("RUN-174")
def test_worktree_of_a_bare_repository_is_a_project(project, workspace, tmp_path):
    bare, linked = tmp_path / "shop.git", tmp_path / "tree"
    git(tmp_path, "clone", "-q", "--bare", project, bare)
    git(bare, "worktree", "add", "-q", linked, "main")
    place = workspace.make(str(linked), 1, with_changes=True)
    write(place.folder, a_txt="changed\n")
    assert "+changed" in workspace.diff(place)
    git(place.folder, "checkout", "-q", "a.txt")
    assert workspace.remove(place, 1) == ""


@pytest.mark.proves("RUN-175")
def test_creating_again_returns_the_place_and_keeps_the_work(project, workspace):
    write(project, c_txt="not committed\n")
    place = workspace.make(str(project), 1)
    write(place.folder, a_txt="half\n", new_txt="new\n")
    write(project, a_txt="later\n")
    git(project, "commit", "-qam", "later")
    assert workspace.make(str(project), 1) == place
    assert files(place.folder)["a.txt"] == b"half\n"
    assert files(place.folder)["new.txt"] == b"new\n"


@pytest.mark.proves("RUN-175")
def test_creating_again_finishes_after_a_crash_at_any_command(project, workspace):
    write(project, a_txt="changed\n", new_txt="new\n")
    writing = {"update-ref", "read-tree", "update-index", "write-tree", "commit-tree"}
    for run_id in range(1, 50):
        with pytest.MonkeyPatch.context() as patch:
            passed = die_at(patch, run_id, writing)
            try:
                workspace.make(str(project), run_id, with_changes=True)
            except Killed:
                survived = False
            else:
                survived = True
        place = workspace.make(str(project), run_id, with_changes=True)
        assert files(place.folder) == files(project)
        assert place.branch == f"gate/run-{run_id}"
        assert git(place.folder, "status", "--porcelain") == " M a.txt\n?? new.txt"
        shutil.rmtree(place.root)
        assert workspace.remove(place, run_id) == ""
        if survived:
            break
    # Eight commands of git, four files of ours.
    assert len(passed) == 12
    assert git(project, "for-each-ref", "refs/gate", "refs/heads/gate") == ""
    assert len(git(project, "worktree", "list").splitlines()) == 1


@pytest.mark.proves("RUN-175")
def test_git_that_outlives_its_killed_parent_is_waited_for(project, workspace, tmp_path):
    began, go_on = tmp_path / "began", tmp_path / "go on"
    os.mkfifo(began)
    os.mkfifo(go_on)
    wrapper = tmp_path / "bin/git"
    wrapper.parent.mkdir()
    wait = f'case "$*" in *read-tree*) echo > "{began}"; cat "{go_on}";; esac'
    wrapper.write_text(f'#!/bin/sh\n{wait}\nexec "{shutil.which("git")}" "$@"\n')
    wrapper.chmod(0o755)
    code = (
        "import sys; from gatebell.adapters.git.worktrees import GitWorkspace\n"
        "GitWorkspace(sys.argv[1]).make(sys.argv[2], 1)"
    )
    maker = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "data", project],
        env={**os.environ, "PATH": f"{wrapper.parent}:{os.environ['PATH']}"},
    )
    began.read_bytes()
    maker.kill()
    maker.wait()
    with (
        open(tmp_path / "data/worktrees/run-1.lock") as lock,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    places = []
    again = threading.Thread(target=lambda: places.append(workspace.make(str(project), 1)))
    again.start()
    assert os.path.exists(tmp_path / "data/worktrees/run-1/shop/.git")
    go_on.write_bytes(b"")
    again.join(timeout=60)
    assert files(places[0].folder) == files(project)
    assert git(places[0].folder, "status", "--porcelain") == ""
    assert sorted(os.listdir(tmp_path / "data/worktrees")) == ["run-1", "run-1.json"]


@pytest.mark.proves("RUN-175")
def test_two_that_make_the_same_worktree_get_the_same(project, workspace):
    places = []
    makers = [
        threading.Thread(target=lambda: places.append(workspace.make(str(project), 1)))
        for _ in range(4)
    ]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(timeout=60)
    assert len(places) == 4
    assert len(set(places)) == 1
    assert places[0].branch == "gate/run-1"


@pytest.mark.proves("RUN-175")
def test_half_made_locked_worktree_is_created_again(project, workspace, tmp_path):
    place = workspace.make(str(project), 1)
    path = tmp_path / "data/worktrees/run-1.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"ready": False}))
    (project / ".git/worktrees/shop/locked").write_text("initializing")
    (project / ".git/worktrees/shop/index.lock").write_text("")
    os.unlink(os.path.join(place.root, "a.txt"))
    os.unlink(os.path.join(place.root, ".git"))
    assert workspace.make(str(project), 1) == place
    assert files(place.folder) == files(project)


@pytest.mark.proves("RUN-176")
def test_existing_branch_is_left_as_it_is(project, workspace, tmp_path):
    other = GitWorkspace(str(tmp_path / "other"))
    first = other.make(str(project), 1)
    write(first.folder, a_txt="theirs\n")
    theirs = other.snapshot(first, 1, "1")
    place = workspace.make(str(project), 1)
    assert place.branch == "gate/run-1-2"
    assert place.remarks == ("The branch gate/run-1 exists already: this run uses gate/run-1-2.",)
    write(place.folder, a_txt="ours\n")
    workspace.snapshot(place, 1, "1")
    assert git(project, "rev-parse", "refs/gate/run-1/1") == theirs
    assert files(first.folder)["a.txt"] == b"theirs\n"


@pytest.mark.proves("RUN-176")
def test_blocking_path_is_named(project, workspace, tmp_path):
    git(project, "branch", "gate")
    with pytest.raises(UsageError, match="The branch `gate` is in the way"):
        workspace.make(str(project), 1)
    git(project, "branch", "-D", "gate")
    workspace.make(str(project), 1)
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", project, other)
    with pytest.raises(UsageError, match="run 1 of another project"):
        workspace.make(str(other), 1)
    record = tmp_path / "data/worktrees/run-1.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"ready": False}))
    git(project, "worktree", "remove", "--force", tmp_path / "data/worktrees/run-1/shop")
    git(project, "commit", "-q", "--allow-empty", "-m", "later")
    git(project, "branch", "-f", "gate/run-1", "main")
    with pytest.raises(GateError, match="The branch gate/run-1 exists already"):
        workspace.make(str(project), 1)


@pytest.mark.proves("RUN-186", "LAW-7")
def test_nothing_is_removed_that_would_be_lost(project, workspace):
    place = workspace.make(str(project), 1)
    write(place.folder, new_txt="new\n")
    assert workspace.remove(place, 1) == (
        f"{place.root} has changes to 1 file that are not committed. To keep them: "
        f"git -C {place.root} add -A && git -C {place.root} commit, then "
        f"git -C {project} merge gate/run-1."
    )
    git(place.folder, "add", ".")
    git(place.folder, "commit", "-qm", "work")
    assert "gate/run-1 has commits that are on no other branch (1)" in workspace.remove(place, 1)
    git(place.folder, "checkout", "-q", "--detach")
    git(place.folder, "commit", "-q", "--allow-empty", "-m", "on no branch")
    git(project, "merge", "-q", "gate/run-1")
    assert "(1)" in workspace.remove(place, 1)
    git(place.folder, "checkout", "-q", "gate/run-1")
    git(project, "worktree", "lock", place.root)
    assert "is locked" in workspace.remove(place, 1)
    git(project, "worktree", "unlock", place.root)
    git(place.folder, "checkout", "-q", "--detach")
    git(project, "checkout", "-q", "gate/run-1")
    assert (
        workspace.remove(place, 1)
        == f"gate/run-1 is checked out in {project}: switch branches there."
    )
    git(project, "checkout", "-q", "main")
    assert files(place.folder)["new.txt"] == b"new\n"
    assert workspace.remove(place, 1) == ""


@pytest.mark.proves("RUN-347")
def test_by_force_work_is_removed_too(project, workspace):
    place = workspace.make(str(project), 1)
    write(place.folder, committed_txt="work\n")
    git(place.folder, "add", ".")
    git(place.folder, "commit", "-qm", "work")
    write(place.folder, new_txt="new\n")
    git(project, "worktree", "lock", place.root)
    assert workspace.remove(place, 1) and workspace.remove(place, 1, dry_run=True, force=True) == ""
    assert files(place.folder)["new.txt"] == b"new\n", "a dry run removes nothing"
    assert workspace.remove(place, 1, force=True) == ""
    assert not os.path.exists(place.root) and "gate/run-1" not in git(project, "branch", "--list")


@pytest.mark.proves("RUN-186")
def test_worktree_is_removed_with_branch_and_snapshots(project, workspace, tmp_path):
    place = workspace.make(str(project), 1)
    other = workspace.make(str(project), 11)
    write(place.folder, new_txt="new\n", _env="ignored")
    workspace.snapshot(place, 1, "1")
    workspace.snapshot(other, 11, "1")
    (tmp_path / "data/worktrees/run-1.index.killed").mkdir()
    os.unlink(os.path.join(place.folder, "new.txt"))
    before = state(project)
    git(project, "symbolic-ref", "refs/gate/run-1/2", "refs/heads/main")
    os.makedirs(os.path.join(place.folder, "build/cache"))
    os.chmod(os.path.join(place.folder, "build/cache"), 0o500)
    for _ in range(2):
        assert workspace.remove(place, 1) == ""
    assert sorted(os.listdir(tmp_path / "data/worktrees")) == [
        "run-11",
        "run-11.json",
        "run-11.raw-index",
    ]
    assert git(project, "for-each-ref", "refs/gate/", "--format=%(refname)") == "refs/gate/run-11/1"
    assert git(project, "branch", "--format=%(refname:short)").split() == ["gate/run-11", "main"]
    assert len(git(project, "worktree", "list").splitlines()) == 2
    assert state(project) == before
    with pytest.raises(GateError, match="is not a worktree of a run"):
        workspace.diff(place)


@pytest.mark.proves("RUN-186")
def test_removing_again_finishes_after_a_crash_at_any_command(project, workspace, tmp_path):
    survived, run_id = False, 0
    while not survived and run_id < 50:
        run_id += 1
        place = workspace.make(str(project), run_id)
        workspace.snapshot(place, run_id, "1")
        with pytest.MonkeyPatch.context() as patch:
            die_at(patch, run_id, {"update-ref"})
            try:
                workspace.remove(place, run_id)
                survived = True
            except Killed:
                pass
        assert workspace.remove(place, run_id) == ""
    assert run_id == 4
    assert os.listdir(tmp_path / "data/worktrees") == []
    assert git(project, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert len(git(project, "worktree", "list").splitlines()) == 1


@pytest.mark.proves("RUN-186")
def test_read_only_folders_are_removed(tmp_path, monkeypatch):
    folder = tmp_path / "x/cache"
    folder.mkdir(parents=True)
    real, tried = shutil.rmtree, []

    def refused_once(path):
        tried.append(path)
        if len(tried) == 1:
            raise PermissionError
        real(path)

    folder.chmod(0o500)
    monkeypatch.setattr(shutil, "rmtree", refused_once)
    removal.remove_tree(str(tmp_path / "x"))
    assert not (tmp_path / "x").exists()


@pytest.mark.proves("RUN-186")
def test_filled_submodule_is_left_to_a_person(project, workspace, tmp_path):
    part = tmp_path / "part"
    git(tmp_path, "clone", "-q", project, part)
    git(project, "submodule", "--quiet", "add", part, "sub")
    git(project, "commit", "-qm", "with a part")
    place = workspace.make(str(project), 1)
    git(place.folder, "submodule", "--quiet", "update", "--init")
    assert "is a submodule that may have work in it" in workspace.remove(place, 1)
    git(place.folder, "submodule", "--quiet", "deinit", "sub")
    assert workspace.remove(place, 1) == ""


@pytest.mark.proves("RUN-188")
def test_moved_or_removed_worktree_is_reported(project, workspace, tmp_path):
    place = workspace.make(str(project), 1)
    shutil.move(project, tmp_path / "moved")
    assert "the repository of" in workspace.remove(place, 1)
    with pytest.raises(GateError, match="does not list the worktree"):
        workspace.diff(place)
    shutil.move(tmp_path / "moved", project)
    shutil.rmtree(place.root)
    for verb in (lambda: workspace.diff(place), lambda: workspace.make(str(project), 1)):
        with pytest.raises(GateError, match="is missing; its branch gate/run-1"):
            verb()
    assert workspace.remove(place, 1) == ""


@pytest.mark.proves("RUN-188")
def test_git_that_hangs_is_ended(project, workspace, monkeypatch, tmp_path):
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(repositories, "_PATIENCE_SECONDS", 0.2)
    with pytest.raises(GateError, match="was ended after"):
        workspace.make(str(project), 1)


@pytest.mark.proves("RUN-189")
def test_same_number_in_a_new_store_is_another_run(project, workspace, tmp_path):
    part = project / "web"
    part.mkdir()
    write(part, page_txt="hello\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "web")
    old = workspace.make(str(part), 1, token="monday")
    write(old.folder, page_txt="work of monday\n", _env="ignored")
    kept = workspace.snapshot(old, 1, "1")
    assert workspace.make(str(part), 1, token="monday") == old
    new = workspace.make(str(part), 1, token="tuesday")
    moved = tmp_path / "data/worktrees/run-1.old-1"
    assert (new.folder, new.branch) == (old.folder, "gate/run-1-2")
    assert f"The folder of another run 1 was here before: it was moved to {moved}." in new.remarks
    assert files(new.folder) == {"page.txt": b"hello\n"}
    assert workspace.diff(new) == ""
    assert workspace.make(str(part), 1, token="tuesday") == new
    assert files(moved / "shop/web") == {"page.txt": b"work of monday\n", ".env": b"ignored"}
    assert git(moved / "shop/web", "status", "--porcelain") == " M web/page.txt"
    assert git(project, "rev-parse", "refs/gate/run-1/1") == kept
    there = old._replace(root=str(moved / "shop"), folder=str(moved / "shop/web"))
    assert "+work of monday" in workspace.diff(there)
    third = workspace.make(str(part), 1, token="wednesday")
    assert any("run-1.old-2." in remark for remark in third.remarks)
    assert workspace.remove(third, 1) == ""
    assert git(project, "worktree", "list", "--porcelain").count("prunable") == 0
    assert {path.name for path in moved.parent.iterdir()} == {
        "run-1.old-1", "run-1.old-1.json", "run-1.old-1.raw-index", "run-1.old-1.diff-index",
        "run-1.old-2", "run-1.old-2.json", "run-1.old-2.diff-index",
    }  # fmt: skip


@pytest.mark.proves("RUN-189")
def test_old_worktree_stays_when_no_new_one_is_possible(project, workspace, tmp_path):
    old = workspace.make(str(project), 1, token="monday")
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    with pytest.raises(UsageError, match="has no commit to start a worktree from"):
        workspace.make(str(empty), 1, token="tuesday")
    assert workspace.make(str(project), 1, token="monday") == old


@pytest.mark.proves("RUN-189")
def test_unrecorded_folder_is_moved_not_removed(project, workspace, tmp_path):
    found = tmp_path / "data/worktrees/run-1/shop"
    found.mkdir(parents=True)
    write(found, a_txt="somebody's\n")
    place = workspace.make(str(project), 1)
    assert files(place.folder) == files(project)
    assert files(tmp_path / "data/worktrees/run-1.old-1/shop") == {"a.txt": b"somebody's\n"}


@pytest.mark.proves("RUN-189")
@pytest.mark.parametrize("last", range(5))
def test_moving_aside_continues_after_a_crash_at_any_command(project, workspace, tmp_path, last):
    old = workspace.make(str(project), 1, token="monday")
    write(old.folder, a_txt="work of monday\n")
    workspace.snapshot(old, 1, "1")
    done = 0

    def dying(real):
        def step(*words):
            nonlocal done
            if done == last:
                raise Killed
            real(*words)
            done += 1

        return step

    with pytest.MonkeyPatch.context() as patch:
        for name in ("rename", "unlink", "replace"):
            patch.setattr(worktree_records.os, name, dying(getattr(os, name)))
        with pytest.raises(Killed):
            worktree_records.set_aside(
                str(tmp_path / "data/worktrees/run-1.json"),
                worktree_records.read(str(tmp_path / "data/worktrees/run-1.json")),
            )
    new = workspace.make(str(project), 1, token="tuesday")
    assert any("run-1.old-1." in remark for remark in new.remarks)
    moved = str(tmp_path / "data/worktrees/run-1.old-1/shop")
    assert "+work of monday" in workspace.diff(old._replace(root=moved, folder=moved))
    assert git(moved, "status", "--porcelain") == " M a.txt"
    assert workspace.diff(new) == ""


@pytest.mark.proves("RUN-170")
def test_paths_of_a_place_are_real_ones(project, tmp_path):
    for name in ("real data", "real worktrees"):
        (tmp_path / name).mkdir()
    os.symlink(tmp_path / "real data", tmp_path / "data")
    os.symlink(tmp_path / "real worktrees", tmp_path / "data/worktrees")
    os.symlink(project, tmp_path / "link")
    workspace = GitWorkspace(str(tmp_path / "data"))
    place = workspace.make(str(tmp_path / "link"), 1)
    assert place.root == place.folder == str(tmp_path / "real worktrees/run-1/shop")
    assert workspace.make(str(project), 1) == place
    assert workspace.remove(place, 1) == ""
