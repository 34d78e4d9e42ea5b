"""A start, commit, merge or restore of task work may be killed at any command."""

from __future__ import annotations

import os
import shutil
import signal

import pytest
from tests.support.git_project import begin, branch, files, git, names_in, project, workspace, write

from gatebell.adapters.git import repositories, restoration

__all__ = ["project", "workspace"]

_WRITING = {
    *("commit-tree", "merge-tree", "read-tree", "update-index", "update-ref", "worktree"),
    *("write-tree",),
}


def kill(verb, last):
    """Run it in a process, kill that after a number of writes; return whether it was killed."""
    pid = os.fork()
    if not pid:
        done = 0

        def count_step(step):
            def counting(*words, **named):
                nonlocal done
                made = step(*words, **named)
                done += step is not real or words[2][0] in _WRITING
                if done == last:
                    os.kill(os.getpid(), signal.SIGKILL)
                return made

            return counting

        real, code = repositories.run_git, 1
        try:
            repositories.run_git = count_step(real)
            restoration.worktree_records.record_root = count_step(
                restoration.worktree_records.record_root
            )
            os.rename = count_step(os.rename)
            os.replace = count_step(os.replace)
            verb()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.mark.proves("TASK-12")
def test_kill_does_not_change_where_work_starts(project, workspace):
    needed = ["one", "two", "three"]
    for name in needed:
        branch(project, name, **{f"{name}_txt": name})
    last = 1
    while kill(lambda: begin(workspace, project, onto=needed), last):
        place = begin(workspace, project, onto=needed)
        assert place.branch == "task/tm-abc" and place.remarks == ()
        assert {"one.txt", "two.txt", "three.txt"} < set(files(place.folder))
        assert git(project, "rev-list", "--merges", "--count", place.base) == "2"
        assert git(place.folder, "rev-parse", "HEAD") == place.base
        assert git(place.folder, "status", "--porcelain") == "" == workspace.diff(place)
        assert workspace.remove(place, 1) == ""
        last += 1
    assert last > 8


@pytest.mark.proves("TASK-12")
def test_kill_does_not_change_a_commit(project, workspace):
    place = begin(workspace, project)
    last = 1
    while True:
        write(place.folder, a_txt=f"work {last}\n", **{f"new{last}": "new\n"})
        key, before = f"key-{last}", git(project, "rev-parse", place.branch)
        was_killed = kill(lambda key=key: workspace.commit(place, "Work", key), last)
        made = workspace.commit(place, "Work", key)
        assert git(project, "rev-parse", place.branch) == made
        assert git(project, "rev-parse", f"{made}^") == before
        assert f"new{last}" in names_in(project, made)
        assert git(place.folder, "status", "--porcelain") == ""
        if not was_killed:
            break
        last += 1
    assert last > 5
    left = os.listdir(os.path.dirname(os.path.dirname(place.root)))
    assert sorted(left) == ["run-1", "run-1.json"]


@pytest.mark.proves("TASK-12")
@pytest.mark.parametrize("squash", [False, True])
def test_kill_does_not_change_a_merge(project, workspace, squash):
    git(project, "checkout", "-q", "--detach")
    place = begin(workspace, project)
    last = 1
    while True:
        write(place.folder, **{f"new{last}": "new\n"})
        workspace.commit(place, "Work", f"commit-{last}")
        key, before = f"merge-{last}", git(project, "rev-parse", "main")

        def merge(key=key):
            return workspace.merge(place, "main", "Merge", key, squash=squash)

        was_killed = kill(merge, last)
        made = merge()
        assert git(project, "rev-parse", "main") == made
        assert git(project, "log", "-1", "--format=%P", made).split()[0] == before
        assert f"new{last}" in names_in(project, made)
        if not was_killed:
            break
        last += 1
    assert last == 4


@pytest.mark.proves("TASK-12", "TASK-14")
@pytest.mark.parametrize("pruned", [False, True])
def test_kill_leaves_no_half_of_a_folder(project, workspace, pruned):
    place = begin(workspace, project)
    write(place.folder, a_txt="half done\n", new_txt="new\n")
    workspace.snapshot(place, 1, "1")
    before, last = files(place.folder), 0
    while True:
        last += 1
        shutil.rmtree(place.root)
        if pruned:
            git(project, "worktree", "prune")
        was_killed = kill(lambda: workspace.restore(place, 1, "1"), last)
        workspace.restore(place, 1, "1")
        assert files(place.folder) == before
        assert git(place.folder, "status", "--porcelain") == " M a.txt\n?? new.txt"
        assert git(place.folder, "branch", "--show-current") == place.branch
        assert len(git(project, "worktree", "list").splitlines()) == 2
        if not was_killed:
            break
    assert last > (4 if pruned else 2)
