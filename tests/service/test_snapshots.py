"""Snapshots and diffs of a run's folder, with the real git."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
from pathlib import Path

import pytest
from tests.support.git_project import ODD, files, git, project, state, workspace, write

from gatebell.adapters.git import repositories, snapshots
from gatebell.errors import GateError, UsageError
from gatebell.ports.workspaces import Place

__all__ = ["project", "workspace"]


@pytest.mark.proves("RUN-177", "LAW-7")
def test_partial_work_survives_uncommitted_unmixed_and_in_snapshots(project, workspace):
    one, two = workspace.make(str(project), 1), workspace.make(str(project), 2)
    write(one.folder, a_txt="half of one\n", new_txt="new in one\n", _env="SECRET=1")
    git(one.folder, "add", "a.txt")
    write(two.folder, a_txt="half of two\n")
    before, users = state(one.folder), state(project)
    kept = workspace.snapshot(one, 1, "3")
    assert state(one.folder) == before
    assert state(project) == users
    assert git(project, "rev-parse", "refs/gate/run-1/3") == kept
    assert git(project, "show", f"{kept}:new.txt") == "new in one"
    assert git(project, "ls-tree", "--name-only", kept).split() == [
        ".gitignore", "a.txt", "b.txt", "new.txt",
    ]  # fmt: skip
    assert files(two.folder)["a.txt"] == b"half of two\n"
    assert "one" not in "".join(line for line in workspace.diff(two).splitlines() if line[0] == "+")


@pytest.mark.proves("RUN-178")
def test_snapshots_follow_every_kind_of_change(project, workspace):
    place = workspace.make(str(project), 1)
    folder = Path(place.folder)
    (folder / "dir").mkdir()
    write(folder / "dir", f_txt="f\n")

    def same(number):
        commit = workspace.snapshot(place, 1, str(number))
        fork = workspace.make(str(project), 100 + number, snapshot=commit)
        kept, there = files(fork.folder), files(folder)
        there.pop(".env", None)
        assert kept == there
        for name in there:
            ours, theirs = folder / name, Path(fork.folder) / name
            assert ours.is_symlink() == theirs.is_symlink()
            assert os.access(ours, os.X_OK) == os.access(theirs, os.X_OK)
        assert files(folder / ".agents") == {".gitignore": b"*\n"}

    same(1)
    shutil.move(folder / "dir", folder / "moved")
    os.symlink("moved", folder / "dir")
    same(2)
    (folder / "a.txt").unlink()
    (folder / "a.txt").mkdir()
    write(folder / "a.txt", inner_txt="a folder now\n")
    same(3)
    shutil.rmtree(folder / "a.txt")
    write(folder, a_txt="a file again\n", _env="ignored")
    (folder / "b.txt").chmod(0o755)
    with open(os.fsencode(place.folder) + b"/" + os.fsencode(ODD), "w") as file:
        file.write("odd\n")
    same(4)
    git(folder, "commit", "-qam", "work")
    (folder / "build").mkdir()
    write(folder / "build", forced_txt="ignored, and added all the same\n")
    git(folder, "add", "-f", "build/forced.txt")
    same(5)
    os.mkfifo(folder / "pipe")
    git(folder, "init", "-q", folder / "inside")
    write(folder / "inside", own_txt="of its own\n")
    assert workspace.snapshot(place, 1, "6")
    shutil.rmtree(folder / "build")
    os.symlink("/", folder / "build")
    for path in ("7", "8"):
        assert workspace.snapshot(place, 1, path)


@pytest.mark.proves("RUN-178")
def test_concurrent_work_and_a_torn_index_allow_a_snapshot(project, workspace):
    place = workspace.make(str(project), 1)
    write(place.folder, new_txt="new\n")
    first = workspace.snapshot(place, 1, "1")
    index = Path(place.root).parent.with_suffix(".raw-index")
    index.write_bytes(index.read_bytes()[:-30])
    again = workspace.snapshot(place, 1, "2")
    assert git(project, "rev-parse", f"{again}^{{tree}}") == git(
        project, "rev-parse", f"{first}^{{tree}}"
    )
    told = []

    def take(number):
        try:
            workspace.snapshot(place, 1, f"3.{number}")
        except GateError as error:
            told.append(error)

    branches = [threading.Thread(target=take, args=[number]) for number in range(4)]
    for branch in branches:
        branch.start()
    for number in range(200):
        write(place.folder, **{f"f{number % 7}_txt": str(number)})
    for branch in branches:
        branch.join()
    assert told == []
    assert len(git(project, "for-each-ref", "refs/gate/run-1/").splitlines()) == 6
    assert {name.split(".")[0] for name in os.listdir(index.parent)} == {"run-1"}


@pytest.mark.proves("RUN-178")
def test_file_replaced_by_a_pipe_or_socket_is_gone(project, workspace, monkeypatch):
    place = workspace.make(str(project), 1)
    folder = Path(place.folder)
    workspace.snapshot(place, 1, "1")
    (folder / "a.txt").unlink()
    os.mkfifo(folder / "a.txt")
    (folder / "b.txt").unlink()
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(folder):
        listener.bind("b.txt")
    real, tries = snapshots._write_tree, []
    monkeypatch.setattr(snapshots, "_write_tree", lambda *of: tries.append(of) or real(*of))
    for path in ("2", "3"):
        kept = workspace.snapshot(place, 1, path)
        assert len(tries) == int(path) - 1
        assert git(project, "ls-tree", "--name-only", kept) == ".gitignore"
    assert workspace.diff(place).count("deleted file mode") == 2
    assert "not committed" in workspace.remove(place, 1)
    fork = workspace.make(str(project), 2, snapshot=kept)
    assert list(files(fork.folder)) == [".gitignore"]
    for name in ("a.txt", "b.txt"):
        (folder / name).unlink()
    write(folder, a_txt="one\n", b_txt="two\n")
    workspace.snapshot(place, 1, "4")
    assert workspace.diff(place) == ""


@pytest.mark.proves("RUN-178")
def test_index_that_is_not_a_file_is_reported(project, workspace):
    place = workspace.make(str(project), 1)
    index = project / ".git/worktrees/shop/index"
    index.unlink()
    index.mkdir()
    with pytest.raises(GateError, match=r"worktrees/shop/index"):
        workspace.snapshot(place, 1, "1")


@pytest.mark.proves("RUN-178")
def test_file_git_cannot_store_is_kept(project, workspace):
    """A snapshot needs only the bytes; a diff and a commit need the filtered content."""
    place = workspace.make(str(project), 1)
    write(place.folder, _gitattributes="*.u working-tree-encoding=UTF-16\n", x_u="odd")
    kept = workspace.snapshot(place, 1, "1")
    assert git(project, "show", f"{kept}:x.u") == "odd"
    with pytest.raises(GateError, match=r"x\.u"):
        workspace.diff(place)


@pytest.mark.proves("RUN-179")
def test_second_snapshot_reads_only_changed_files(project, workspace):
    (project / "tracked").mkdir()
    write(project / "tracked", x_txt="x\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "a folder")
    for number in range(300):
        write(project, **{f"f{number}_txt": f"{number}\n"})
    place = workspace.make(str(project), 1, with_changes=True)
    workspace.snapshot(place, 1, "1")
    real = repositories.Repository.run
    given_to_git = []

    def noting(self, *words, given=b"", **rest):
        if words[0] == "update-index":
            given_to_git.append(given)
        return real(self, *words, given=given, **rest)

    write(place.folder, f8_txt="changed\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repositories.Repository, "run", noting)
        workspace.snapshot(place, 1, "2")
        assert given_to_git == [b"f8.txt\0"]
        shutil.rmtree(os.path.join(place.folder, "tracked"))
        os.symlink("..", os.path.join(place.folder, "tracked"))
        workspace.snapshot(place, 1, "3")
        given_to_git.clear()
        workspace.snapshot(place, 1, "4")
        assert given_to_git == []


@pytest.mark.proves("RUN-180")
def test_run_starts_from_a_snapshot_with_commits_and_changes(project, workspace):
    place = workspace.make(str(project), 1)
    write(place.folder, a_txt="committed\n")
    git(place.folder, "commit", "-qam", "by the agent")
    write(place.folder, b_txt="half\n", new_txt="new\n")
    kept = workspace.snapshot(place, 1, "3")
    write(place.folder, b_txt="later\n")
    fork = workspace.make(str(project), 2, snapshot=kept)
    assert files(fork.folder) == files(place.folder) | {"b.txt": b"half\n"}
    assert git(fork.folder, "status", "--porcelain") == " M b.txt\n?? new.txt"
    assert git(fork.folder, "log", "-1", "--format=%s") == "by the agent"
    assert fork.base == place.base
    assert "+committed" in workspace.diff(fork)
    git(place.folder, "checkout", "-q", "--orphan", "bare-start")
    assert git(project, "rev-parse", workspace.snapshot(place, 1, "4") + "^@") == place.base
    for unknown in ("0" * 40, place.base):
        with pytest.raises(UsageError, match="is not a snapshot"):
            workspace.make(str(project), 3, snapshot=unknown)


@pytest.mark.proves("RUN-181")
def test_diff_shows_every_change_of_the_run_as_text(project, workspace):
    git(project, "config", "color.ui", "always")
    git(project, "config", "diff.noprefix", "true")
    place = workspace.make(str(project), 1)
    assert workspace.diff(place) == ""
    write(place.folder, a_txt="committed\n")
    git(place.folder, "commit", "-qam", "by the agent")
    write(place.folder, b_txt="changed\n", new_txt="new\n", _env="SECRET=1")
    write(os.path.join(place.folder, ".agents"), context_md="papers")
    told = workspace.diff(place)
    assert "\x1b" not in told
    for line in ("+committed", "+changed", "+new", "+++ b/new.txt"):
        assert line in told.splitlines()
    assert "SECRET" not in told and "papers" not in told


@pytest.mark.proves("RUN-181")
def test_diff_is_bounded_and_says_so(project, workspace, monkeypatch):
    place = workspace.make(str(project), 1)
    write(place.folder, long_txt="line\n" * 10_000)
    monkeypatch.setattr(snapshots, "_MAX_DIFF_BYTES", 1000)
    told = workspace.diff(place)
    assert len(told) < 1200
    assert "the rest of the diff is left out" in told


@pytest.mark.proves("RUN-182")
def test_in_place_there_is_a_diff_and_nothing_else(project, workspace, tmp_path):
    write(project, a_txt="changed\n", new_txt="new\n")
    (project / ".agents").mkdir()
    write(project / ".agents", context_md="papers")
    before = state(project)
    objects = sorted((project / ".git/objects").rglob("*"))
    place = Place(str(project), str(project))
    told = workspace.diff(place)
    assert "+changed" in told and "+new" in told and "papers" not in told
    assert workspace.snapshot(place, 1, "1") == ""
    assert workspace.set_up(str(project), place) == ""
    assert workspace.remove(place, 1) == ""
    assert state(project) == before
    assert sorted((project / ".git/objects").rglob("*")) == objects
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    assert workspace.diff(Place(str(nowhere), str(nowhere))) == ""
    git(nowhere, "init", "-q")
    assert workspace.diff(Place(str(nowhere), str(nowhere))) == ""
    write(nowhere, a_txt="first\n")
    assert "+first" in workspace.diff(Place(str(nowhere), str(nowhere)))
