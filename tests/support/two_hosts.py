"""Two clones of one repository, each with its own worktrees, as two hosts have them."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

from gatebell.adapters.git.carrier import GitCarrier
from gatebell.adapters.git.remotes import parse_remote
from gatebell.adapters.git.worktrees import GitWorkspace
from gatebell.domain.runs.runs import Run
from gatebell.services.runs.workspace_setup import moved_in
from tests.support.git_project import git

KEY = "name:shop"


class HostFolders:
    """The clone and the worktrees of one host."""

    def __init__(self, folder, remote, address="", inner=""):
        git(folder, "clone", "-q", remote, folder / "shop")
        self.clone = folder / "shop" / inner
        self.workspace = GitWorkspace(str(folder / "data"))
        self.remote = parse_remote(address or str(remote), "the test")
        project = str(self.clone)
        self.carrier = GitCarrier(self.workspace, "ci", {KEY: project}, {project: self.remote})

    def make(self, number=1, claim=1):
        """Return a run of this host, in a new folder."""
        run = Run(
            number, "feature", "", "", "", str(self.clone), "person:ada",
            datetime(2026, 1, number, tzinfo=UTC), claim=claim, project_key=KEY,
        )  # fmt: skip
        token = run.created_at.isoformat()
        return moved_in(run, self.workspace.make(run.project, run.id, token=token))

    def take(self, run, sent):
        """Return the run as it is here after its folder was made."""
        return moved_in(run, self.carrier.receive(run, sent).place)


def make_remote(folder):
    """Return a bare repository with one commit."""
    remote = folder / "remote.git"
    git(folder, "init", "-q", "--bare", "-b", "main", remote)
    first = folder / "first"
    git(folder, "clone", "-q", remote, first)
    (first / "a.txt").write_text("a\n")
    (first / ".gitignore").write_text("ignored/\n*.tmp\n")
    git(first, "add", ".")
    git(first, "commit", "-qm", "begin")
    git(first, "push", "-q", "origin", "HEAD:main")
    return remote


def list_all(folder):
    """Return kind, mode and content of everything in a folder, except what never travels."""
    found = {}
    for here, folders, names in os.walk(os.fsencode(folder)):
        folders[:] = [one for one in folders if one not in (b".agents", b"ignored")]
        for name in (*folders, *names):
            path = os.path.join(here, name)
            about = os.lstat(path)
            content = b""
            if stat.S_ISLNK(about.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(about.st_mode):
                content = Path(os.fsdecode(path)).read_bytes()
            if name != b".git" and not name.endswith(b".tmp"):
                found[os.path.relpath(path, os.fsencode(folder))] = (about.st_mode, content)
    return found
