"""A project in a real git repository, and a workspace for its runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gatebell.adapters.git.worktrees import GitWorkspace

ODD = "two\nlines\t'quoted' \udcff.txt"


def git(folder, *words):
    settings = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
    allowed = ("-c", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", "-C", folder, *settings, *allowed, *words], check=True, capture_output=True
    )
    return done.stdout.decode("utf-8", "replace").rstrip("\n")


def write(folder, **texts):
    for name, text in texts.items():
        (Path(folder) / name.replace("_", ".")).write_text(text)


def files(folder):
    """Return each file with its content, except git's and the session files."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and name.parts[0] not in {".git", ".agents"}:
            found[str(name)] = path.read_bytes()
    return found


def state(folder):
    """Return the user's files, index, HEAD, branches and stash."""
    git_dir = Path(git(folder, "rev-parse", "--absolute-git-dir"))
    refs = [
        line
        for line in git(folder, "for-each-ref").splitlines()
        if "refs/gate/" not in line and "heads/gate/" not in line
    ]
    index = (git_dir / "index").read_bytes()
    return files(folder), index, (git_dir / "HEAD").read_text(), refs


def branch(project, name, start="main", **texts):
    """Make a branch with one commit that changes these files."""
    folder = project.parent / "branching"
    git(project, "worktree", "add", "-qb", name, folder, start)
    write(folder, **texts)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", name)
    git(project, "worktree", "remove", folder)
    return git(project, "rev-parse", name)


def names_in(project, commit):
    """Return the files of a commit."""
    return git(project, "ls-tree", "-r", "--name-only", commit).split()


def begin(workspace, project, task="tm-abc", run_id=1, **wish):
    """Return the place of a task's run."""
    return workspace.make(str(project), run_id, branch=f"task/{task}", **wish)


def odd_file(folder, theirs=False):
    """Write a file with a hostile name."""
    with open(os.fsencode(folder) + b"/" + os.fsencode(ODD), "w") as file:
        file.write("theirs\n" if theirs else "ours\n")


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    write(folder, a_txt="one\n", b_txt="two\n", _gitignore=".env\nbuild/\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def workspace(tmp_path):
    return GitWorkspace(str(tmp_path / "data"))


@pytest.fixture
def trap(tmp_path):
    """Make a program that writes a trace when it runs."""
    program, trace = tmp_path / "trap", tmp_path / "trace"
    program.write_text(f"#!/bin/sh\necho run >> {trace}\ncat\n")
    program.chmod(0o755)
    return program, trace


@pytest.fixture
def done(project, workspace):
    """Make a task with one commit, in a project whose base is not checked out."""
    git(project, "checkout", "-q", "--detach")
    place = begin(workspace, project, base="main")
    write(place.folder, own_txt="own\n")
    workspace.commit(place, "Own", "commit")
    return place
