"""`gate init`: the files for asking by files, added to an existing project and removed again."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from gatebell.adapters.git import provisions
from gatebell.adapters.git.repositories import find
from gatebell.app.environment import find_set_up_project
from gatebell.errors import RefusedError, UsageError
from gatebell.file_protocol import setup
from gatebell.file_protocol.folders import Helpers
from gatebell.install import plans, project_start
from gatebell.install.instructions import FROM_A_SHELL, files_of
from gatebell.install.places import Place
from gatebell.install.project_start import First, first_files as wanted_in
from gatebell.install.text_blocks import line, markdown

NOT_SET_UP = "this project is not set up for questions. In its main folder, run: gate init"
QUESTION = "q_agent_7_1700000000_0123456789abcdef.json"


@pytest.fixture
def world(kept_world):
    return kept_world


@pytest.fixture
def project(world):
    return world.folder / "project"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A project with separate records; nothing is started for it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    return Place(str(tmp_path / "project"), {"HOME": str(tmp_path / "home")})


def init(world, *words, code=0):
    ran = world.ada.gate("init", *words, "--yes", "--as", "ada")
    assert ran.code == code, ran
    return ran


def tree(folder):
    """Return every file and folder below, with its mode."""
    return {
        str(path.relative_to(folder)): (
            stat.S_IMODE(path.lstat().st_mode),
            path.read_bytes() if path.is_file() else None,
        )
        for path in sorted(folder.rglob("*"))
        if ".git" not in path.relative_to(folder).parts
    }


def git(folder, *words):
    names = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
    subprocess.run(["git", "-C", str(folder), *names, *words], check=True, capture_output=True)


def lines_in(place, path, block):
    plans.carry_out(project_start.put(place, First({}, {}, {str(path): block})))


def take_back(place):
    plan = project_start.take_back(place)
    plans.carry_out(plan)
    return plan


@pytest.mark.proves("FILE-110", "FILE-118", "S4-6", "S4-P2")
def test_setup_is_shown_first_and_undone_to_the_byte(world, project):
    git(project, "init", "-q")
    (project / "CLAUDE.md").write_bytes(b"\xef\xbb\xbf# Mine\r\n\r\nno end")
    (project / ".gitignore").write_bytes(b"*.pyc")
    before = tree(project)
    shown = init(world, "--dry-run").out
    assert f"mode 0755: {project}/scripts/ask-human.sh\n" in shown
    assert "\n+.helpers/\n" in shown and "\n+<!-- gatebell init -->\n" in shown
    assert f"would be made: {project}/.helpers/questions (mode 0700)\n" in shown
    assert tree(project) == before
    init(world)
    made = tree(project)
    inner = {name: made[name] for name in made if name.startswith(".helpers")}
    assert inner.pop(".helpers/project") == (0o600, f"{project}\n".encode())
    assert inner.pop(".helpers/.gitignore") == (0o600, b"*\n")
    assert {mode for mode, _ in inner.values()} == {0o700}
    folders = [f".helpers/{name}" for name in ("agents", "answers", "questions", "queue")]
    assert sorted(inner) == [".helpers", *folders]
    assert made["scripts/ask-human.sh"][0] == 0o755
    assert b".helpers/project\n" in made[".worktreeinclude"][1]
    git(project, "check-ignore", "-q", ".helpers/questions")
    again = init(world)
    assert again.out == "Everything exists already; nothing was changed.\n"
    assert tree(project) == made
    shown = init(world, "--undo", "--dry-run").out
    assert f"would be removed: {project}/.helpers/questions\n" in shown
    assert tree(project) == made
    told = json.loads(init(world, "--undo", "--json").out)
    assert {one["change"] for one in told["folders"]} == {"removed"} and told["notes"] == []
    assert tree(project) == before


@pytest.mark.proves("FILE-111", "S4-72")
def test_own_folders_are_repaired_and_reported(world, project):
    init(world)
    (project / ".helpers").chmod(0o755)
    (project / ".helpers" / "answers").rmdir()
    ran = init(world)
    assert ran.out.splitlines() == [
        f"repaired: {project}/.helpers (mode 0700; it had mode 0755)",
        f"made: {project}/.helpers/answers (mode 0700)",
    ]
    (project / ".helpers" / "queue").chmod(0o050)
    (project / ".helpers").chmod(0)
    assert f"repaired: {project}/.helpers (mode 0700; it had mode 0000)\n" in init(world).out
    modes = [mode for name, (mode, text) in tree(project / ".helpers").items() if text is None]
    assert modes == [0o700] * 4


@pytest.mark.proves("FILE-111")
@pytest.mark.parametrize("inner", ["", "answers"])
def test_foreign_folders_are_refused_and_nothing_is_written(world, project, inner, monkeypatch):
    elsewhere = world.folder / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    path = project / ".helpers" / inner
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(elsewhere)
    assert f"{path} is not a folder of this project" in init(world, code=2).err
    path.unlink()
    path.write_text("")
    assert f"{path} is not a folder of this project" in init(world, code=2).err
    assert os.listdir(project) == [".helpers"] and os.listdir(elsewhere) == []
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o755
    path.unlink()
    path.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(UsageError, match="belongs to another user"):
        setup.plan_folders(str(project))


@pytest.mark.proves("FILE-111")
def test_unwritable_project_is_reported(place, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(UsageError, match="cannot be made ready: Permission denied"):
        setup.set_up(place.project)
    monkeypatch.setattr(os, "lstat", refuse)
    assert {one.word for one in setup.plan_folders(place.project)[:5]} == {"repaired"}


@pytest.mark.proves("FILE-112")
def test_foreign_script_is_kept_and_ours_is_updated(place):
    path = os.path.join(place.project, "scripts", "ask-human.sh")

    def put(text):
        plan = project_start.put(place, First({}, {path: text}, {}))
        plans.carry_out(plan)
        with open(path) as file:
            return file.read(), [change.word for change in plan.changes], plan.notes

    assert put("old") == ("old", ["made"], ())
    assert put("new") == ("new", ["changed"], ())
    os.chmod(path, 0o644)
    assert put("new") == ("new", ["changed"], ())
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o755
    os.chmod(path, 0o700)
    assert put("newer") == ("newer", ["changed"], ())
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    with open(path, "w") as file:
        file.write("mine")
    text, words, notes = put("newest")
    assert (text, words) == ("mine", ["same"]) and "is not gate's own: it stays" in notes[0]
    assert "was changed since" in take_back(place).notes[0] and os.path.exists(path)


@pytest.mark.proves("FILE-112", "FILE-118")
def test_files_of_the_project_are_not_removed(place):
    for name, content in {
        "scripts/ask-human.sh": "ours",
        ".gitignore": "a\n.helpers/\n",
        "AGENTS.md": FROM_A_SHELL.text,
    }.items():
        path = os.path.join(place.project, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(content)
        os.chmod(path, 0o755)
    paths = [os.path.join(place.project, name) for name in ("AGENTS.md", ".gitignore")]
    script = os.path.join(place.project, "scripts/ask-human.sh")
    blocks = dict(zip(paths, (FROM_A_SHELL, line(".helpers/")), strict=True))
    plan = project_start.put(place, First({}, {script: "ours"}, blocks))
    assert plan.changes_nothing and plan.record.files == ()
    plans.carry_out(plan)
    assert take_back(place).changes == () and all(map(os.path.exists, (script, *paths)))


@pytest.mark.proves("FILE-113", "S4-P3")
@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"# Mine",
        b"# Mine\n",
        b"# Mine\r\nno end",
        b"\xef\xbb\xbf# Mine\r\n",
        b"a\x0cb\xe2\x80\xa8c\rd\n\n\n",
    ],
)
def test_only_our_lines_are_added_and_removed(place, before):
    path = Path(place.project, "AGENTS.md")
    path.write_bytes(before)
    lines_in(place, path, FROM_A_SHELL)
    after = path.read_bytes()
    assert after.startswith(before) and b"ask-human.sh" in after
    assert after.endswith(b"\r\n") == (b"\r\n" in before)
    lines_in(place, path, FROM_A_SHELL)
    assert path.read_bytes() == after
    take_back(place)
    assert path.read_bytes() == before
    # Even when a person has written around them since.
    lines_in(place, path, FROM_A_SHELL)
    path.write_bytes(b"Above.\n" + after)
    take_back(place)
    assert path.read_bytes() == b"Above.\n" + before
    lines_in(place, path, FROM_A_SHELL)
    other = markdown("Other lines of ours.").text.encode()
    path.write_bytes(path.read_bytes() + other)
    take_back(place)
    ended = before if before.endswith(b"\n") or not before else before + b"\n"
    assert path.read_bytes() == b"Above.\n" + ended + other


@pytest.mark.proves("FILE-115")
def test_instructions_of_another_version_are_replaced_in_place(place):
    path = Path(place.project, "AGENTS.md")
    path.write_text("Above.\n")
    lines_in(place, path, markdown("Old.", "Both.", name="gatebell init"))
    path.write_text(path.read_text().replace("Both.", "Both.\nMine.") + "Below.\n")
    new = markdown("Both.", "New.", name="gatebell init")
    lines_in(place, path, new)
    assert path.read_text() == f"Above.\n\n{new.text}Mine.\nBelow.\n"
    take_back(place)
    assert path.read_text() == "Above.\nMine.\nBelow.\n"


@pytest.mark.proves("FILE-114")
def test_instructions_are_where_each_agent_reads_them_once(tmp_path):
    claude, others = tmp_path / "CLAUDE.md", tmp_path / "AGENTS.md"
    project = str(tmp_path)
    assert files_of(project) == [str(others)]
    claude.write_text("Mine.")
    assert files_of(project) == [str(claude)]
    others.write_text("Mine.")
    assert files_of(project) == [str(claude), str(others)]
    claude.write_text("First:\n@AGENTS.md\n")
    assert files_of(project) == [str(others)]
    claude.unlink()
    claude.symlink_to("AGENTS.md")
    assert files_of(project) == [str(others)]
    claude.unlink()
    assert files_of(project) == [str(others)]


@pytest.mark.proves("FILE-116")
@pytest.mark.parametrize(
    ("ignored", "where"),
    [
        (".helpers", ".gitignore"),
        ("/.helpers/*", ".gitignore"),
        (".*", ".gitignore"),
        (".helpers/", ".git/info/exclude"),
    ],
)
def test_path_ignored_by_git_gets_no_line(place, ignored, where):
    git(place.project, "init", "-q")
    path = os.path.join(place.project, ".gitignore")
    assert path in wanted_in(place.project).blocks
    os.makedirs(os.path.join(place.project, os.path.dirname(where)), exist_ok=True)
    with open(os.path.join(place.project, where), "w") as file:
        file.write(f"{ignored}\n")
    assert path not in wanted_in(place.project).blocks


@pytest.mark.proves("FILE-116")
def test_part_of_a_repository_can_be_a_project(world, project):
    git(project, "init", "-q")
    part = project / "part"
    (part / ".gate").mkdir(parents=True)
    world.ada.folder = part
    init(world)
    assert (part / ".gitignore").read_text() == ".helpers/\n"
    assert not (project / ".gitignore").exists() and not (project / ".helpers").exists()
    git(project, "check-ignore", "-q", "part/.helpers/questions")
    (part / ".gitignore").unlink()
    (project / ".gitignore").write_text("part/.helpers/\n")
    assert init(world).out == "Everything exists already; nothing was changed.\n"


@pytest.mark.proves("FILE-116", "FILE-110")
def test_project_without_git_is_set_up_too(world, project):
    ignored = project / ".gitignore"
    ignored.write_text("other/.helpers/\n")
    init(world)
    assert ignored.read_text() == "other/.helpers/\n.helpers/\n"
    init(world)
    assert ignored.read_text() == "other/.helpers/\n.helpers/\n"
    init(world, "--undo")
    assert os.listdir(project) == [".gitignore"] and ignored.read_text() == "other/.helpers/\n"


@pytest.mark.proves("FILE-117", "FILE-151")
def test_unsuitable_files_stay_unchanged_and_are_reported(world, project):
    outside = world.folder / "dotfiles.md"
    outside.write_text("Mine.")
    (project / "CLAUDE.md").symlink_to(outside)
    (project / "AGENTS.md").write_bytes("Mine.".encode("utf-16"))
    (project / ".gitignore").mkdir()
    ran = init(world)
    assert f"{project}/CLAUDE.md leads out of {project}: it stays as it is\n" in ran.out
    assert f"{project}/AGENTS.md is not UTF-8 (byte 0), so it is left alone\n" in ran.out
    assert f"{project}/.gitignore cannot be read: Is a directory\n" in ran.out
    assert outside.read_text() == "Mine." and (project / "scripts" / "ask-human.sh").exists()
    (project / "CLAUDE.md").unlink()
    (project / "AGENTS.md").unlink()
    os.mkfifo(project / "AGENTS.md")
    assert f"{project}/AGENTS.md is not a regular file, so it is left alone\n" in init(world).out
    (project / "AGENTS.md").unlink()
    (project / "AGENTS.md").write_text("<!-- gatebell init -->\nOf another version.\n")
    assert "but no '<!-- /gatebell init -->' after it: repair that" in init(world).out
    with (project / "AGENTS.md").open("a") as file:
        file.write("<!-- /gatebell init -->\n")
    before = (project / "AGENTS.md").read_text()
    assert "has other lines after <!-- gatebell init -->: remove them" in init(world).out
    assert (project / "AGENTS.md").read_text() == before


@pytest.mark.proves("FILE-119")
def test_nothing_is_removed_while_a_question_or_listener_waits(world, project):
    init(world)
    made = tree(project)
    question = project / ".helpers" / "questions" / QUESTION
    question.write_text("{}")
    refused = init(world, "--undo", code=7)
    assert f"1 questions wait in {project}/.helpers/questions: answer them" in refused.err
    question.unlink()
    helpers = Helpers(str(project))
    assert helpers.hold()
    helpers.write_pid()
    refused = init(world, "--undo", code=7)
    assert f"process {os.getpid()} listens to the questions in {project}" in refused.err
    helpers.remove_pid()
    helpers.close()
    (project / ".helpers" / ".listener.lock").unlink()
    assert tree(project) == made
    init(world, "--undo")
    assert os.listdir(project) == []


@pytest.mark.proves("FILE-118")
def test_own_files_are_removed_and_foreign_ones_stay(world, project):
    (project / ".helpers").mkdir(mode=0o700)
    init(world)
    inside = project / ".helpers"
    for name in (
        ".listener.lock",
        "answers/a_agent_7_1700000000_0123456789abcdef.json",
        "answers/.tmp.1",
        "questions/.tmp.2",
        "agents/agent_7.json",
        "agents/active_sessions.json",
        "queue/question_queue.json",
    ):
        (inside / name).write_text("{}")
    (inside / "agents" / "mine.txt").write_text("Mine.")
    ran = init(world, "--undo")
    assert f"kept: {inside}/agents (left in it: mine.txt)\n" in ran.out
    assert f"removed: {inside}/queue\n" in ran.out
    # It was there before, so it stays.
    assert {str(path.relative_to(inside)) for path in inside.rglob("*")} == {
        ".listener.lock",
        "agents",
        "agents/mine.txt",
    }


@pytest.mark.proves("FILE-118")
def test_missing_folders_are_skipped_and_returning_ones_checked(place):
    assert setup.removable(place.project, ()) == []
    setup.set_up(place.project)
    paths = [one.path for one in setup.plan_folders(place.project)]
    going = setup.removable(place.project, paths)
    assert setup.take_away(place.project, going) == going
    assert os.listdir(place.project) == []
    os.makedirs(paths[1])
    with open(os.path.join(paths[1], QUESTION), "w") as file:
        file.write("{}")
    with pytest.raises(RefusedError, match="1 questions wait"):
        setup.removable(place.project, paths)


@pytest.mark.proves("FILE-120")
def test_project_of_an_older_version_gets_the_new_parts(world, project):
    init(world)
    folder = world.folder / "home" / ".local" / "share" / "gatebell" / "installed"
    (record,) = folder.glob("init-*")
    old = json.loads(record.read_text())
    old["files"] = [one for one in old["files"] if ".gate/" in one["path"]]
    del old["folders"]
    record.write_text(json.dumps(old))
    made = tree(project)
    for name in ("scripts/ask-human.sh", "AGENTS.md", ".gitignore", ".worktreeinclude"):
        (project / name).unlink()
    shutil.rmtree(project / ".helpers")
    (project / "scripts").rmdir()
    init(world)
    assert tree(project) == made
    init(world, "--undo")
    assert os.listdir(project) == []


@pytest.mark.proves("FILE-121", "FILE-187")
def test_worktree_in_the_project_uses_the_projects_folders(world, project):
    git(project, "init", "-q")
    init(world)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "x")
    worktree = project / ".claude" / "worktrees" / "one"
    git(project, "worktree", "add", "-q", str(worktree))
    assert asked_from(worktree, world, project)
    assert not (worktree / ".helpers").exists()
    assert asked_by_gate(worktree, world) == (str(worktree), str(project))


@pytest.mark.proves("FILE-185", "FILE-187", "S4-P2")
def test_worktree_elsewhere_gets_the_path_of_the_projects_folders(world, project):
    git(project, "init", "-q")
    init(world)
    git(project, "add", "scripts")  # neither .gitignore nor .worktreeinclude is committed yet
    git(project, "commit", "-qm", "x")
    worktree = world.folder / "elsewhere"
    git(project, "worktree", "add", "-q", str(worktree))
    assert provisions.copy_included(find(str(project)), str(worktree)) == ""
    assert sorted(os.listdir(worktree / ".helpers")) == [".gitignore", "project"]
    git(worktree, "add", "-A")
    git(worktree, "diff", "--cached", "--exit-code")
    assert asked_from(worktree, world, project)
    assert sorted(os.listdir(worktree / ".helpers")) == [".gitignore", "project"]
    assert find_set_up_project(str(worktree / "scripts")) == str(project)
    assert asked_by_gate(worktree, world) == (str(worktree), str(project))
    world.ada.folder = worktree
    before = tree(worktree)
    assert f"asks through the folders of {project}: gate init" in init(world, code=2).err
    assert tree(worktree) == before
    (worktree / ".helpers" / "project").write_text("/no/such\n")
    assert find_set_up_project(str(worktree)) == ""
    ran = run_script(worktree, world).communicate()
    assert ran == ("", f"ask-human: {NOT_SET_UP}\n")


@pytest.mark.proves("FLT-11", "FILE-187")
def test_plain_worktree_beside_the_project_asks_through_it(world, project):
    git(project, "init", "-q")
    init(world)
    git(project, "add", "scripts")
    git(project, "commit", "-qm", "x")
    worktree = world.folder / "beside"
    git(project, "worktree", "add", "-q", str(worktree))
    assert not (worktree / ".helpers").exists()
    assert find_set_up_project(str(worktree / "scripts")) == str(project)
    assert asked_from(worktree, world, project)
    assert asked_by_gate(worktree, world) == (str(worktree), str(project))
    assert not (worktree / ".helpers").exists()
    world.ada.folder = worktree
    assert f"asks through the folders of {project}: gate init" in init(world, code=2).err


@pytest.mark.proves("FLT-11")
@pytest.mark.parametrize("content", ["", "gitdir: /no/such\n", "gitdir: ../module\n", "\xff\n"])
def test_git_file_that_leads_to_no_project_is_ignored(world, project, content):
    init(world)
    (world.folder / "module").mkdir()
    odd = world.folder / "odd"
    odd.mkdir()
    (odd / ".git").write_text(content, encoding="latin-1")
    assert find_set_up_project(str(odd)) == ""
    shutil.copytree(project / "scripts", odd / "scripts")
    assert run_script(odd, world).communicate() == ("", f"ask-human: {NOT_SET_UP}\n")


@pytest.mark.proves("FILE-185")
def test_moved_project_shows_its_new_path(world, project):
    init(world)
    way = project / ".helpers" / "project"
    way.write_text("/before\n")
    assert init(world).out == f"repaired: {way} (it led to /before)\n"
    way.unlink()
    way.symlink_to("/etc/hostname")
    assert init(world, "--dry-run").out == f"would be repaired: {way} (it led to nowhere)\n"
    assert init(world).out == f"repaired: {way} (it led to nowhere)\n"
    assert not way.is_symlink() and way.read_text() == f"{project}\n"


def asked_by_gate(folder, world):
    """A folder in which a question is asked, and the project of the question."""
    world.plain.folder = folder
    asked = world.get(world.plain.gate("ask", "Which?", "--no-wait").out.strip())
    return asked.origin.cwd, asked.origin.project


def asked_from(folder, world, project):
    """Return the question that the script of a folder writes into the project."""
    with run_script(folder, world) as asking:
        said = ""
        while "Question sent" not in said:
            line_said = asking.stderr.readline()
            assert line_said, said
            said += line_said
        (question,) = os.listdir(project / ".helpers" / "questions")
        asking.terminate()
    return question.startswith("q_agent_")


def run_script(folder, world):
    environ = {"PATH": os.defpath, "HOME": str(world.folder / "home"), "GATE_ASK_FILES": "1"}
    return subprocess.Popen(
        ["scripts/ask-human.sh", "--timeout", "30", "Which one?"],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
