"""No program of a repository is run, and none of its links is followed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.support.git_project import git, project, trap, workspace, write

from gatebell.adapters.git import changes as quick_git, repositories, special_files
from gatebell.errors import GateError, UsageError
from gatebell.ports.workspaces import Place

__all__ = ["project", "trap", "workspace"]


@pytest.mark.proves("RUN-187")
def test_no_program_that_a_repository_names_is_run(project, workspace, trap):
    program, trace = trap
    hooks = project / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-commit"):
        shutil.copy(program, hooks / name)
    write(project, _gitattributes="*.txt filter=evil diff=evil\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "attributes")
    for name, value in {
        "core.fsmonitor": program,
        "filter.evil.clean": program,
        "filter.evil.smudge": program,
        "filter.evil.required": "true",
        "diff.external": program,
        "diff.evil.command": program,
        "diff.evil.textconv": program,
    }.items():
        git(project, "config", name, str(value))
    write(project, new_txt="new\n", _worktreeinclude=".env\n", _env="x")
    trace.unlink(missing_ok=True)
    place = workspace.make(str(project), 1, with_changes=True)
    assert any("stored by a filter (evil)" in remark for remark in place.remarks)
    workspace.set_up(str(project), place)
    write(place.folder, a_txt="changed\n")
    inside = Path(place.folder) / "inside"
    git(place.folder, "init", "-q", inside)
    write(inside, x_txt="x")
    git(inside, "add", ".")
    git(inside, "commit", "-qm", "inside")
    git(inside, "config", "core.fsmonitor", str(program))
    git(inside, "config", "filter.inner.clean", str(program))
    write(inside / ".git/info", attributes="* filter=inner\n")
    git_dir = git(place.folder, "rev-parse", "--absolute-git-dir")
    switched_off = {
        "core.fsmonitor": "false", "core.hooksPath": "/dev/null",
        "filter.evil.clean": "", "filter.evil.required": "false",
    }  # fmt: skip
    settings = [word for pair in switched_off.items() for word in ("-c", "=".join(pair))]
    git(place.folder, *settings, "add", "inside")
    write(inside, x_txt="y")
    trace.unlink(missing_ok=True)
    assert "160000" in git(place.folder, *settings, "ls-files", "--stage", "inside")
    workspace.snapshot(place, 1, "1")
    workspace.snapshot(place, 1, "2")
    assert "+changed" in workspace.diff(place)
    assert "not committed" in workspace.remove(place, 1)
    workspace.diff(Place(place.folder, place.root))
    shutil.rmtree(place.root)
    assert workspace.remove(place, 1) == ""
    assert not trace.exists()
    assert not os.path.exists(git_dir)


@pytest.mark.proves("RUN-187")
def test_git_file_that_points_elsewhere_is_not_followed(project, workspace, tmp_path, trap):
    program, trace = trap
    place = workspace.make(str(project), 1)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    git(elsewhere, "init", "-q", "-b", "main")
    git(elsewhere, "config", "core.fsmonitor", str(program))
    before = sorted(elsewhere.rglob("*"))
    write(place.folder, _git=f"gitdir: {elsewhere}/.git\n", new_txt="new\n")
    assert "+new" in workspace.diff(place)
    kept = workspace.snapshot(place, 1, "1")
    assert git(project, "rev-parse", "refs/gate/run-1/1") == kept
    assert "not committed" in workspace.remove(place, 1)
    assert workspace.make(str(project), 1) == place
    os.unlink(os.path.join(place.folder, "new.txt"))
    assert workspace.remove(place, 1) == ""
    assert sorted(elsewhere.rglob("*")) == before
    assert not trace.exists()


@pytest.mark.proves("RUN-187")
def test_committed_link_in_place_of_a_folder_is_refused(project, workspace, tmp_path):
    os.symlink(tmp_path, project / "part")
    git(project, "add", "part")
    git(project, "commit", "-qm", "a link")
    (project / "part").unlink()
    (project / "part").mkdir()
    with pytest.raises(UsageError, match="part is a symbolic link in the last commit"):
        workspace.make(str(project / "part"), 1)
    assert not (tmp_path / ".agents").exists()


@pytest.mark.proves("RUN-187")
def test_variables_of_a_git_hook_around_us_lead_nowhere(project, workspace, monkeypatch, tmp_path):
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    place = workspace.make(str(project), 1)
    write(place.folder, new_txt="new\n")
    assert "+new" in workspace.diff(place)
    assert workspace.snapshot(place, 1, "1")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.proves("RUN-187")
def test_project_with_an_odd_name_works(project, workspace, tmp_path):
    odd = tmp_path / "-two\nlines"
    shutil.move(project, odd)
    place = workspace.make(str(odd), 1)
    assert place.root.endswith("/run-1/-two-lines")
    write(place.folder, new_txt="new\n")
    assert "+new" in workspace.diff(place)
    os.unlink(os.path.join(place.folder, "new.txt"))
    assert workspace.remove(place, 1) == ""


@pytest.mark.proves("RUN-190")
@pytest.mark.parametrize(
    "name", [".gitignore", "dir/.gitattributes", "inside/.git/HEAD", ".git/info/exclude"]
)
def test_pipe_read_by_git_is_named_at_once(project, workspace, monkeypatch, name):
    place = workspace.make(str(project), 1)
    folder = Path(place.folder)
    write(folder, a_txt="changed\n")
    (folder / "dir").mkdir()
    write(folder / "dir", x_txt="new\n")
    workspace.snapshot(place, 1, "1")
    write(folder / "dir", x_txt="newer\n")
    git(folder, "init", "-q", "inside")
    path = (project if name.startswith(".git/") else folder) / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    real, looks = special_files.find, []
    monkeypatch.setattr(special_files, "find", lambda *where: looks.append(where) or real(*where))
    monkeypatch.setattr(repositories, "_FIRST_LOOK_SECONDS", 0.3)
    for verb in (lambda: workspace.snapshot(place, 1, "2"), lambda: workspace.diff(place)):
        looks.clear()
        with pytest.raises(GateError) as told:
            verb()
        # A file that we read is noticed at once, one that git reads after one look.
        by_us = f"{path} is not a regular file, so git was not run: remove it."
        by_git = f"git waits for ever for {path}, a pipe or device in place of a file: remove it."
        assert str(told.value) == (by_us if name == ".git/info/exclude" else by_git)
        assert len(looks) == (name != ".git/info/exclude")


def nest_alternates(project, pipe):
    """The folder in `alternates` has its own `alternates`."""
    other = pipe.parent / "other"
    (other / "info").mkdir(parents=True)
    (project / ".git/objects/info/alternates").write_text(f"# more\n{other}\n")
    os.mkfifo(other / "info/alternates")
    return other / "info/alternates"


def pack_in_alternates(project, pipe):
    other = pipe.parent / "other"
    (other / "pack").mkdir(parents=True)
    relative = os.path.relpath(other, project / ".git/objects")
    (project / ".git/objects/info/alternates").write_text(f"{relative}\n")
    os.mkfifo(other / "pack/multi-pack-index")
    return other / "pack/multi-pack-index"


def link_objects(project, pipe):
    """The objects are in another folder, where the last commit is a pipe."""
    commit = git(project, "rev-parse", "HEAD")
    linked, moved = project / ".git/objects" / commit[:2], pipe.parent / "moved"
    shutil.move(linked, moved)
    linked.symlink_to(moved)
    (moved / commit[2:]).unlink()
    os.mkfifo(moved / commit[2:])
    return linked / commit[2:]


@pytest.mark.proves("GIT-12")
@pytest.mark.parametrize("plant", [nest_alternates, pack_in_alternates, link_objects])
def test_pipe_elsewhere_read_by_git_is_named(project, workspace, tmp_path, monkeypatch, plant):
    path = os.path.realpath(plant(project, tmp_path / "pipe"))
    monkeypatch.setattr(repositories, "_FIRST_LOOK_SECONDS", 0.3)
    monkeypatch.setattr(repositories, "_PATIENCE_SECONDS", 9.0)
    with pytest.raises(GateError) as told:
        workspace.make(str(project), 1)
    said = str(told.value).removeprefix("git waits for ever for ").partition(", a pipe")[0]
    assert os.path.realpath(said) == path


@pytest.mark.proves("GIT-13")
def test_diff_only_names_a_file_too_large_for_memory(project, workspace, monkeypatch):
    monkeypatch.setattr(quick_git, "_PATIENCE_SECONDS", 60.0)
    place = workspace.make(str(project), 1)
    write(place.folder, a_txt="x\n" * 11_000_000, b_txt="small\n")
    git(place.folder, "add", ".")
    for shown in (workspace.diff(place), quick_git.describe_changes(place.folder, "")):
        assert "Binary files a/a.txt and b/a.txt differ" in shown and "+small" in shown
        assert len(shown) < 1_000


@pytest.mark.proves("GIT-12")
def test_alternates_that_lead_in_a_circle_are_read_once(project, tmp_path):
    objects, other = project / ".git/objects", tmp_path / "other"
    (other / "info").mkdir(parents=True)
    (objects / "info/alternates").write_text(f"{other}\n{tmp_path / 'nowhere'}\n")
    (other / "info/alternates").write_text(f"{objects}\n{other}\n")
    (objects / "round").symlink_to(objects)
    os.mkfifo(other / "pipe")
    assert special_files.find(str(project), str(project / ".git")) == ""


@pytest.mark.proves("RUN-190")
def test_pipe_before_the_diff_is_named(project, workspace, monkeypatch):
    place = workspace.make(str(project), 1)
    write(place.folder, a_txt="changed\n")
    real = repositories.Repository.beginning
    pipe = os.path.join(place.folder, ".gitattributes")

    def add_pipe(self, *words, **rest):
        os.mkfifo(pipe)
        return real(self, *words, **rest)

    monkeypatch.setattr(repositories.Repository, "beginning", add_pipe)
    monkeypatch.setattr(repositories, "_FIRST_LOOK_SECONDS", 0.3)
    with pytest.raises(GateError, match=r"waits for ever for .*gitattributes"):
        workspace.diff(place)


@pytest.mark.proves("RUN-190")
def test_pipe_not_read_by_git_is_harmless(project, workspace):
    place = workspace.make(str(project), 1)
    os.mkfifo(os.path.join(place.folder, "pipe"))
    os.symlink("nowhere", os.path.join(place.folder, ".gitmodules"))
    assert special_files.find(place.folder, str(project / ".git/worktrees/shop")) == ""
    (project / ".git/worktrees/other").mkdir()
    os.mkfifo(os.path.join(project, ".git/worktrees/other/gitdir"))
    assert workspace.snapshot(place, 1, "1")
