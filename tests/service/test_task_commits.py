"""The work of a task is one commit, by the user and by no program of the repository."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.git_project import (
    ODD,
    begin,
    branch,
    done,
    files,
    git,
    odd_file,
    project,
    trap,
    workspace,
    write,
)

from gatebell.adapters.git import commits, repositories
from gatebell.errors import GateError, MergeConflictError

__all__ = ["done", "project", "trap", "workspace"]


@pytest.mark.proves("TASK-6", "S3-P5")
def test_everything_that_is_not_ignored_becomes_one_commit(project, workspace):
    place = begin(workspace, project)
    folder = Path(place.folder)
    write(folder, a_txt="changed\n", _env="SECRET=1")
    (folder / "b.txt").unlink()
    odd_file(folder, theirs=False)
    write(folder / ".agents", context_md="papers")
    git(folder, "add", "a.txt")
    write(folder, a_txt="changed again\n")
    made = workspace.commit(place, "Add login\n\nIt was easy: ü.", "7:3:1")
    assert made == git(project, "rev-parse", "task/tm-abc") == git(folder, "rev-parse", "HEAD")
    assert git(project, "rev-parse", f"{made}^") == place.base
    # The order matters: `git status` would refresh the index for the other.
    assert git(folder, "diff-files") == "" == git(folder, "status", "--porcelain")
    assert git(project, "show", f"{made}:a.txt") == "changed again"
    listed = git(project, "ls-tree", "-rz", "--name-only", made).split("\0")
    assert sorted(listed[:-1]) == sorted([".gitignore", "a.txt", ODD.replace("\udcff", "\ufffd")])
    assert git(project, "log", "-1", "--format=%B", made) == (
        "Add login\n\nIt was easy: ü.\n\nGate-Call: 7:3:1"
    )
    assert git(project, "log", "-1", "--format=%an %ae %cn", made) == "gatebell gatebell gatebell"
    assert workspace.commit(place, "Add login", "7:3:1") == made
    assert workspace.commit(place, "Nothing more", "7:4:1") == made
    git(project, "config", "user.name", "Ada")
    git(project, "config", "user.email", "ada@example.org")
    # The identity is that of the start: an agent must not choose the author.
    write(folder, some_txt="some\n")
    some = workspace.commit(place, "Some", "7:29:1")
    assert git(project, "log", "-1", "--format=%an", some) == "gatebell"
    later = begin(workspace, project, "tm-def", 2)
    write(later.folder, more_txt="more\n")
    more = workspace.commit(later, "More \0\ud800", "7:30:1")
    assert git(project, "log", "-1", "--format=%an %ae %cn %s", more) == (
        "Ada ada@example.org Ada More ?"
    )
    assert git(project, "rev-parse", f"{some}^") == made
    assert workspace.commit(place, "Add login", "7:3:1") == made


@pytest.mark.proves("TASK-6")
def test_commit_message_does_not_prove_a_call(project, workspace):
    place = begin(workspace, project)
    write(place.folder, a_txt="1\n")
    first = workspace.commit(place, "Quotes\n\nGate-Call: key", "key-1")
    write(place.folder, a_txt="2\n")
    second = workspace.commit(place, "Real", "key")
    assert first != second and git(project, "rev-list", "--count", f"{place.base}..{second}") == "2"


@pytest.mark.proves("TASK-6")
def test_work_goes_on_top_of_the_agent_commits(project, workspace):
    place = begin(workspace, project)
    write(place.folder, a_txt="agent\n")
    git(place.folder, "commit", "-qam", "the agent's own")
    own = git(place.folder, "rev-parse", "HEAD")
    assert workspace.commit(place, "Nothing", "1") == own
    write(place.folder, b_txt="left\n")
    made = workspace.commit(place, "The rest", "2")
    assert git(project, "rev-parse", f"{made}^") == own


@pytest.mark.proves("TASK-7")
def test_nothing_is_committed_where_the_folder_is_elsewhere(project, workspace):
    place = begin(workspace, project)
    write(place.folder, new_txt="new\n")
    before = git(project, "rev-parse", "task/tm-abc")
    for switch, told in (
        (("checkout", "-qb", "other"), "is on other, not on task/tm-abc"),
        (("checkout", "-q", "--detach"), "is on no branch, not on task/tm-abc"),
        (("symbolic-ref", "HEAD", "refs/heads/gone"), "is on gone, not on task/tm-abc"),
    ):
        git(place.folder, *switch)
        with pytest.raises(GateError, match=told) as error:
            workspace.commit(place, "Work", "1")
        assert "`git switch task/tm-abc`" in str(error.value)
    assert git(project, "rev-parse", "task/tm-abc") == before
    git(place.folder, "symbolic-ref", "HEAD", "refs/heads/task/tm-abc")
    assert workspace.commit(place, "Work", "1") != before
    git(place.folder, "update-ref", "-d", "refs/heads/task/tm-abc")
    with pytest.raises(GateError, match="branch task/tm-abc no longer exists"):
        workspace.commit(place, "Work", "2")


@pytest.mark.proves("TASK-7")
def test_nothing_is_committed_in_the_middle_of_a_merge(project, workspace):
    branch(project, "other", a_txt="theirs\n")
    place = begin(workspace, project)
    write(place.folder, a_txt="ours\n")
    workspace.commit(place, "Ours", "1")
    with pytest.raises(Exception, match="merge"):
        git(place.folder, "merge", "other")
    with pytest.raises(GateError, match="A merge is unfinished") as told:
        workspace.commit(place, "Work", "2")
    assert "`git merge --continue` or `git merge --abort`" in str(told.value)


@pytest.mark.proves("TASK-6", "TASK-11")
def test_concurrent_commit_of_another_stays(project, workspace, monkeypatch):
    place = begin(workspace, project)
    write(place.folder, new_txt="new\n")
    real = commits.write

    def disturb(*words, **named):
        made = real(*words, **named)
        monkeypatch.setattr(commits, "write", real)
        git(place.folder, "commit", "-q", "--allow-empty", "-m", "in between")
        return made

    monkeypatch.setattr(commits, "write", disturb)
    made = workspace.commit(place, "Work", "1")
    assert git(project, "log", "-2", "--format=%s", made) == "Work\nin between"
    lock = project / ".git/refs/heads/task/tm-abc.lock"
    lock.touch()
    write(place.folder, new_txt="newer\n")
    with pytest.raises(GateError, match=r"tm-abc\.lock': File exists"):
        workspace.commit(place, "Work", "2")
    lock.unlink()
    monkeypatch.setattr(commits, "advance", lambda *_: False)
    with pytest.raises(GateError, match="during each attempt"):
        workspace.commit(place, "Work", "2")


@pytest.mark.proves("TASK-8")
def test_commits_and_merges_run_no_program_of_the_repository(project, workspace, trap):
    program, trace = trap
    hooks = project / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        *("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "pre-merge-commit"),
        *("post-merge", "reference-transaction", "post-index-change", "post-checkout"),
    ):
        shutil.copy(program, hooks / name)
    write(project, _gitattributes="*.txt filter=evil merge=evil\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "attributes")
    git(project, "checkout", "-q", "--detach")
    for name, value in {
        "core.fsmonitor": program,
        "filter.evil.clean": program,
        "filter.evil.smudge": program,
        "filter.evil.required": "true",
        "merge.evil.driver": program,
        "merge.default": "evil",
        "merge.renormalize": "true",
        "commit.gpgSign": "true",
        "gpg.program": program,
        "user.signingKey": "x",
    }.items():
        git(project, "config", name, str(value))
    blank = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
    plain = (*blank, "-c", "filter.evil.clean=cat", "-c", "filter.evil.smudge=cat")
    plain = (*plain, "-c", "commit.gpgSign=false", "-c", "filter.evil.required=false")
    for name, text in (("one", "1\ntwo\n"), ("two", "one\n2\n")):
        git(project, *plain, "checkout", "-qb", name, "main")
        write(project, a_txt=text)
        git(project, *plain, "commit", "-qam", name)
    git(project, *plain, "checkout", "-q", "--detach", "main")
    trace.unlink(missing_ok=True)
    with pytest.raises(MergeConflictError):
        begin(workspace, project, base="main", onto=["one", "two"])
    place = begin(workspace, project, base="main", onto=["one", "two"], markers=True)
    write(place.folder, a_txt="solved\n")
    with pytest.raises(GateError, match=r"a\.txt is stored through the git filter evil"):
        workspace.commit(place, "Work", "1")
    for name in ("clean", "smudge", "required"):
        git(project, "config", "--unset", f"filter.evil.{name}")
    made = workspace.commit(place, "Work", "1")
    workspace.merge(place, "main", "Merge", "2")
    workspace.snapshot(place, 1, "1")
    shutil.rmtree(place.root)
    workspace.restore(place, 1, "1")
    assert not trace.exists()
    assert git(project, "show", f"{made}:a.txt") == "solved"
    assert "gpgsig" not in git(project, "cat-file", "commit", made)


@pytest.mark.proves("TASK-8")
def test_user_filter_is_applied_to_commits(project, workspace, tmp_path, monkeypatch, trap):
    program, trace = trap
    settings = tmp_path / "settings"
    settings.write_text('[filter "big"]\n clean = tr a-z A-Z\n smudge = tr A-Z a-z\n')
    settings.write_text(settings.read_text() + '[merge "mine"]\n driver = cp %B %A\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    git(project, "config", "filter.big.clean", str(program))
    git(project, "config", "merge.mine.driver", str(program))
    with open(project / ".git/config", "a") as file:
        file.write('[filter "valueless"]\n required\n')
    write(project, _gitattributes="*.big filter=big\nb.txt merge=mine\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "attributes")
    branch(project, "one", b_txt="1\n")
    branch(project, "two", b_txt="2\n")
    trace.unlink(missing_ok=True)
    place = begin(workspace, project, onto=["one", "two"])
    assert files(place.folder)["b.txt"] == b"2\n"
    write(place.folder, picture_big="pixels\n")
    workspace.snapshot(place, 1, "1")
    made = workspace.commit(place, "Work", "1")
    assert git(project, "show", f"{made}:picture.big") == "PIXELS"
    git(project, "config", "--unset", "filter.big.clean")
    assert git(place.folder, "status", "--porcelain") == ""
    assert not trace.exists()


@pytest.mark.proves("TASK-8")
def test_attributes_of_an_agent_do_not_settle_conflicts(project, workspace, done):
    write(project, own_txt="theirs\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "theirs")
    git(project, "branch", "-f", "main")
    write(done.folder, _gitattributes="* merge=union\n")
    workspace.commit(done, "Sly", "2")
    with pytest.raises(MergeConflictError):
        workspace.merge(done, "main", "Own", "key")


@pytest.mark.proves("TASK-6")
def test_branch_that_points_to_another_leaves_that_one_unchanged(project, workspace):
    place = begin(workspace, project)
    main = git(project, "rev-parse", "main")
    git(project, "symbolic-ref", "refs/heads/task/tm-abc", "refs/heads/main")
    write(place.folder, a_txt="changed\n")
    with pytest.raises(GateError, match="is on main, not on task/tm-abc"):
        workspace.commit(place, "Work", "1")
    repository = repositories.find(str(project))
    git(project, "symbolic-ref", "refs/heads/x", "refs/heads/main")
    other = branch(project, "other", b_txt="b\n")
    assert commits.advance(repository, "refs/heads/x", other, main)
    assert git(project, "rev-parse", "main") == main
