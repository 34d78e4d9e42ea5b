"""Files that a new worktree gets besides its repository, and those it never gets."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.support.git_project import files, git, project, workspace, write

from gatebell.adapters.git import provisions
from gatebell.errors import UsageError

__all__ = ["project", "workspace"]


@pytest.mark.proves("RUN-183")
def test_ignored_files_named_in_worktreeinclude_are_copied(project, workspace):
    write(project, _env="SECRET=1", _worktreeinclude=".env\nbuild/keep/\nloose.txt\na.txt\n")
    write(project, loose_txt="untracked, not ignored\n", a_txt="changed, but tracked\n")
    (project / "build/keep").mkdir(parents=True)
    write(project / "build", other_txt="not named\n")
    write(project / "build/keep", x_txt="named\n")
    (project / ".env").chmod(0o600)
    place = workspace.make(str(project), 1)
    for _ in range(2):
        assert workspace.set_up(str(project), place) == ""
        assert sorted(files(place.folder)) == [
            ".env",
            ".gitignore",
            "a.txt",
            "b.txt",
            "build/keep/x.txt",
        ]
        assert os.stat(os.path.join(place.folder, ".env")).st_mode & 0o777 == 0o600
        assert files(place.folder)["a.txt"] == b"one\n"
    write(place.folder, _env="the agent's\n")
    workspace.set_up(str(project), place)
    assert files(place.folder)[".env"] == b"the agent's\n"
    assert workspace.diff(place) == ""


@pytest.mark.proves("RUN-183")
def test_nothing_is_copied_from_or_to_the_outside(project, workspace, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    write(outside, secret_txt="secret\n")
    os.symlink(outside, project / "leads")
    git(project, "add", "leads")
    git(project, "commit", "-qm", "a folder that leads out")
    (project / "leads").unlink()
    (project / "leads").mkdir()
    write(project / "leads", _env="into the outside\n")
    write(project, _worktreeinclude=".env\n")
    os.symlink(outside / "secret.txt", project / ".env")
    (project / "build").mkdir()
    os.symlink("../b.txt", project / "build/.env")
    (project / "a").mkdir()
    os.symlink("../build", project / "a/.env")
    (project / "c").mkdir()
    os.symlink("nowhere", project / "c/.env")
    place = workspace.make(str(project), 1)
    told = workspace.set_up(str(project), place)
    assert told.splitlines() == [
        ".env of .worktreeinclude was not copied: it leads out of the project.",
        "a/.env of .worktreeinclude was not copied: it is not a regular file.",
        "c/.env of .worktreeinclude was not copied: No such file or directory.",
        "leads/.env of .worktreeinclude was not copied: its folder leads out of the worktree.",
    ]
    assert os.listdir(outside) == ["secret.txt"]
    assert not os.path.lexists(os.path.join(place.folder, ".env"))
    assert files(place.folder)["build/.env"] == b"two\n"


@pytest.mark.proves("RUN-184", "HOST-9")
def test_setup_of_the_project_runs_in_the_worktree(project, workspace, monkeypatch):
    monkeypatch.setenv("GATE_TOKEN", "secret")
    monkeypatch.setenv("GATE_STORE", "postgresql://gate:secret@db/gate")
    monkeypatch.setenv("PGPASSWORD", "secret")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    setup = project / ".gate/setup"
    setup.parent.mkdir()
    setup.write_text("pwd > here.txt; env > env.txt; sleep 600 & echo $! > left_running.txt\n")
    place = workspace.make(str(project), 1)
    os.mkdir(os.path.join(place.folder, ".gate"))
    write(os.path.join(place.folder, ".gate"), setup="echo the agent wrote this > bad.txt\n")
    assert workspace.set_up(str(project), place) == ""
    os.kill(int(files(place.folder)["left_running.txt"]), signal.SIGKILL)
    assert files(place.folder)["here.txt"].decode().strip() == place.folder
    assert b"secret" not in files(place.folder)["env.txt"]
    assert b"/elsewhere" not in files(place.folder)["env.txt"]
    assert "bad.txt" not in files(place.folder)


@pytest.mark.proves("RUN-184")
def test_failed_setup_is_reported_with_its_last_words(project, workspace):
    place = workspace.make(str(project), 1)
    setup = project / ".gate/setup"
    setup.parent.mkdir()
    setup.write_text("#!/bin/sh\nseq 10000; echo no room left >&2; exit 3\n")
    setup.chmod(0o755)
    told = workspace.set_up(str(project), place)
    assert told.startswith(f"{setup} ended with exit code 3; its last output:\n")
    assert told.endswith("10000\nno room left")
    assert len(told) < 2200
    setup.write_text("exit 4\n")
    setup.chmod(0o644)
    assert workspace.set_up(str(project), place) == f"{setup} ended with exit code 4."
    setup.write_text("#!/no/such/program\n")
    setup.chmod(0o755)
    assert "could not be started" in workspace.set_up(str(project), place)
    setup.write_text("#!/bin/sh\necho waiting; sleep 600\n")
    told = provisions.run_setup(str(project), place.folder, limit_seconds=2)
    assert told == f"{setup} was ended after 2 seconds; its last output:\nwaiting"


@pytest.mark.proves("RUN-185")
def test_session_files_are_in_no_commit_snapshot_or_diff(project, workspace):
    (project / ".agents").mkdir()
    write(project / ".agents", skill_md="tracked by the project\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "with skills")
    place = workspace.make(str(project), 1)
    files_folder = Path(place.folder) / ".agents"
    assert (files_folder / ".gitignore").read_text() == "*\n"
    write(files_folder, skill_md="changed\n", context_md="papers\n")
    assert workspace.diff(place) == ""
    kept = workspace.snapshot(place, 1, "1")
    assert git(project, "show", f"{kept}:.agents/skill.md") == "tracked by the project"
    git(place.folder, "checkout", "-q", ".agents/skill.md")
    git(place.folder, "add", "-A")
    assert git(place.folder, "status", "--porcelain") == ""
    assert workspace.remove(place, 1) == ""


@pytest.mark.proves("RUN-185", "RUN-187")
@pytest.mark.parametrize("what", ["link", "file"])
def test_foreign_object_instead_of_session_files_is_refused(project, workspace, tmp_path, what):
    outside = tmp_path / "outside"
    outside.mkdir()
    if what == "link":
        os.symlink(outside, project / ".agents")
    else:
        write(project, _agents="a file")
    git(project, "add", ".agents")
    git(project, "commit", "-qm", "odd")
    with pytest.raises(UsageError, match=r"\.agents must be a folder"):
        workspace.make(str(project), 1)
    assert os.listdir(outside) == []
