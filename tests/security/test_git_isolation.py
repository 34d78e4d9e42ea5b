"""Gate's own git calls run no program that a repository, its files or its variables name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.git_project import begin, branch, files, git, project, trap, workspace, write
from tests.support.programs import find_program

from gatebell.adapters.git import (
    changes as git_changes,
    execution_ban,
    repositories,
    shadow,
)
from gatebell.errors import CheckedOutError, GateError, MergeConflictError, UsageError

__all__ = ["project", "trap", "workspace"]

NAMES = {
    "plain": "evil",
    "equals": "e=vil",
    "line separator": "e\u2028vil",
    "next line": "e\x85vil",
    "form feed": "e\x0cvil",
    "file separator": "e\x1cvil",
    "not UTF-8": "e\udcffvil",
    "quotes": 'e\\"vil',
}
HOOKS = (
    *("applypatch-msg", "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"),
    *("pre-merge-commit", "post-merge", "post-checkout", "post-index-change", "post-rewrite"),
    *("reference-transaction", "pre-auto-gc", "fsmonitor-watchman", "sendemail-validate"),
)
SETTINGS = {
    "monitor": {"core.fsmonitor": "@"},
    "hooks elsewhere": {"core.hooksPath": "HOOKS"},
    "diff": {"diff.external": "@", "diff.evil.command": "@", "diff.evil.textconv": "@"},
    "merge": {"merge.evil.driver": "@", "merge.default": "evil", "merge.renormalize": "true"},
    "signature": {
        "commit.gpgSign": "true", "gpg.program": "@", "log.showSignature": "true",
        "user.signingKey": "x", "gpg.ssh.program": "@", "gpg.format": "ssh",
    },
    "network": {
        "core.sshCommand": "@", "credential.helper": "!@", "core.gitProxy": "@",
        "extensions.partialClone": "origin", "core.repositoryformatversion": "1",
        "remote.origin.url": "ssh://127.0.0.1/x", "remote.origin.promisor": "true",
        "remote.origin.uploadpack": "@", "protocol.ext.allow": "always",
        "url.ext::@.insteadOf": "ssh:",
    },
    "terminal": {
        "core.pager": "@", "pager.diff": "@", "pager.log": "@", "pager.status": "@",
        "core.editor": "@", "core.askPass": "@", "interactive.diffFilter": "@",
    },
    "others": {
        "core.alternateRefsCommand": "@", "trailer.evil.command": "@", "alias.status": "!@",
        "alias.rev-parse": "!@", "submodule.recurse": "true", "submodule.sub.update": "!@",
        "status.submoduleSummary": "true", "uploadpack.packObjectsHook": "@", "gc.auto": "1",
    },
}  # fmt: skip
VARIABLES = (
    *("GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS"),
    *("GIT_PAGER", "PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "EDITOR", "VISUAL"),
    *("GIT_PROXY_COMMAND", "GIT_DIFF_OPTS", "BASH_ENV", "ENV"),
)


FILTERS = [
    *((name, "config") for name in NAMES),
    *(("plain", where) for where in ("include", "includeIf", "worktree", "long config")),
]
BANS = ("with the ban", "without the ban")
WITH_THE_BAN = ("hooks elsewhere", "network", ("plain", "config"), ("plain", "worktree"))
"""The cases of the usual run with both layers."""
ONLY_WHOLE = [(name, "config") for name in ("line separator", "form feed", "file separator")]
"""Like the next line, they end a line only for Python."""


def pytest_generate_tests(metafunc):
    """The shadow alone meets every kind of attack; the long run tries all, with both layers."""
    if "ban" not in metafunc.fixturenames:
        return
    names = [name for name in ("kind", "attack") if name in metafunc.fixturenames]
    cases = {"kind": list(SETTINGS), "attack": FILTERS}[names[0]] if names else [None]
    whole = metafunc.config.option.whole
    pairs = [
        (ban, *([case] if names else []))
        for ban in BANS
        for case in cases
        if whole or not names or (ban == BANS[1] and case not in ONLY_WHOLE) or case in WITH_THE_BAN
    ]
    ids = ["-".join((ban, *(_words(case) for case in rest))) for ban, *rest in pairs]
    metafunc.parametrize(["ban", *names], pairs, indirect=["ban"], ids=ids)


def _words(case):
    return case if isinstance(case, str) else "-".join(case)


@pytest.fixture
def ban(request, monkeypatch):
    """The shadow must hold alone: not every kernel has the second layer."""
    if request.param == "without the ban":
        monkeypatch.setattr(execution_ban, "call", lambda work, _: work())
    return request.param


def set_up(project, name="evil"):
    """Make attributes that ask for programs, and two branches that only a driver can merge."""
    # Git reads attributes line by line: a name with a form feed cannot be written there.
    written = name if name.isprintable() else "evil"
    rule = f"*.txt filter={written} diff={written} merge={written}\n"
    (project / ".gitattributes").write_bytes(os.fsencode(rule))
    (project / "inner").mkdir()
    (project / "inner/.gitattributes").write_bytes(os.fsencode(f"* filter={written}\n"))
    write(project / "inner", x_txt="x\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "attributes")
    branch(project, "one", b_txt="1\n")
    branch(project, "two", a_txt="2\n")


def plant(project, settings, program):
    for name, value in settings.items():
        planted = value.replace("HOOKS", str(project / ".git/hooks"))
        git(project, "config", name.replace("@", str(program)), planted.replace("@", str(program)))


def plant_hooks(project, program):
    (project / ".git/hooks").mkdir(exist_ok=True)
    for name in HOOKS:
        shutil.copy(program, project / ".git/hooks" / name)


def commit(workspace, place, key):
    """A file with a filter of the repository is refused; the others are committed."""
    with suppress(GateError):
        return workspace.commit(place, "Work", key)
    # Not by a checkout: that would be the user's own git, which runs filters.
    write(place.folder, a_txt=git(place.folder, "cat-file", "blob", "HEAD:a.txt") + "\n")
    for name in ("new.txt", "fresh.txt", "done.txt"):
        Path(place.folder, name).unlink(missing_ok=True)
    write(place.folder, done_md="done\n")
    return workspace.commit(place, "Work", key)


def use_all(project, workspace, number=1):
    """Run every git command of gate."""
    write(project, new_txt="uncommitted\n")
    place = workspace.make(str(project), number, with_changes=True)
    workspace.set_up(str(project), place)
    write(place.folder, a_txt="changed\n", fresh_txt="new\n")
    workspace.snapshot(place, number, "1")
    assert "+changed" in workspace.diff(place)
    assert workspace.restore(place, number, "1") == []
    made = commit(workspace, place, "1")
    write(place.folder, a_txt="later\n")
    workspace.snapshot(place, number, "2")
    shutil.rmtree(place.root)
    workspace.restore(place, number, "2")
    assert files(place.folder)["a.txt"] == b"later\n"
    assert "commit " in git_changes.describe_changes(place.folder, "2001-01-01T00:00:00Z")
    assert "later" in git_changes.describe_changes(place.folder, "")
    assert repositories.is_ignored(os.path.join(project, "build", "x"))
    assert "not committed" in workspace.remove(place, number)
    task = begin(workspace, project, run_id=number + 50, onto=["one", "two"])
    write(task.folder, done_txt="done\n")
    commit(workspace, task, "2")
    workspace.merge(task, "other", "Merge", "3")
    workspace.remove(task, number + 50, force=True)
    workspace.remove(place, number, force=True)
    return made


@pytest.fixture
def target(project):
    """Make a project in which every verb has something to do."""
    set_up(project)
    git(project, "branch", "other")
    return project


@pytest.mark.proves("GIT-1")
def test_no_setting_of_a_repository_runs(target, workspace, trap, ban, kind):
    program, trace = trap
    plant_hooks(target, program)
    plant(target, SETTINGS[kind], program)
    trace.unlink(missing_ok=True)
    use_all(target, workspace)
    assert not trace.exists()


@pytest.mark.proves("GIT-1")
def test_no_filter_of_a_repository_runs(project, workspace, trap, ban, attack):
    name, where = attack
    program, trace = trap
    set_up(project, NAMES[name])
    git(project, "branch", "other")
    config = project / ".git/config"
    called = (
        NAMES[name].replace("\\", "\\\\").replace('"', '\\"') if name != "quotes" else NAMES[name]
    )
    section = os.fsencode(
        f'[filter "{called}"]\n\tclean = {program}\n\tsmudge = {program}\n\tprocess = {program}\n'
        f'[filter "evil"]\n\tclean = {program}\n\tsmudge = {program}\n'
    )
    if where == "long config":
        section = b"[x]\n" + b"\ty = 1\n" * 60_000 + section
    if where.startswith("include"):
        (project / ".git/more").write_bytes(section)
        condition = "" if where == "include" else ' "gitdir:**"'
        section = os.fsencode(f"[{where}{condition}]\n\tpath = {project}/.git/more\n")
    if where == "worktree":
        git(project, "config", "extensions.worktreeConfig", "true")
        config = project / ".git/config.worktree"
    with config.open("ab") as file:
        file.write(section)
    trace.unlink(missing_ok=True)
    use_all(project, workspace)
    assert not trace.exists()


@pytest.mark.proves("GIT-1")
def test_no_program_of_our_variables_runs(target, workspace, trap, ban, monkeypatch):
    program, trace = trap
    plant_hooks(target, program)
    trace.unlink(missing_ok=True)
    for name in VARIABLES:
        monkeypatch.setenv(name, str(program))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(program))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor={program}'")
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(target / ".git"))
    workspace.make(str(target), 1)
    use_all(target, workspace, 2)
    assert not trace.exists()


@pytest.mark.proves("GIT-1")
def test_no_program_of_nested_repositories_runs(target, workspace, trap, ban, tmp_path):
    program, trace = trap
    part = tmp_path / "part"
    git(tmp_path, "clone", "-q", target, part)
    git(target, "submodule", "--quiet", "add", part, "sub")
    git(target, "config", "-f", ".gitmodules", "submodule.sub.ignore", "none")
    git(target, "commit", "-qam", "with a part")
    place = workspace.make(str(target), 1)
    git(place.folder, "submodule", "--quiet", "update", "--init")
    git(place.folder, "init", "-q", "nested")
    for inner in (Path(place.folder) / "sub", Path(place.folder) / "nested"):
        git_dir = Path(git(inner, "rev-parse", "--absolute-git-dir"))
        for name in ("core.fsmonitor", "filter.evil.clean", "diff.external"):
            git(inner, "config", name, str(program))
        write(git_dir / "info", attributes="* filter=evil\n")
        write(inner, a_txt="changed\n", more_txt="more\n")
        for name in HOOKS:
            (git_dir / "hooks").mkdir(exist_ok=True)
            shutil.copy(program, git_dir / "hooks" / name)
    trace.unlink(missing_ok=True)
    workspace.snapshot(place, 1, "1")
    workspace.diff(place)
    git_changes.describe_changes(place.folder, "")
    write(place.folder, a_txt="changed\n")
    workspace.commit(place, "Work", "1")
    workspace.remove(place, 1)
    assert not trace.exists()


@pytest.mark.proves("GIT-2")
def test_settings_swapped_during_a_command_run_nothing(target, workspace, trap, monkeypatch, whole):
    """The second layer is off: settings that are read once cannot be swapped."""
    monkeypatch.setattr(execution_ban, "call", lambda work, _: work())
    program, trace = trap
    place = workspace.make(str(target), 1)
    config = target / ".git/config"
    innocent = config.read_bytes()
    evil = innocent + os.fsencode(
        f'[filter "evil"]\n clean = {program}\n smudge = {program}\n[core]\n fsmonitor = {program}\n'
    )
    swaps, is_over = 0, threading.Event()

    def swap():
        nonlocal swaps
        while not is_over.is_set():
            for content in (evil, innocent):
                beside = target / ".git/beside"
                beside.write_bytes(content)
                os.replace(beside, config)
                swaps += 1

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for number in range(30 if whole else 10):
            write(place.folder, a_txt=f"{number}\n")
            workspace.snapshot(place, 1, str(number))
            workspace.diff(place)
            git_changes.describe_changes(place.folder, "")
    finally:
        is_over.set()
        swapper.join()
    assert swaps > 100
    assert not trace.exists()


@pytest.mark.proves("GIT-3")
def test_unreadable_settings_mean_no_git(project, workspace, monkeypatch):
    place = workspace.make(str(project), 1)
    config = project / ".git/config"
    config.write_bytes(config.read_bytes() + b"[core\n")
    commands = []
    real = repositories.run_git

    def noting(folders, environ, words, *rest, **more):
        commands.append(words[0])
        return real(folders, environ, words, *rest, **more)

    monkeypatch.setattr(repositories, "run_git", noting)
    with pytest.raises(GateError, match=r"cannot be read, so git was not run: .*line"):
        workspace.make(str(project), 2)
    assert set(commands) == {"config"}
    assert "so git was not run" in git_changes.describe_changes(place.folder, "")
    # A worktree keeps the settings of its creation.
    assert workspace.snapshot(place, 1, "1")


@pytest.mark.proves("GIT-3")
def test_settings_cut_short_mean_no_git(project, monkeypatch):
    """A setting that is too long is not cut: the rest could change its meaning."""
    with (project / ".git/config").open("a") as file:
        file.write("[user]\n" + f"\tname = {'x' * 500}\n" * 1000)
    assert "so git was not run" in git_changes.describe_changes(str(project), "")


@pytest.mark.proves("GIT-3")
@pytest.mark.parametrize("name", ["refStorage", "unheardOf"])
def test_unknown_formats_are_refused(project, workspace, name):
    plant(project, {"core.repositoryformatversion": "1", f"extensions.{name}": "reftable"}, "")
    with pytest.raises(UsageError, match=rf"(?s)was not run.*{name.lower()}|reftable format"):
        workspace.make(str(project), 1)


@pytest.mark.proves("GIT-3")
def test_newer_git_names_the_formats_we_refuse(project):
    """Git 2.45 reads things of a repository that git 2.39 ignores."""
    folders = repositories.find(str(project)).folders
    for extension, words in (("refstorage", "reftable format"), ("unheardof", "does not know")):
        output = b"local\0core.repositoryformatversion\n1\0local\0extensions.%b\nreftable\0"
        with pytest.raises(UsageError, match=words):
            shadow.require_settings(folders, 0, output % extension.encode(), "")


@pytest.mark.proves("GIT-3")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("HEAD", b"neither\n"),
        ("info/exclude", b"x\n" * 3_000_000),
        ("worktrees/shop/HEAD", b"ref: elsewhere\n"),
    ],
)
def test_damaged_files_of_git_are_named(project, workspace, name, content):
    place = workspace.make(str(project), 1)
    (project / ".git" / name).write_bytes(content)
    verbs = {"HEAD": lambda: workspace.make(str(project), 2)}
    use = verbs.get(name, lambda: workspace.snapshot(place, 1, "1"))
    with pytest.raises(GateError, match=name):
        use()


def record_environ(monkeypatch):
    seen = []
    real = repositories._start_git

    def noting(folder, environ, *rest, **named):
        seen.append(environ)
        return real(folder, environ, *rest, **named)

    monkeypatch.setattr(repositories, "_start_git", noting)
    return seen


@pytest.mark.proves("GIT-4")
def test_git_carries_the_mark_of_no_person(project, workspace, monkeypatch):
    for name in ("GATE_TURN", "GATE_TOKEN", "CLAUDECODE", "SECRET"):
        monkeypatch.setenv(name, "x")
    seen = record_environ(monkeypatch)
    place = workspace.make(str(project), 1)
    workspace.snapshot(place, 1, "1")
    for environ in seen:
        assert environ["GATE_CHECK"] == "git"
        assert environ.keys().isdisjoint({"GATE_TURN", "GATE_TOKEN", "CLAUDECODE", "SECRET"})


@pytest.mark.proves("GIT-4")
def test_shadows_are_private_and_removed(project, workspace, monkeypatch, tmp_path):
    modes = []
    real = shadow._fill

    def looking(path, *rest):
        modes.append(os.stat(path).st_mode & 0o777)
        return real(path, *rest)

    monkeypatch.setattr(shadow, "_fill", looking)
    use = workspace.make(str(project), 1)
    workspace.snapshot(use, 1, "1")
    assert set(modes) == {0o700}
    assert list((tmp_path / "share/gatebell/git").iterdir()) == []
    assert (project / ".git/refs/heads").is_dir()


@pytest.mark.proves("GIT-5")
def test_ban_stops_every_other_program(project, trap):
    """With the plain git of the repository: the ban must hold alone, too."""
    program, trace = trap
    git(project, "config", "core.fsmonitor", str(program))
    words = [shadow.find_git(), "-C", str(project), "status", "--short"]

    def look():
        return subprocess.run(words, check=False, capture_output=True, text=True)

    found = execution_ban.call(look, shadow.find_git())
    if (
        not execution_ban._list_executed_files(shadow.find_git())
        or "Permission denied" not in found.stderr
    ):
        pytest.skip("this kernel has no Landlock: the ban was not tried")
    assert not trace.exists()
    look()
    assert trace.exists()


@pytest.mark.proves("GIT-5")
def test_ban_hands_errors_and_results_back(project):
    git_program = shadow.find_git()
    assert execution_ban.call(lambda: 42, git_program) == 42

    def fail():
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        execution_ban.call(fail, git_program)
    assert execution_ban.call(lambda: 1, str(project / "a.txt")) == 1


@pytest.mark.proves("GIT-6")
def test_much_input_reaches_a_slow_git(project, monkeypatch):
    """The input is larger than a pipe, and git is checked in between."""
    monkeypatch.setattr(repositories, "_FIRST_LOOK_SECONDS", 0.001)
    given = b"x" * 20_000_000
    found = repositories.find(str(project)).run("hash-object", "--stdin", given=given)
    assert (
        found.decode().strip()
        == subprocess.run(
            ["git", "hash-object", "--stdin"], input=given, capture_output=True, check=True
        )
        .stdout.decode()
        .strip()
    )


BYTES = {
    "unix.txt": b"one\ntwo\n",
    "dos.txt": b"one\r\ntwo\r\n",
    "mixed.txt": b"one\r\ntwo\nthree\r",
    "dos.bat": b"echo\r\n",
    "unix.bat": b"echo\n",
    "keyword.c": b"$Id$\n",
    "expanded.c": b"$Id: 1234 $\n",
    "wide.u16": "wide\n".encode("utf-16"),
    "narrow.u16": b"not wide at all",
    "large.bin": b"\x00\xff" * 100,
    "text.bin": b"a\r\nb\n",
    "sub/inner.txt": b"x\r\n",
    "empty": b"",
}
ATTRIBUTES = (
    "*.txt text\n*.bat text eol=crlf\n*.c ident\n*.u16 working-tree-encoding=UTF-16\n"
    "*.bin filter=lfs diff=lfs merge=lfs -text\n"
)


@pytest.mark.proves("GIT-7", "RUN-178")
@pytest.mark.parametrize("autocrlf", ["true", "input", "false", ""])
@pytest.mark.parametrize("attributes", [ATTRIBUTES, "* text=auto\n", ""])
def test_folder_comes_back_byte_for_byte(project, workspace, autocrlf, attributes):
    if autocrlf:
        git(project, "config", "core.autocrlf", autocrlf)
    write(project, tracked_txt="one\r\ntwo\r\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "line endings")
    place = workspace.make(str(project), 1)
    folder = Path(place.folder)
    write(folder, _gitattributes=attributes)
    (folder / "sub").mkdir()
    for name, content in BYTES.items():
        (folder / name).write_bytes(content)
    (folder / "run.sh").write_bytes(b"#!/bin/sh\r\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("dos.txt")
    before = files(folder)
    workspace.snapshot(place, 1, "1")
    assert workspace.restore(place, 1, "1") == []
    shutil.rmtree(place.root)
    workspace.restore(place, 1, "1")
    assert files(folder) == before
    assert os.access(folder / "run.sh", os.X_OK) and os.readlink(folder / "link") == "dos.txt"
    again = workspace.make(str(project), 2, snapshot=workspace.find_snapshot(place, 1, "1"))
    assert files(again.folder) == before


@pytest.mark.proves("GIT-7")
def test_diff_shows_no_line_endings_that_git_stores_alike(project, workspace):
    git(project, "config", "core.autocrlf", "true")
    write(project, a_txt="one\r\ntwo\r\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "text")
    place = workspace.make(str(project), 1)
    assert files(place.folder)["a.txt"] == b"one\r\ntwo\r\n"
    workspace.snapshot(place, 1, "1")
    assert workspace.diff(place) == ""
    write(place.folder, a_txt="one\r\n2\r\n")
    assert workspace.diff(place).count("\n+") == 2
    assert workspace.remove(place, 1).startswith(place.root)


@pytest.mark.proves("GIT-7")
def test_commits_after_a_snapshot_are_checked_out_like_git(project, workspace):
    """The snapshot's own files stay as they were; those of a later commit get their endings."""
    git(project, "config", "core.autocrlf", "true")
    place = begin(workspace, project)
    write(place.folder, own_txt="mine\n")
    workspace.snapshot(place, 1, "1")
    write(place.folder, later_txt="one\r\ntwo\r\n")
    git(place.folder, "add", "later.txt")
    git(place.folder, "commit", "-qm", "later")
    shutil.rmtree(place.root)
    workspace.restore(place, 1, "1")
    found = files(place.folder)
    assert found["own.txt"] == b"mine\n" and found["later.txt"] == b"one\r\ntwo\r\n"


@pytest.mark.proves("GIT-8")
@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_marked_files_do_not_hide_changes(project, workspace, mark):
    place = begin(workspace, project)
    git(place.folder, "update-index", mark, "a.txt")
    write(place.folder, a_txt="hidden\n")
    assert "+hidden" in workspace.diff(place)
    kept = workspace.snapshot(place, 1, "1")
    assert git(project, "show", f"{kept}:a.txt") == "hidden"
    assert "not committed" in workspace.remove(place, 1)
    made = workspace.commit(place, "Work", "1")
    assert git(project, "show", f"{made}:a.txt") == "hidden"


@pytest.mark.proves("GIT-11")
def test_folder_with_line_endings_returns_after_a_later_commit(project, workspace):
    git(project, "config", "core.autocrlf", "true")
    place = workspace.make(str(project), 1)
    folder = Path(place.folder)
    lines = [f"line {number}\r\n" for number in range(9)]
    (folder / "a.txt").write_bytes("".join(lines).encode())
    (folder / "kept.txt").write_bytes(b"kept\r\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "before")
    (folder / "a.txt").write_bytes("".join([*lines, "open work\r\n"]).encode())
    (folder / "b.txt").write_bytes(b"as it is\n")
    workspace.snapshot(place, 1, "1")
    git(folder, "checkout", "a.txt")
    (folder / "a.txt").write_bytes("".join(["later\r\n", *lines]).encode())
    git(folder, "commit", "-qm", "later", "a.txt")
    shutil.rmtree(folder)
    workspace.restore(place, 1, "1")
    assert (folder / "a.txt").read_bytes() == "".join(
        ["later\r\n", *lines, "open work\r\n"]
    ).encode()
    assert (folder / "kept.txt").read_bytes() == b"kept\r\n"
    assert (folder / "b.txt").read_bytes() == b"as it is\n"


@pytest.fixture
def lfs(project, tmp_path, monkeypatch):
    """Make a project whose user has git-lfs, as `git lfs install` sets it up."""
    find_program("git-lfs", "no file was kept by it")
    settings = tmp_path / "settings"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    git(project, "lfs", "install", "--skip-repo")
    write(project, _gitattributes="*.bin filter=lfs diff=lfs merge=lfs -text\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "large files")
    return settings


def is_pointer(project, commit):
    return git(project, "show", f"{commit}:big.bin").startswith("version https://git-lfs")


@pytest.mark.proves("GIT-9")
def test_users_own_large_file_filter_stores_commits(project, workspace, lfs, trap):
    program, trace = trap
    git(project, "config", "filter.lfs.clean", str(program))
    git(project, "config", "filter.lfs.process", str(program))
    git(project, "config", "lfs.extension.evil.clean", str(program))
    place = begin(workspace, project)
    write(place.folder, big_bin="pixels\n" * 100)
    kept = workspace.snapshot(place, 1, "1")
    assert git(project, "show", f"{kept}:big.bin").startswith("pixels"), "no filter in snapshots"
    made = workspace.commit(place, "Work", "1")
    assert is_pointer(project, made)
    stored = [path for path in (project / ".git/lfs/objects").rglob("*") if path.is_file()]
    assert [path.read_text() for path in stored] == ["pixels\n" * 100]
    assert not trace.exists()
    for name in ("filter.lfs.clean", "filter.lfs.process", "lfs.extension.evil.clean"):
        git(project, "config", "--unset", name)
    assert git(place.folder, "status", "--porcelain") == ""


@pytest.mark.proves("GIT-11")
def test_folder_comes_back_after_a_later_large_file(project, workspace, lfs):
    place = begin(workspace, project)
    folder = Path(place.folder)
    write(folder, big_bin="pixels\n" * 100, other_bin="same\n" * 100)
    workspace.commit(place, "Work", "1")
    write(folder, a_txt="open work\n")
    workspace.snapshot(place, 1, "1")
    write(folder, big_bin="other pixels\n" * 100)
    git(folder, "commit", "-qm", "later", "big.bin")
    pointer = git(folder, "show", "HEAD:big.bin") + "\n"
    shutil.rmtree(folder)
    workspace.restore(place, 1, "1")
    assert (folder / "big.bin").read_text() == pointer
    assert (folder / "other.bin").read_text() == "same\n" * 100
    assert (folder / "a.txt").read_text() == "open work\n"


@pytest.mark.proves("GIT-9")
def test_filter_written_after_work_began_is_refused(project, workspace, lfs, trap):
    program, trace = trap
    place = begin(workspace, project)
    lfs.write_text(lfs.read_text() + f'[filter "lfs"]\n clean = {program}\n process = {program}\n')
    write(place.folder, big_bin="pixels\n")
    with pytest.raises(GateError, match=r"big\.bin is stored through the git filter lfs") as told:
        workspace.commit(place, "Work", "1")
    assert not trace.exists()
    path = str(told.value).split("delete ")[1].split(" and")[0]
    write(place.folder, note_md="no filter\n")
    os.unlink(os.path.join(place.folder, "big.bin"))
    assert workspace.commit(place, "Other files", "2")
    os.unlink(path)
    lfs.write_text(lfs.read_text().rpartition('[filter "lfs"]')[0])
    write(place.folder, big_bin="pixels\n")
    assert is_pointer(project, workspace.commit(place, "Work", "3"))


@pytest.mark.proves("GIT-9")
def test_filter_that_was_taken_away_is_refused(project, workspace, lfs):
    place = begin(workspace, project)
    lfs.write_text("")
    write(place.folder, big_bin="pixels\n")
    with pytest.raises(GateError, match="were changed after agents began to work"):
        workspace.commit(place, "Work", "1")


@pytest.mark.proves("GIT-10")
def test_users_own_git_works_with_our_worktrees(project, workspace):
    place = begin(workspace, project)
    write(place.folder, a_txt="changed\n")
    git(place.folder, "commit", "-qam", "by hand")
    workspace.commit(place, "Work", "1")
    assert "gate: begin" in git(place.folder, "reflog", "show", place.branch)
    assert git(project, "fsck", "--strict") == ""
    assert place.branch in git(project, "worktree", "list")
    git(project, "worktree", "remove", "--force", place.root)
    assert len(git(project, "worktree", "list").splitlines()) == 1


@pytest.mark.proves("GIT-10")
@pytest.mark.parametrize("form", ["sha256", "shallow", "packed", "split", "sparse", "detached"])
def test_every_form_of_repository_is_worked_in(project, workspace, tmp_path, form):
    if form == "sha256":
        project = tmp_path / "sha256"
        git(tmp_path, "init", "-q", "--object-format=sha256", "-b", "main", project)
        write(project, a_txt="one\n", b_txt="two\n")
        git(project, "add", ".")
        git(project, "commit", "-qm", "first")
    elif form == "shallow":
        git(project, "commit", "-q", "--allow-empty", "-m", "second")
        git(tmp_path, "clone", "-q", "--depth=1", f"file://{project}", tmp_path / "shallow")
        project = tmp_path / "shallow"
    elif form == "packed":
        git(project, "gc", "-q")
    elif form == "split":
        git(project, "update-index", "--split-index")
    elif form == "sparse":
        (project / "in").mkdir()
        (project / "out").mkdir()
        write(project / "in", x_txt="in\n")
        write(project / "out", y_txt="out\n")
        git(project, "add", ".")
        git(project, "commit", "-qm", "folders")
        git(project, "sparse-checkout", "set", "in")
    else:
        git(project, "checkout", "-q", "--detach")
    place = begin(workspace, project)
    assert set(files(place.folder)) >= {"a.txt", "b.txt"}
    assert os.path.exists(os.path.join(place.folder, "out")) is False
    write(place.folder, a_txt="changed\n", new_txt="new\n")
    workspace.snapshot(place, 1, "1")
    before = files(place.folder)
    shutil.rmtree(place.root)
    workspace.restore(place, 1, "1")
    assert files(place.folder) == before
    made = workspace.commit(place, "Work", "1")
    assert git(project, "diff", "--name-only", f"{made}^", made).split() == ["a.txt", "new.txt"]
    assert git(place.folder, "status", "--porcelain") == ""
    assert git(project, "fsck") == "" or form == "shallow"


@pytest.mark.proves("GIT-10", "LAW-7")
def test_work_outside_of_a_sparse_checkout_comes_back(project, workspace):
    for name in ("in", "out"):
        (project / name).mkdir()
        write(project / name, x_txt=f"{name}\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "folders")
    git(project, "sparse-checkout", "set", "in")
    place = begin(workspace, project)
    (Path(place.folder) / "out").mkdir()
    write(Path(place.folder) / "out", new_txt="work\n")
    workspace.snapshot(place, 1, "1")
    shutil.rmtree(place.root)
    workspace.restore(place, 1, "1")
    assert files(place.folder)["out/new.txt"] == b"work\n"
    assert "out/x.txt" not in files(place.folder)
    made = workspace.commit(place, "Work", "1")
    assert git(project, "diff", "--name-only", f"{made}^", made) == "out/new.txt"


@pytest.mark.proves("GIT-8", "LAW-4")
def test_settings_of_an_agent_hide_no_change(project, workspace):
    """The shown content is committed, whatever the agent sets after work began."""
    (project / "Makefile").write_text("all:\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "make")
    place = begin(workspace, project)
    folder = Path(place.folder)
    workspace.snapshot(place, 1, "1")
    assert workspace.diff(place) == ""
    for name, value in {
        "core.trustctime": "false", "core.checkStat": "minimal", "core.ignoreCase": "true",
        "core.fileMode": "false", "core.symlinks": "false", "core.sparseCheckout": "true",
    }.items():  # fmt: skip
        git(project, "config", name, value)
    write(project / ".git/info", attributes="* -diff\n")
    write(folder, _gitattributes="* -diff\n")
    times = os.stat(folder / "a.txt")
    write(folder, a_txt="ONE\n")
    os.utime(folder / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    (folder / "makefile").write_text("evil:\n")
    (folder / "b.txt").chmod(0o755)
    (folder / "link").symlink_to("a.txt")
    shown = workspace.diff(place)
    for part in ("+ONE", "+evil:", "new mode 100755", "new file mode 120000"):
        assert part in shown
    assert "a.txt" in workspace.restore(place, 1, "1")[0]
    before = workspace.snapshot(place, 1, "2")
    made = workspace.commit(place, "Work", "1")
    assert git(project, "diff", "--stat", before, made) == ""
    shutil.rmtree(place.root)
    workspace.restore(place, 1, "2")
    assert (folder / "link").is_symlink() and os.access(folder / "b.txt", os.X_OK)


@pytest.mark.proves("GIT-3")
def test_half_of_a_diff_is_not_shown(project, workspace):
    place = workspace.make(str(project), 1)
    write(place.folder, a_txt="changed\n", z_sh="rm -rf\n")
    blob = git(project, "rev-parse", "HEAD:a.txt")
    (project / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(GateError, match="git diff-tree failed"):
        workspace.diff(place)


LINKS = {
    "refs/task/tm-abc": lambda place, work: work.snapshot(place, 1, "1"),
    "refs/heads/task": lambda place, work: work.commit(place, "Work", "1"),
    "logs/refs/heads/task/tm-abc": lambda place, work: work.commit(place, "Work", "1"),
    "worktrees/shop/index": lambda place, work: work.commit(place, "Work", "1"),
    "worktrees": lambda place, work: work.make(str(place), 2),
}


@pytest.mark.proves("RUN-187")
@pytest.mark.parametrize("name", LINKS)
def test_planted_link_leads_no_write_elsewhere(project, workspace, tmp_path, name):
    place = begin(workspace, project)
    write(place.folder, a_txt="changed\n")
    path, elsewhere = project / ".git" / name, tmp_path / "elsewhere"
    if path.exists():
        shutil.move(path, elsewhere)
    else:
        elsewhere.mkdir()
        path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*")), elsewhere.is_file() and elsewhere.read_bytes()
    subject = project if name == "worktrees" else place
    with pytest.raises(GateError, match="is a symbolic link, so gate does not write there"):
        LINKS[name](subject, workspace)
    assert (sorted(elsewhere.rglob("*")), elsewhere.is_file() and elsewhere.read_bytes()) == before


@pytest.mark.proves("RUN-187")
def test_planted_link_removes_no_branch_of_others(project, workspace, tmp_path):
    victim = tmp_path / "victim"
    git(tmp_path, "clone", "-q", project, victim)
    place = begin(workspace, project)
    workspace.snapshot(place, 1, "1")
    (project / ".git/refs/task/tm-abc/h").symlink_to(victim / ".git/refs/heads")
    with pytest.raises(GateError, match="is a symbolic link"):
        workspace.remove(place, 1)
    assert git(victim, "rev-parse", "main")


@pytest.mark.proves("TASK-8")
def test_attributes_in_no_commit_settle_no_conflict(project, workspace):
    branch(project, "one", a_txt="1\n")
    branch(project, "two", a_txt="2\n")
    rules = project / ".git/rules"
    rules.write_text("* merge=union\n")
    write(project / ".git/info", attributes="* merge=union\n")
    git(project, "config", "core.attributesFile", str(rules))
    with pytest.raises(MergeConflictError):
        begin(workspace, project, onto=["one", "two"])


@pytest.mark.proves("TASK-6")
def test_branch_checked_out_by_another_name_is_left(project, workspace):
    place = begin(workspace, project, base="main")
    write(place.folder, own_txt="own\n")
    workspace.commit(place, "Own", "1")
    git(project, "symbolic-ref", "refs/heads/master", "refs/heads/main")
    git(project, "symbolic-ref", "HEAD", "refs/heads/master")
    with pytest.raises(CheckedOutError):
        workspace.merge(place, "main", "Merge", "2")


@pytest.mark.proves("GIT-9")
def test_filter_of_a_repository_is_refused(project, workspace, trap):
    """It is not stored without the filter, which may keep a secret out of the repository."""
    program, trace = trap
    git(project, "config", "filter.crypt.clean", str(program))
    place = begin(workspace, project)
    write(place.folder, _gitattributes="*.key filter=crypt\n", x_key="secret\n")
    with pytest.raises(
        GateError, match=r"x\.key is stored through the git filter crypt, which only"
    ):
        workspace.commit(place, "Work", "1")
    assert not trace.exists()


@pytest.mark.proves("GIT-9")
def test_users_filter_loads_no_module_of_the_folder(project, workspace, tmp_path, monkeypatch):
    settings, trace = tmp_path / "settings", tmp_path / "trace"
    settings.write_text(f'[filter "strip"]\n clean = {sys.executable} -m strip_it\n required\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    place = begin(workspace, project)
    (Path(place.folder) / "strip_it.py").write_text(f"open({str(trace)!r}, 'w')\n")
    write(place.folder, _gitattributes="*.nb filter=strip\n", x_nb="{}\n")
    with pytest.raises(GateError):
        workspace.commit(place, "Work", "1")
    assert not trace.exists()


@pytest.mark.proves("RUN-190")
def test_settings_that_never_end_are_given_up(project, workspace, monkeypatch):
    monkeypatch.setattr(repositories, "_SETTINGS_SECONDS", 0.2)
    monkeypatch.setattr(repositories, "_FIRST_LOOK_SECONDS", 0.1)
    os.mkfifo(project / "pipe")
    git(project, "config", "include.path", str(project / "pipe"))
    with pytest.raises(GateError, match="was ended after"):
        workspace.make(str(project), 1)
